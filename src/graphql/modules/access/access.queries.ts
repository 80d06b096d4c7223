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
      description: 'The domains that the token sees, by name: all, or that of its project.',
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
    { name: 'DomainEdge', description: 'One domain and its place.' },
  ),
)

builder.queryField('projects', (t) =>
  t.connection(
    {
      type: ProjectNode,
      description: 'The projects that the token sees, by name.',
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
    { name: 'ProjectEdge', description: 'One project and its place.' },
  ),
)

builder.queryField('users', (t) =>
  t.connection(
    {
      type: UserNode,
      description: 'The users that the token sees, by name: all, or the members of its project.',
      complexity: pageComplexity,
      resolve: (_root, args, context, info) => {
        const { prisma } = context.services
        const { projectId } = context.viewer
        const visible = projectId === null ? {} : { members: { some: { projectId } } }
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
    { name: 'UserEdge', description: 'One user and its place.' },
  ),
)

builder.queryField('tokens', (t) =>
  t.connection(
    {
      type: TokenNode,
      nullable: true,
      description:
        'Tokens, newest first, revoked and expired ones included, those that browsers got in return for one left out; null, with an error, unless you are an administrator.',
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
    { name: 'TokenEdge', description: 'One token and its place.' },
  ),
)

builder.queryField('viewer', (t) =>
  t.prismaField({
    type: TokenNode,
    nullable: true,
    description: 'The token in use: who you are and what you may do.',
    resolve: (query, _root, _args, { services, viewer }) =>
      services.prisma.apiToken.findUnique({ ...query, where: { id: viewer.tokenId } }),
  }),
)

const AuditFilter = builder.inputType('AuditFilter', {
  description: 'Which entries. All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'Name of the project that they concern.' }),
    tokenId: t.field({ type: 'UUID', description: 'By this token.' }),
    userId: t.field({ type: 'UUID', description: 'By tokens of this user.' }),
    sessionId: t.field({ type: 'UUID', description: 'About this session.' }),
    requestId: t.string({ description: 'Of this request.' }),
    actor: t.string({ description: 'By this name.' }),
    action: t.stringList({ description: 'One of these actions.' }),
    refused: t.boolean({ description: 'Only what was refused, or only what was done.' }),
    at: t.field({ type: DateTimeFilter, description: 'By when it was.' }),
  }),
})

builder.queryField('auditLog', (t) =>
  t.connection(
    {
      type: AuditEntry,
      nullable: true,
      description:
        'The audit log, newest first; null, with an error, unless you are an administrator. Those of one project see what concerns it. Values of environments and secrets are never in it.',
      args: { filter: t.arg({ type: AuditFilter, description: 'Which entries.' }) },
      complexity: pageComplexity,
      resolve: (_root, { filter, ...page }, context) => readAudit(context, { filter: filter ?? {}, page }),
    },
    { name: 'AuditEntryConnection', description: 'A page of the audit log.' },
    { name: 'AuditEntryEdge', description: 'One entry and its place.' },
  ),
)
