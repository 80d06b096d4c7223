import type { AuditRow } from '../../../services/access/audit.ts'
import { mayAdminister, mayChange } from '../../../services/access/authorize.ts'
import { ownProject, projectScope } from '../../../services/access/tenants.ts'
import { builder } from '../../builder.ts'
import { isUuid, NO_UUID, stableId } from '../../ids.ts'
import { QuotaType } from '../quota.types.ts'

export const DomainNode = builder.prismaNode('Domain', {
  description: 'A group of projects.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({
    id: isUuid(id) ? id : NO_UUID,
    ...(viewer.projectId === null ? {} : { projects: { some: { id: viewer.projectId } } }),
  }),
  select: { id: true },
  fields: (t) => ({
    domainId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'Its name, unique among domains.' }),
    quota: t.field({
      type: QuotaType,
      description: 'Limits on its projects together, and their use.',
      resolve: ({ id }, _args, { loaders }) => loaders.quotas.load({ scope: 'DOMAIN', scopeId: id }),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

export const ProjectNode = builder.prismaNode('Project', {
  description: 'The owner of sessions. A token sees one project, or all.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id: isUuid(id) ? id : NO_UUID, AND: [ownProject(viewer)] }),
  select: { id: true },
  fields: (t) => ({
    projectId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'Its name, unique among projects.' }),
    domain: t.string({
      description: 'The domain that it belongs to.',
      select: { domain: { select: { name: true } } },
      resolve: ({ domain }) => domain.name,
    }),
    quota: t.field({
      type: QuotaType,
      description: 'Its limits, and their use.',
      resolve: ({ id }, _args, { loaders }) => loaders.quotas.load({ scope: 'PROJECT', scopeId: id }),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

export const TokenRoleEnum = builder.enumType('TokenRole', {
  description: 'What a token may do.',
  values: {
    ADMIN: { description: 'Everything, in its project or in all.' },
    MEMBER: { description: 'Reads and changes the sessions of its project.' },
    VIEWER: { description: 'Reads its project, except for the values of environment variables.' },
    METRICS: {
      description: 'Reads service discovery, of its project or of all, and without a project `/metrics`; nothing else.',
    },
    AGENT: { description: 'Runs kernels, and reads nothing here.' },
  } as const,
})

interface Rights {
  change: boolean
  administer: boolean
}

const TokenRights = builder.objectRef<Rights>('TokenRights').implement({
  description: 'What whoever has a token may do, with what it can see: in its project, or in all.',
  fields: (t) => ({
    createSessions: t.exposeBoolean('change', { description: 'Create sessions and deployments.' }),
    manageRetries: t.exposeBoolean('change', { description: 'Change, hasten and cancel retries.' }),
    resubmit: t.exposeBoolean('change', { description: 'Resubmit sessions.' }),
    terminate: t.exposeBoolean('change', { description: 'Terminate sessions and destroy deployments.' }),
    administer: t.exposeBoolean('administer', {
      description:
        'Read the audit log, manage tokens, and change defaults and switches of retries; without a project also everything that concerns the cluster.',
    }),
  }),
})

/** Administrators see the tokens of their project, or all; others see only their own. */
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
    name: t.exposeString('name', { description: 'Its name, for people; need not be unique.' }),
    prefix: t.exposeString('prefix', { description: 'How the token begins.' }),
    role: t.expose('role', { type: TokenRoleEnum, description: 'What it may do.' }),
    project: t.relation('project', {
      type: ProjectNode,
      nullable: true,
      description: 'The only project that it can see; null for tokens of the whole cluster.',
    }),
    resourceGroups: t.exposeStringList('resourceGroups', {
      description: 'Of a token of agents: names of the only resource groups that they may join; none: any.',
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
        'Its user, who owns the sessions that it creates. In a project it may do no more than the user may there, and nothing once the user is no longer a member.',
    }),
    can: t.field({
      type: TokenRights,
      description:
        'What it allows at present: by its role, or that of its user in its project. Nothing if it is not valid.',
      select: { id: true },
      resolve: async ({ id }, _args, { loaders }) => {
        const role = await loaders.tokenRoles.load(id)
        return { change: role !== null && mayChange({ role }), administer: role !== null && mayAdminister({ role }) }
      },
    }),
  }),
})

const ProjectMembership = builder.prismaObject('ProjectMember', {
  description: "A user's role in a project.",
  select: { projectId: true, userId: true },
  fields: (t) => ({
    id: t.id(
      stableId('ProjectMember', ({ projectId, userId }: { projectId: string; userId: string }) => [projectId, userId]),
    ),
    project: t.relation('project', { type: ProjectNode, description: 'Where.' }),
    role: t.expose('role', { type: TokenRoleEnum, description: 'The role.' }),
  }),
})

export const UserNode = builder.prismaNode('User', {
  description: 'Somebody who creates sessions.',
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
      description: 'In projects that the token sees.',
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
      description: 'Limits on its sessions together, and their use.',
      resolve: ({ id }, _args, { loaders }) => loaders.quotas.load({ scope: 'USER', scopeId: id }),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

export const AuditEntry = builder.objectRef<AuditRow>('AuditEntry').implement({
  description: 'Something that was done, or refused.',
  fields: (t) => ({
    id: t.id(stableId('AuditEntry', ({ id }: AuditRow) => [id])),
    entryId: t.exposeString('id', { description: 'Its number: greater is newer.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When.' }),
    actor: t.exposeString('actor', {
      description: 'Who, by name: of the token, which is not unique, or of a part of the server.',
    }),
    tokenId: t.expose('tokenId', { type: 'UUID', nullable: true, description: 'The token; null if none asked.' }),
    userId: t.expose('userId', { type: 'UUID', nullable: true, description: 'The user that the token belongs to.' }),
    requestId: t.exposeString('requestId', {
      nullable: true,
      description: 'The request, which the log of the server has as well.',
    }),
    address: t.exposeString('address', {
      nullable: true,
      description: 'The other end of the connection: behind a proxy, the proxy.',
    }),
    action: t.exposeString('action', {
      description: 'What: `session.create`, `token.revoke`, …; `refused` for a change that was refused.',
    }),
    projectId: t.expose('projectId', { type: 'UUID', nullable: true, description: 'The project that it concerns.' }),
    sessionId: t.expose('sessionId', { type: 'UUID', nullable: true, description: 'The session that it concerns.' }),
    details: t.string({
      description:
        'The rest, as JSON. Of a refusal `operation`, `code`, `message`, and how many like it came `before`.',
      resolve: ({ details }) => JSON.stringify(details),
    }),
  }),
})
