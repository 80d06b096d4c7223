import { builder } from '../../builder.ts'
import { ResourceGroupType } from './resource-group.type.ts'

builder.queryField('resourceGroups', (t) =>
  t.prismaField({
    type: [ResourceGroupType],
    description: 'All resource groups, by name.',
    resolve: (query, _root, _args, { services }) =>
      services.prisma.resourceGroup.findMany({ ...query, where: { deletedAt: null }, orderBy: { name: 'asc' } }),
  }),
)
