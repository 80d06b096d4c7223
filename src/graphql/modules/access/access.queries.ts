import { assertMayAdminister } from '../../../services/access/authorize.ts'
import { readAudit } from '../../../services/access/audit.ts'
import { ownProject, projectScope, visibleDomains, visibleUsers } from '../../../services/access/tenants.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { ID_PREFIX_WORDS, idsBeginningWith, nameWhere } from '../../../services/input/input-fields.ts'
import { BY_NAME, keysetPage, NEWEST_FIRST } from '../../../services/paging.ts'
import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { DateTimeFilter, IdOrName, isNamed, StringFilter } from '../filters.inputs.ts'
import { AuditEntry, DomainNode, ProjectNode, TokenNode, TokenRoleEnum, UserNode } from './access.types.ts'

const NAME = 'Filter by name.'

const DomainFilter = builder.inputType('DomainFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({ name: t.field({ type: StringFilter, description: NAME }) }),
})

const ProjectFilter = builder.inputType('ProjectFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    name: t.field({ type: StringFilter, description: NAME }),
    domain: t.string({ description: 'In the domain of this name.' }),
  }),
})

const UserFilter = builder.inputType('UserFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    name: t.field({ type: StringFilter, description: NAME }),
    project: t.string({ description: 'Members of the project of this name.' }),
  }),
})

const TokenFilter = builder.inputType('TokenFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    name: t.field({ type: StringFilter, description: NAME }),
    role: t.field({ type: [TokenRoleEnum], description: 'With one of these roles.' }),
    project: t.string({ description: 'For the project of this name only.' }),
    user: t.string({ description: 'Of the user of this name.' }),
    idPrefix: t.string({ description: ID_PREFIX_WORDS }),
  }),
})

/** A lookup of one object by its id or its name, which are both unique. */
const by = (t: { arg: FieldArguments }, what: string) => ({
  by: t.arg({ type: IdOrName, required: true, description: `The id or the name of the ${what}.` }),
})
type FieldArguments = Parameters<Parameters<typeof builder.queryField>[1]>[0]['arg']

const ONLY_MATCHING = (what: string) => `Only ${what} that match.`

builder.queryField('domain', (t) =>
  t.prismaField({
    type: DomainNode,
    nullable: true,
    description: 'One domain; null if there is none that you may see.',
    args: by(t, 'domain'),
    resolve: (query, _root, args, { services, viewer }) =>
      services.prisma.domain.findFirst({ ...query, where: { AND: [visibleDomains(viewer), isNamed(args.by)] } }),
  }),
)

builder.queryField('project', (t) =>
  t.prismaField({
    type: ProjectNode,
    nullable: true,
    description: 'One project; null if there is none that you may see.',
    args: by(t, 'project'),
    resolve: (query, _root, args, { services, viewer }) =>
      services.prisma.project.findFirst({ ...query, where: { AND: [ownProject(viewer), isNamed(args.by)] } }),
  }),
)

builder.queryField('user', (t) =>
  t.prismaField({
    type: UserNode,
    nullable: true,
    description: 'One user; null if there is none that you may see.',
    args: by(t, 'user'),
    resolve: (query, _root, args, { services, viewer }) =>
      services.prisma.user.findFirst({ ...query, where: { AND: [visibleUsers(viewer), isNamed(args.by)] } }),
  }),
)

builder.queryField('domains', (t) =>
  t.connection(
    {
      type: DomainNode,
      description: "The domains that you may see, ordered by name: all, or the one of the token's project.",
      args: { filter: t.arg({ type: DomainFilter, description: ONLY_MATCHING('domains') }) },
      complexity: pageComplexity,
      resolve: (_root, { filter, ...args }, context, info) => {
        const { prisma } = context.services
        const visible = { AND: [visibleDomains(context.viewer), nameWhere(filter?.name)] }
        const query = edgeQuery({ context, info, typeName: 'Domain', order: BY_NAME })
        return keysetPage({
          args,
          order: BY_NAME,
          find: ({ where, ...page }) => prisma.domain.findMany({ ...query, ...page, where: { AND: [visible, where] } }),
          count: () => prisma.domain.count({ where: visible }),
        })
      },
    },
    { name: 'DomainConnection', description: 'A page of domains.' },
    { name: 'DomainEdge', description: 'One domain with its cursor.' },
  ),
)

builder.queryField('projects', (t) =>
  t.connection(
    {
      type: ProjectNode,
      description: 'The projects that you may see, ordered by name.',
      args: { filter: t.arg({ type: ProjectFilter, description: ONLY_MATCHING('projects') }) },
      complexity: pageComplexity,
      resolve: (_root, { filter, ...args }, context, info) => {
        const { prisma } = context.services
        const inDomain = filter?.domain == null ? {} : { domain: { name: filter.domain } }
        const visible = { AND: [ownProject(context.viewer), nameWhere(filter?.name), inDomain] }
        const query = edgeQuery({ context, info, typeName: 'Project', order: BY_NAME })
        return keysetPage({
          args,
          order: BY_NAME,
          find: ({ where, ...page }) =>
            prisma.project.findMany({ ...query, ...page, where: { AND: [visible, where] } }),
          count: () => prisma.project.count({ where: visible }),
        })
      },
    },
    { name: 'ProjectConnection', description: 'A page of projects.' },
    { name: 'ProjectEdge', description: 'One project with its cursor.' },
  ),
)

builder.queryField('users', (t) =>
  t.connection(
    {
      type: UserNode,
      description: "The users that you may see, ordered by name: all, or the members of the token's project.",
      args: { filter: t.arg({ type: UserFilter, description: ONLY_MATCHING('users') }) },
      complexity: pageComplexity,
      resolve: (_root, { filter, ...args }, context, info) => {
        const { prisma } = context.services
        const { project } = filter ?? {}
        const ofProject = project == null ? {} : { members: { some: { project: { name: project } } } }
        const visible = { AND: [visibleUsers(context.viewer), nameWhere(filter?.name), ofProject] }
        const query = edgeQuery({ context, info, typeName: 'User', order: BY_NAME })
        return keysetPage({
          args,
          order: BY_NAME,
          find: ({ where, ...page }) => prisma.user.findMany({ ...query, ...page, where: { AND: [visible, where] } }),
          count: () => prisma.user.count({ where: visible }),
        })
      },
    },
    { name: 'UserConnection', description: 'A page of users.' },
    { name: 'UserEdge', description: 'One user with its cursor.' },
  ),
)

builder.queryField('tokens', (t) =>
  t.connection(
    {
      type: TokenNode,
      nullable: true,
      description:
        'Tokens, newest first, including revoked and expired ones, but not those of browser logins. Null, with an error, unless you are an administrator.',
      args: {
        filter: t.arg({ type: TokenFilter, description: ONLY_MATCHING('tokens') }),
        idPrefix: t.arg.string({ description: ID_PREFIX_WORDS }),
      },
      complexity: pageComplexity,
      resolve: (_root, { filter, idPrefix, ...args }, context, info) => {
        const { services, viewer } = context
        assertMayAdminister(viewer, 'PROJECT')
        const begins = idPrefix == null ? {} : { id: idsBeginningWith(idPrefix, 'idPrefix') }
        const visible = { AND: [projectScope(viewer), { parentId: null }, begins, tokenWhere(filter ?? {})] }
        const query = edgeQuery({ context, info, typeName: 'Token', order: NEWEST_FIRST })
        return keysetPage({
          args,
          order: NEWEST_FIRST,
          find: ({ where, ...page }) =>
            services.prisma.apiToken.findMany({ ...query, ...page, where: { AND: [visible, where] } }),
          count: () => services.prisma.apiToken.count({ where: visible }),
        })
      },
    },
    { name: 'TokenConnection', description: 'A page of tokens.' },
    { name: 'TokenEdge', description: 'One token with its cursor.' },
  ),
)

builder.queryField('viewer', (t) =>
  t.prismaField({
    type: TokenNode,
    nullable: true,
    description: 'The token of this request: your identity and your rights.',
    resolve: (query, _root, _args, { services, viewer }) =>
      services.prisma.apiToken.findUnique({ ...query, where: { id: viewer.tokenId } }),
  }),
)

function tokenWhere({
  name,
  role,
  project,
  user,
  idPrefix,
}: typeof TokenFilter.$inferInput): Prisma.ApiTokenWhereInput {
  return {
    ...nameWhere(name),
    ...(role && { role: { in: role } }),
    ...(project != null && { project: { name: project } }),
    ...(user != null && { user: { name: user } }),
    ...(idPrefix != null && { id: idsBeginningWith(idPrefix, 'filter.idPrefix') }),
  }
}

const AuditFilter = builder.inputType('AuditFilter', {
  description: 'Filter of audit log entries. All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'About the project with this name.' }),
    tokenId: t.field({ type: 'UUID', description: 'Actions of this token.' }),
    userId: t.field({ type: 'UUID', description: 'Actions of the tokens of this user.' }),
    sessionId: t.field({ type: 'UUID', description: 'About this session.' }),
    requestId: t.string({ description: 'Actions of the request with this id.' }),
    actor: t.string({ description: 'Actions of the actor with this name.' }),
    actorContains: t.string({
      description: 'Actions of actors whose name contains this text, in upper or lower case.',
    }),
    action: t.stringList({ description: 'One of these actions.' }),
    actionContains: t.string({ description: 'Actions that contain this text, in upper or lower case.' }),
    automatic: t.boolean({
      description:
        'True: only actions of the server itself, such as retries; false: only actions that a token requested.',
    }),
    refused: t.boolean({ description: 'True: only refused actions; false: only actions that were done.' }),
    at: t.field({ type: DateTimeFilter, description: 'Filter by time.' }),
  }),
})

builder.queryField('auditLog', (t) =>
  t.connection(
    {
      type: AuditEntry,
      nullable: true,
      description:
        'The audit log, newest first. Null, with an error, unless you are an administrator. The administrators of a project see the entries about that project. Values of environment variables and secrets are never in it.',
      args: { filter: t.arg({ type: AuditFilter, description: 'Only entries that match.' }) },
      complexity: pageComplexity,
      resolve: (_root, { filter, ...page }, context) => readAudit(context, { filter: filter ?? {}, page }),
    },
    { name: 'AuditEntryConnection', description: 'A page of the audit log.' },
    { name: 'AuditEntryEdge', description: 'One entry with its cursor.' },
  ),
)
