import { mayAdminister } from '../../../services/access/authorize.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { builder } from '../../builder.ts'
import { isUuid, NO_UUID } from '../../ids.ts'
import { ProjectNode } from '../project/project.type.ts'

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

/** Read by administrators, as in the list; by others only their own. */
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
  }),
})
