import { builder } from '../../builder.ts'
import { ResourceGroupType } from './resource-group.type.ts'

export interface ResourceGroupPayload<Name extends string> {
  __typename: Name
  name: string
}

/** A payload whose group is read after the commit, in one read shaped by the selection. */
export function resourceGroupPayload<Name extends string>(name: Name) {
  return builder.objectRef<ResourceGroupPayload<Name>>(name).implement({
    description: 'What it is now.',
    fields: (t) => ({
      resourceGroup: t.prismaField({
        type: ResourceGroupType,
        description: 'What it is now.',
        resolve: (query, parent, _args, { services }) =>
          services.prisma.resourceGroup.findUniqueOrThrow({ ...query, where: { name: parent.name } }),
      }),
    }),
  })
}
