import { builder } from '../../builder.ts'
import { isUuid, NO_UUID } from '../../ids.ts'
import { QuotaType } from '../quota/quota.type.ts'

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
