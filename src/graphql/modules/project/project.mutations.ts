import { createProject } from '../../../services/access/create-tenants.ts'
import { removeProjectMember, setProjectMember } from '../../../services/access/set-project-member.ts'
import { builder } from '../../builder.ts'
import { globalId } from '../../ids.ts'
import {
  asResult,
  ConflictError,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  typeOf,
  ValidationError,
} from '../error.types.ts'
import { TokenRoleEnum } from '../token/token.type.ts'
import { ProjectNode } from './project.type.ts'

const CreateProjectInput = builder.inputType('CreateProjectInput', {
  description: 'The project to create.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, unique among projects.' }),
    domain: t.string({ description: 'The domain that it belongs to; `default` where none is named.' }),
  }),
})

const SetProjectMemberInput = builder.inputType('SetProjectMemberInput', {
  description: 'Who is what in a project.',
  fields: (t) => ({
    project: t.string({ required: true, description: 'Name of the project.' }),
    user: t.string({ required: true, description: 'Name of the user.' }),
    role: t.field({ type: TokenRoleEnum, required: true, description: 'ADMIN, MEMBER or VIEWER.' }),
  }),
})

const RemoveProjectMemberInput = builder.inputType('RemoveProjectMemberInput', {
  description: 'The membership to remove.',
  fields: (t) => ({
    project: t.string({ required: true, description: 'Name of the project.' }),
    user: t.string({ required: true, description: 'Name of the user.' }),
  }),
})

const CreateProjectResult = builder.unionType('CreateProjectResult', {
  description: 'The project, or an error that the caller can correct.',
  types: [
    projectPayload('CreateProjectPayload'),
    ValidationError,
    NotFoundError,
    ConflictError,
    ForbiddenError,
    InvalidStateError,
  ],
  resolveType: typeOf,
})

const SetProjectMemberResult = builder.unionType('SetProjectMemberResult', {
  description: 'The project, or an error that the caller can correct.',
  types: [projectPayload('SetProjectMemberPayload'), ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

const RemoveProjectMemberPayload = projectPayload<'RemoveProjectMemberPayload', { userId: string }>(
  'RemoveProjectMemberPayload',
)
builder.objectField(RemoveProjectMemberPayload, 'deletedId', (t) =>
  t.id({
    description: 'The id that the membership had, for caches.',
    resolve: ({ id, userId }) => globalId('ProjectMember', [id, userId]),
  }),
)

const RemoveProjectMemberResult = builder.unionType('RemoveProjectMemberResult', {
  description: 'The project, or an error that the caller can correct.',
  types: [RemoveProjectMemberPayload, ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationFields((t) => ({
  createProject: t.field({
    type: CreateProjectResult,
    description: 'Creates a project; for administrators.',
    args: { input: t.arg({ type: CreateProjectInput, required: true, description: 'Its name and domain.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'CreateProjectPayload' as const, ...(await createProject(context, input)) })),
  }),
  setProjectMember: t.field({
    type: SetProjectMemberResult,
    description: "Makes a user a member of a project, or changes the user's role in it; for administrators.",
    args: {
      input: t.arg({ type: SetProjectMemberInput, required: true, description: 'The user, the project and the role.' }),
    },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'SetProjectMemberPayload' as const,
        ...(await setProjectMember(context, input)),
      })),
  }),
  removeProjectMember: t.field({
    type: RemoveProjectMemberResult,
    description: 'Removes a user from a project; for administrators.',
    args: { input: t.arg({ type: RemoveProjectMemberInput, required: true, description: 'Who.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'RemoveProjectMemberPayload' as const,
        ...(await removeProjectMember(context, input)),
      })),
  }),
}))

interface ProjectPayload<Name extends string> {
  __typename: Name
  id: string
}

/** A payload whose project is read after the commit, in one read shaped by the selection. */
function projectPayload<Name extends string, Extra extends object = object>(name: Name) {
  return builder.objectRef<ProjectPayload<Name> & Extra>(name).implement({
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
