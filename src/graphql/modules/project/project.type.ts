import { builder } from '../../builder.ts'
import { ownProject } from '../../../services/access/tenant-scope.ts'
import { QuotaType } from '../quota/quota.type.ts'
import { isUuid, NO_UUID } from '../../ids.ts'

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
