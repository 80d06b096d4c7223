import { createDomain, createProject, createUser } from '../../../services/create-tenants.ts'
import { removeProjectMember, setProjectMember } from '../../../services/set-project-member.ts'
import { builder } from '../../builder.ts'
import { DomainNode } from '../domain/domain.type.ts'
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../error/error.type.ts'
import { asResult, typeOf } from '../error/result.ts'
import { TokenRoleEnum } from '../token/token.type.ts'
import { UserNode } from '../user/user.type.ts'
import { ProjectNode } from './project.type.ts'

interface Made<Name extends string> {
  __typename: Name
  id: string
}

const DomainPayload = builder.objectRef<Made<'CreateDomainPayload'>>('CreateDomainPayload').implement({
  description: 'The new domain.',
  fields: (t) => ({
    domain: t.prismaField({
      type: DomainNode,
      description: 'The new domain.',
      resolve: (query, { id }, _args, { services }) =>
        services.prisma.domain.findUniqueOrThrow({ ...query, where: { id } }),
    }),
  }),
})

const UserPayload = builder.objectRef<Made<'CreateUserPayload'>>('CreateUserPayload').implement({
  description: 'The new user.',
  fields: (t) => ({
    user: t.prismaField({
      type: UserNode,
      description: 'The new user.',
      resolve: (query, { id }, _args, { services }) =>
        services.prisma.user.findUniqueOrThrow({ ...query, where: { id } }),
    }),
  }),
})

function projectPayload<Name extends string>(name: Name) {
  return builder.objectRef<Made<Name>>(name).implement({
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

const DomainResult = builder.unionType('CreateDomainResult', {
  description: 'The domain, or an error that the caller can correct.',
  types: [DomainPayload, ValidationError, ConflictError, ForbiddenError],
  resolveType: typeOf,
})
const UserResult = builder.unionType('CreateUserResult', {
  description: 'The user, or an error that the caller can correct.',
  types: [UserPayload, ValidationError, ConflictError, ForbiddenError],
  resolveType: typeOf,
})
const ProjectResult = builder.unionType('CreateProjectResult', {
  description: 'The project, or an error that the caller can correct.',
  types: [projectPayload('CreateProjectPayload'), ValidationError, NotFoundError, ConflictError, ForbiddenError],
  resolveType: typeOf,
})
const SetMemberResult = builder.unionType('SetProjectMemberResult', {
  description: 'The project, or an error that the caller can correct.',
  types: [projectPayload('SetProjectMemberPayload'), ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})
const RemoveMemberResult = builder.unionType('RemoveProjectMemberResult', {
  description: 'The project, or an error that the caller can correct.',
  types: [projectPayload('RemoveProjectMemberPayload'), ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

const CreateDomainInput = builder.inputType('CreateDomainInput', {
  description: 'A group of projects.',
  fields: (t) => ({ name: t.string({ required: true, description: 'Its name, unique among domains.' }) }),
})
const CreateUserInput = builder.inputType('CreateUserInput', {
  description: 'Somebody who creates sessions.',
  fields: (t) => ({ name: t.string({ required: true, description: 'Its name, unique among users.' }) }),
})
const CreateProjectInput = builder.inputType('CreateProjectInput', {
  description: 'The project to create.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, unique among projects.' }),
    domain: t.string({ description: 'The domain that it belongs to; `default` where none is named.' }),
  }),
})
const SetMemberInput = builder.inputType('SetProjectMemberInput', {
  description: 'Who is what in a project.',
  fields: (t) => ({
    project: t.string({ required: true, description: 'Name of the project.' }),
    user: t.string({ required: true, description: 'Name of the user.' }),
    role: t.field({ type: TokenRoleEnum, required: true, description: 'ADMIN, MEMBER or VIEWER.' }),
  }),
})
const RemoveMemberInput = builder.inputType('RemoveProjectMemberInput', {
  description: 'The membership to remove.',
  fields: (t) => ({
    project: t.string({ required: true, description: 'Name of the project.' }),
    user: t.string({ required: true, description: 'Name of the user.' }),
  }),
})

builder.mutationFields((t) => ({
  createDomain: t.field({
    type: DomainResult,
    description: 'Creates a domain; for administrators.',
    args: { input: t.arg({ type: CreateDomainInput, required: true, description: 'Its name.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'CreateDomainPayload' as const, ...(await createDomain(context, input)) })),
  }),
  createUser: t.field({
    type: UserResult,
    description: 'Creates a user; for administrators.',
    args: { input: t.arg({ type: CreateUserInput, required: true, description: 'Its name.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'CreateUserPayload' as const, ...(await createUser(context, input)) })),
  }),
  createProject: t.field({
    type: ProjectResult,
    description: 'Creates a project; for administrators.',
    args: { input: t.arg({ type: CreateProjectInput, required: true, description: 'Its name and domain.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'CreateProjectPayload' as const, ...(await createProject(context, input)) })),
  }),
  setProjectMember: t.field({
    type: SetMemberResult,
    description: "Makes a user a member of a project, or changes the user's role in it; for administrators.",
    args: {
      input: t.arg({ type: SetMemberInput, required: true, description: 'The user, the project and the role.' }),
    },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'SetProjectMemberPayload' as const,
        ...(await setProjectMember(context, input)),
      })),
  }),
  removeProjectMember: t.field({
    type: RemoveMemberResult,
    description: 'Removes a user from a project; for administrators.',
    args: { input: t.arg({ type: RemoveMemberInput, required: true, description: 'Who.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'RemoveProjectMemberPayload' as const,
        ...(await removeProjectMember(context, input)),
      })),
  }),
}))
