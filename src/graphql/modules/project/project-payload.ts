import { builder } from '../../builder.ts'
import { ProjectNode } from './project.type.ts'

interface ProjectPayload<Name extends string> {
  __typename: Name
  id: string
}

/** A payload whose project is read after the commit, in one read shaped by the selection. */
export function projectPayload<Name extends string>(name: Name) {
  return builder.objectRef<ProjectPayload<Name>>(name).implement({
    description: 'What it is now.',
    fields: (t) => ({
      project: t.prismaField({
        type: ProjectNode,
        description: 'What it is now.',
        resolve: (query, { id }, _args, { services }) =>
          services.prisma.project.findUniqueOrThrow({ ...query, where: { id } }),
      }),
    }),
  })
}
