import { type AuditRow, readAuditEntries } from '../../../services/access/audit.ts'
import { mayAdminister, mayChange } from '../../../services/access/authorize.ts'
import { ownProject, projectScope, visibleDomains } from '../../../services/access/tenants.ts'
import { builder } from '../../builder.ts'
import { inOrderOf, isUuid, keyParts, NO_UUID, nodeKey } from '../../ids.ts'
import { QuotaType } from '../quota.types.ts'

export const DomainNode = builder.prismaNode('Domain', {
  description: 'A group of projects.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({
    id: isUuid(id) ? id : NO_UUID,
    ...visibleDomains(viewer),
  }),
  select: { id: true },
  fields: (t) => ({
    domainId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'Its name, unique among domains.' }),
    quota: t.field({
      type: QuotaType,
      description: 'Limits on its projects in total, and their present use.',
      resolve: ({ id }, _args, { loaders }) => loaders.quotas.load({ scope: 'DOMAIN', scopeId: id }),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

export const ProjectNode = builder.prismaNode('Project', {
  description: 'The owner of sessions. A token has access to one project, or to all.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id: isUuid(id) ? id : NO_UUID, AND: [ownProject(viewer)] }),
  select: { id: true },
  fields: (t) => ({
    projectId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'Its name, unique among projects.' }),
    domainNode: t.relation('domain', { type: DomainNode, description: 'The domain that it belongs to.' }),
    domain: t.string({
      description: 'Name of the domain that it belongs to.',
      deprecationReason: 'Use `domainNode { name }`.',
      select: { domain: { select: { name: true } } },
      resolve: ({ domain }) => domain.name,
    }),
    outputKeepDays: t.exposeFloat('outputKeepDays', {
      nullable: true,
      description: 'Days for which outputs are kept whose session does not say; null for the setting of the server.',
    }),
    membersEndAll: t.exposeBoolean('membersEndAll', {
      description:
        'Whether members may end the work of others: terminate sessions, cancel retries, destroy deployments. If false, only their own.',
    }),
    quota: t.field({
      type: QuotaType,
      description: 'Its limits, and their present use.',
      resolve: ({ id }, _args, { loaders }) => loaders.quotas.load({ scope: 'PROJECT', scopeId: id }),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

export const TokenRoleEnum = builder.enumType('TokenRole', {
  description: 'The role of a token, which defines its rights.',
  values: {
    ADMIN: { description: 'Everything, in its project or, without a project, in all.' },
    MEMBER: { description: 'Reads and changes the sessions of its project.' },
    VIEWER: { description: 'Reads its project, except for the values of environment variables.' },
    METRICS: {
      description:
        'Reads only service discovery, of its project or of all. Without a project it also reads `/metrics`.',
    },
    AGENT: { description: 'Runs kernels; it reads nothing in this API.' },
  } as const,
})

interface Rights {
  change: boolean
  administer: boolean
}

const TokenRights = builder.objectRef<Rights>('TokenRights').implement({
  description: 'Rights of a token, in its project or, without a project, in all.',
  fields: (t) => ({
    createSessions: t.exposeBoolean('change', { description: 'Create sessions and deployments.' }),
    manageRetries: t.exposeBoolean('change', { description: 'Change retries, make them due now, and cancel them.' }),
    resubmit: t.exposeBoolean('change', { description: 'Resubmit sessions.' }),
    terminate: t.exposeBoolean('change', { description: 'Terminate sessions and destroy deployments.' }),
    administer: t.exposeBoolean('administer', {
      description:
        'Read the audit log, manage tokens, and change defaults and switches of retries. Without a project, also administer the whole cluster.',
    }),
  }),
})

/** Type of tokens. Administrators see the tokens of their project, or all; others see only their own. */
export const TokenNode = builder.prismaNode('ApiToken', {
  name: 'Token',
  description: 'An access token. Only a hash of the secret is stored.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({
    id: isUuid(id) ? id : NO_UUID,
    AND: mayAdminister(viewer) ? [projectScope(viewer)] : [{ id: viewer.tokenId }],
  }),
  select: { id: true },
  fields: (t) => ({
    tokenId: t.expose('id', { type: 'UUID', description: 'Its id, which is not secret.' }),
    name: t.exposeString('name', { description: 'Its name, for people; not necessarily unique.' }),
    prefix: t.exposeString('prefix', { description: 'The first characters of the token.' }),
    role: t.expose('role', { type: TokenRoleEnum, description: 'Its role.' }),
    project: t.relation('project', {
      type: ProjectNode,
      nullable: true,
      description: 'The only project that it can access; null for tokens of the whole cluster.',
    }),
    resourceGroups: t.exposeStringList('resourceGroups', {
      description: 'For role AGENT: names of the only resource groups that its agents may join; empty means any.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it expires; null means never.',
    }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'When it was revoked.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used, to within a minute.',
    }),
    user: t.relation('user', {
      type: UserNode,
      nullable: true,
      description:
        'Its user, who owns the sessions that it creates. In a project the token has at most the rights of this user there, and none once the user is no longer a member.',
    }),
    can: t.field({
      type: TokenRights,
      description: 'Its present rights, by its role and that of its user in its project. No rights if it is not valid.',
      select: { id: true },
      resolve: async ({ id }, _args, { loaders }) => {
        const role = await loaders.tokenRoles.load(id)
        return { change: role !== null && mayChange({ role }), administer: role !== null && mayAdminister({ role }) }
      },
    }),
  }),
})

const ProjectMembership = builder.prismaNode('ProjectMember', {
  description: "A user's role in a project.",
  id: { resolve: ({ projectId, userId }) => nodeKey([projectId, userId]) },
  nullable: true,
  findUnique: (id, { viewer }) => {
    const [projectId, userId] = keyParts(id).map((part) => (isUuid(part) ? part : NO_UUID)) as [string, string]
    return { projectId_userId: { projectId, userId }, project: ownProject(viewer) }
  },
  select: { projectId: true, userId: true },
  fields: (t) => ({
    project: t.relation('project', { type: ProjectNode, description: 'The project.' }),
    role: t.expose('role', { type: TokenRoleEnum, description: 'The role.' }),
  }),
})

export const UserNode = builder.prismaNode('User', {
  description: 'A user, who creates sessions.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({
    id: isUuid(id) ? id : NO_UUID,
    ...(viewer.projectId === null ? {} : { members: { some: { projectId: viewer.projectId } } }),
  }),
  select: { id: true },
  fields: (t) => ({
    userId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'Its name, unique among users.' }),
    memberships: t.field({
      type: [ProjectMembership],
      description: 'Its memberships in the projects that you may see.',
      select: (_args, { viewer }, nestedSelection) => ({
        members: nestedSelection({
          where: viewer.projectId === null ? {} : { projectId: viewer.projectId },
          orderBy: { project: { name: 'asc' } },
        }),
      }),
      resolve: ({ members }) => members,
    }),
    quota: t.field({
      type: QuotaType,
      description: 'Limits on its sessions in total, and their present use.',
      resolve: ({ id }, _args, { loaders }) => loaders.quotas.load({ scope: 'USER', scopeId: id }),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

export const AuditEntry = builder.node(builder.objectRef<AuditRow>('AuditEntry'), {
  description: 'An action that was done or refused. Only administrators see it.',
  id: { resolve: ({ id }) => id },
  loadMany: async (ids, context) => inOrderOf(ids, await readAuditEntries(context, ids), ({ id }) => id),
  fields: (t) => ({
    entryId: t.exposeString('id', { description: 'Its number; newer entries have greater ones.' }),
    at: t.expose('at', { type: 'DateTime', description: 'Time of the action.' }),
    actor: t.exposeString('actor', {
      description: 'Name of the actor: of the token, which is not unique, or of a part of the server.',
    }),
    tokenId: t.expose('tokenId', {
      type: 'UUID',
      nullable: true,
      description: 'The token of the request; null if the server acted by itself.',
    }),
    userId: t.expose('userId', { type: 'UUID', nullable: true, description: 'The user of the token.' }),
    requestId: t.exposeString('requestId', {
      nullable: true,
      description: "Id of the request, which is also in the server's log.",
    }),
    address: t.exposeString('address', {
      nullable: true,
      description: 'Network address of the peer; behind a proxy, the address of the proxy.',
    }),
    action: t.exposeString('action', {
      description: 'The action: `session.create`, `token.revoke`, …; `refused` for a change that was refused.',
    }),
    projectId: t.expose('projectId', { type: 'UUID', nullable: true, description: 'The project that it is about.' }),
    project: t.prismaField({
      type: ProjectNode,
      nullable: true,
      description: 'The project that it is about.',
      // Prisma reads all that are requested in the same tick with one statement.
      resolve: (query, { projectId: id }, _args, { services }) =>
        id === null ? null : services.prisma.project.findUnique({ ...query, where: { id } }),
    }),
    sessionId: t.expose('sessionId', { type: 'UUID', nullable: true, description: 'The session that it is about.' }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why, in the words of the person; null if not given.',
    }),
    data: t.field({
      type: 'JSON',
      description:
        'Further details. For a refusal: `operation`, `code`, `message`, and in `before` the number of equal refusals before it.',
      resolve: ({ details }) => details,
    }),
    details: t.string({
      description: 'The further details, as JSON in a text.',
      deprecationReason: 'Use `data`.',
      resolve: ({ details }) => JSON.stringify(details),
    }),
  }),
})
