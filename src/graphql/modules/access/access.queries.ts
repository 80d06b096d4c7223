import { assertMayAdminister } from '../../../services/access/authorize.ts'
import { readAudit } from '../../../services/access/audit.ts'
import { ownProject, projectScope } from '../../../services/access/tenants.ts'
import { ID_PREFIX_WORDS, idsBeginningWith } from '../../../services/input/input-fields.ts'
import { BY_NAME, keysetPage, NEWEST_FIRST } from '../../../services/paging.ts'
import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { DateTimeFilter } from '../filters.inputs.ts'
import { AuditEntry, DomainNode, ProjectNode, TokenNode, UserNode } from './access.types.ts'

builder.queryField('domains', (t) =>
  t.connection(
    {
      type: DomainNode,
      description: "The domains that you may see, ordered by name: all, or the one of the token's project.",
      complexity: pageComplexity,
      resolve: (_root, args, context, info) => {
        const { prisma } = context.services
        const { projectId } = context.viewer
        const visible = projectId === null ? {} : { projects: { some: { id: projectId } } }
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
      complexity: pageComplexity,
      resolve: (_root, args, context, info) => {
        const { prisma } = context.services
        const visible = ownProject(context.viewer)
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
      complexity: pageComplexity,
      resolve: (_root, args, context, info) => {
        const { prisma } = context.services
        const { projectId } = context.viewer
        const visible = { deletedAt: null, ...(projectId !== null && { members: { some: { projectId } } }) }
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
      args: { idPrefix: t.arg.string({ description: ID_PREFIX_WORDS }) },
      complexity: pageComplexity,
      resolve: (_root, { idPrefix, ...args }, context, info) => {
        const { services, viewer } = context
        assertMayAdminister(viewer, 'PROJECT')
        const begins = idPrefix == null ? {} : { id: idsBeginningWith(idPrefix, 'idPrefix') }
        const visible = { AND: [projectScope(viewer), { parentId: null }, begins] }
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
