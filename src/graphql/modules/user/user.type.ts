import { builder } from '../../builder.ts'
import { isUuid, NO_UUID, stableId } from '../../ids.ts'
import { ProjectNode } from '../project/project.type.ts'
import { QuotaType } from '../quota/quota.type.ts'
import { TokenRoleEnum } from '../token/token.type.ts'

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
