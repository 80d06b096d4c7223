import { createDomain, createProject, createUser } from '../../../services/access/create-tenants.ts'
import { builder } from '../../builder.ts'
import {
  asResult,
  ConflictError,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  typeOf,
  ValidationError,
} from '../error.types.ts'
import { DomainNode, ProjectNode, TokenNode, TokenRoleEnum, UserNode } from './access.types.ts'
import { removeProjectMember, setProjectMember } from '../../../services/access/set-project-member.ts'
import { globalId } from '../../ids.ts'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { createToken } from '../../../services/access/create-token.ts'
import { revokeToken } from '../../../services/access/revoke-token.ts'

const CreateDomainInput = builder.inputType('CreateDomainInput', {
  description: 'A group of projects.',
  fields: (t) => ({ name: t.string({ required: true, description: 'Its name, unique among domains.' }) }),
})

const CreateDomainPayload = builder
  .objectRef<{ __typename: 'CreateDomainPayload'; id: string }>('CreateDomainPayload')
  .implement({
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

const CreateDomainResult = builder.unionType('CreateDomainResult', {
  description: 'The domain, or an error that the caller can correct.',
  types: [CreateDomainPayload, ValidationError, ConflictError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationFields((t) => ({
  createDomain: t.field({
    type: CreateDomainResult,
    description: 'Creates a domain; for administrators.',
    args: { input: t.arg({ type: CreateDomainInput, required: true, description: 'Its name.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'CreateDomainPayload' as const, ...(await createDomain(context, input)) })),
  }),
}))

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

const CreateUserInput = builder.inputType('CreateUserInput', {
  description: 'Somebody who creates sessions.',
  fields: (t) => ({ name: t.string({ required: true, description: 'Its name, unique among users.' }) }),
})

const CreateUserPayload = builder
  .objectRef<{ __typename: 'CreateUserPayload'; id: string }>('CreateUserPayload')
  .implement({
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

const CreateUserResult = builder.unionType('CreateUserResult', {
  description: 'The user, or an error that the caller can correct.',
  types: [CreateUserPayload, ValidationError, ConflictError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationFields((t) => ({
  createUser: t.field({
    type: CreateUserResult,
    description: 'Creates a user; for administrators.',
    args: { input: t.arg({ type: CreateUserInput, required: true, description: 'Its name.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'CreateUserPayload' as const, ...(await createUser(context, input)) })),
  }),
}))

const CreateTokenInput = builder.inputType('CreateTokenInput', {
  description: 'A token to create.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'For people: what it is for.' }),
    role: t.field({ type: TokenRoleEnum, required: true, description: 'What it may do.' }),
    project: t.string({
      description:
        'Name of the only project that it can see. MEMBER and VIEWER tokens have one, AGENT tokens have none, ADMIN and METRICS tokens may have one.',
    }),
    user: t.string({
      description:
        "Name of the user that it belongs to. For a project's token, the user must be a member of the project with at least the token's rights.",
    }),
    resourceGroups: t.stringList({
      description: 'For AGENT: names of the only resource groups that its agents may join; any if missing.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: 'When it expires; never if missing.' }),
  }),
})

const RevokeTokenInput = builder.inputType('RevokeTokenInput', {
  description: 'A token to revoke.',
  fields: (t) => ({ tokenId: t.field({ type: 'UUID', required: true, description: 'Which.' }) }),
})

const CreateTokenPayload = tokenPayload<'CreateTokenPayload', { secret: string }>('CreateTokenPayload', 'A new token.')
builder.objectField(CreateTokenPayload, 'secret', (t) =>
  t.exposeString('secret', { description: 'The secret token, shown only once.' }),
)

const RevokeTokenPayload = tokenPayload<'RevokeTokenPayload', object>('RevokeTokenPayload', 'A revoked token.')
builder.objectField(RevokeTokenPayload, 'deletedId', (t) =>
  t.id({
    description: 'Its global id, for caches: what shows tokens that are valid shows it no more.',
    resolve: ({ tokenId }) => encodeGlobalID('Token', tokenId),
  }),
)

const CreateTokenResult = builder.unionType('CreateTokenResult', {
  description: 'The token, or an error that the caller can correct.',
  types: [CreateTokenPayload, ValidationError, NotFoundError, ForbiddenError, InvalidStateError],
  resolveType: typeOf,
})

const RevokeTokenResult = builder.unionType('RevokeTokenResult', {
  description: 'The token, or an error that the caller can correct.',
  types: [RevokeTokenPayload, ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationFields((t) => ({
  createToken: t.field({
    type: CreateTokenResult,
    description: 'Creates a token; for administrators. Those of one project create tokens for that project only.',
    args: { input: t.arg({ type: CreateTokenInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'CreateTokenPayload' as const,
        ...(await createToken(context, input)),
      })),
  }),
  revokeToken: t.field({
    type: RevokeTokenResult,
    description: 'Revokes a token within seconds; for administrators. Agents that use it are cut off.',
    args: { input: t.arg({ type: RevokeTokenInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input: { tokenId } }, context) =>
      asResult(async () => {
        await revokeToken(context, tokenId)
        return { __typename: 'RevokeTokenPayload' as const, tokenId }
      }),
  }),
}))

interface TokenPayload<Name extends string> {
  __typename: Name
  tokenId: string
}

/** A payload whose token is read after the commit, in one read shaped by the selection. */
function tokenPayload<Name extends string, Extra extends object>(name: Name, description: string) {
  const ref = builder.objectRef<TokenPayload<Name> & Extra>(name)
  builder.objectType(ref, { description })
  builder.objectField(ref, 'token', (t) =>
    t.prismaField({
      type: TokenNode,
      description: 'The token, as it is now.',
      resolve: (query, { tokenId }, _args, { services }) =>
        services.prisma.apiToken.findUniqueOrThrow({ ...query, where: { id: tokenId } }),
    }),
  )
  return ref
}
