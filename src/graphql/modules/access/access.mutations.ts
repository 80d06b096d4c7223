import { encodeGlobalID } from '@pothos/plugin-relay'
import {
  createDomain,
  createProject,
  createUser,
  deleteUser,
  removeProjectMember,
  setProjectMember,
  updateProject,
} from '../../../services/access/tenants.ts'
import { createToken, revokeToken } from '../../../services/access/tokens.ts'
import { builder } from '../../builder.ts'
import { globalId } from '../../ids.ts'
import { ConflictError, ForbiddenError, InvalidStateError, NotFoundError, ValidationError } from '../error.types.ts'
import { mutation, reasonField } from '../mutation.ts'
import { DomainNode, ProjectNode, TokenNode, TokenRoleEnum, UserNode } from './access.types.ts'

const CreateDomainInput = builder.inputType('CreateDomainInput', {
  description: 'A group of projects.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, unique among domains.' }),
    ...reasonField(t),
  }),
})

const CreateDomainPayload = builder.objectRef<{ id: string }>('CreateDomainPayload').implement({
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

mutation({
  name: 'createDomain',
  description: 'Creates a domain; for administrators.',
  input: CreateDomainInput,
  inputDescription: 'Its name.',
  payload: CreateDomainPayload,
  errors: [ValidationError, ConflictError, ForbiddenError],
  result: 'The domain',
  run: createDomain,
})

const CreateProjectInput = builder.inputType('CreateProjectInput', {
  description: 'The project to create.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, unique among projects.' }),
    domain: t.string({ description: 'Name of its domain; `default` if missing.' }),
    ...reasonField(t),
  }),
})

const SetProjectMemberInput = builder.inputType('SetProjectMemberInput', {
  description: 'The role of a user in a project.',
  fields: (t) => ({
    project: t.string({ required: true, description: 'Name of the project.' }),
    user: t.string({ required: true, description: 'Name of the user.' }),
    role: t.field({ type: TokenRoleEnum, required: true, description: 'The role: ADMIN, MEMBER or VIEWER.' }),
    ...reasonField(t),
  }),
})

const RemoveProjectMemberInput = builder.inputType('RemoveProjectMemberInput', {
  description: 'The user and the project whose membership is removed.',
  fields: (t) => ({
    project: t.string({ required: true, description: 'Name of the project.' }),
    user: t.string({ required: true, description: 'Name of the user.' }),
    ...reasonField(t),
  }),
})

const RemoveProjectMemberPayload = projectPayload<{ userId: string }>('RemoveProjectMemberPayload')
builder.objectField(RemoveProjectMemberPayload, 'deletedId', (t) =>
  t.id({
    description: 'The id that the membership had, for caches.',
    resolve: ({ id, userId }) => globalId('ProjectMember', [id, userId]),
  }),
)

mutation({
  name: 'createProject',
  description: 'Creates a project; for administrators.',
  input: CreateProjectInput,
  inputDescription: 'Its name and domain.',
  payload: projectPayload('CreateProjectPayload'),
  errors: [ValidationError, NotFoundError, ConflictError, ForbiddenError, InvalidStateError],
  result: 'The project',
  run: createProject,
})

const UpdateProjectInput = builder.inputType('UpdateProjectInput', {
  description: 'A change of a project.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Name of the project.' }),
    membersEndAll: t.boolean({ description: 'Whether members may end the work of others; if missing, it stays.' }),
    outputKeepDays: t.float({
      description:
        'Days for which outputs are kept whose session does not say; null for the setting of the server. If missing, it stays.',
    }),
    ...reasonField(t),
  }),
})

mutation({
  name: 'updateProject',
  description: 'Changes a project; for its administrators.',
  input: UpdateProjectInput,
  inputDescription: 'The project, and the change.',
  payload: projectPayload('UpdateProjectPayload'),
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The project',
  run: updateProject,
})

mutation({
  name: 'setProjectMember',
  description: "Makes a user a member of a project, or changes the user's role in it; for administrators.",
  input: SetProjectMemberInput,
  inputDescription: 'The user, the project and the role.',
  payload: projectPayload('SetProjectMemberPayload'),
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The project',
  run: setProjectMember,
})

mutation({
  name: 'removeProjectMember',
  description: 'Removes a user from a project; for administrators.',
  input: RemoveProjectMemberInput,
  inputDescription: 'The user, and the project.',
  payload: RemoveProjectMemberPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The project',
  run: removeProjectMember,
})

/** A payload whose project is read after the commit, with the selected columns. */
function projectPayload<Extra extends object = object>(name: string) {
  return builder.objectRef<{ id: string } & Extra>(name).implement({
    description: 'The project after the change.',
    fields: (t) => ({
      project: t.prismaField({
        type: ProjectNode,
        description: 'The project after the change.',
        resolve: (query, { id }, _args, { services }) =>
          services.prisma.project.findUniqueOrThrow({ ...query, where: { id } }),
      }),
    }),
  })
}

const CreateUserInput = builder.inputType('CreateUserInput', {
  description: 'A user, who creates sessions.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, unique among users.' }),
    ...reasonField(t),
  }),
})

const CreateUserPayload = builder.objectRef<{ id: string }>('CreateUserPayload').implement({
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

mutation({
  name: 'createUser',
  description: 'Creates a user; for administrators.',
  input: CreateUserInput,
  inputDescription: 'Its name.',
  payload: CreateUserPayload,
  errors: [ValidationError, ConflictError, ForbiddenError],
  result: 'The user',
  run: createUser,
})

const DeleteUserInput = builder.inputType('DeleteUserInput', {
  description: 'A user to delete.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Name of the user.' }),
    ...reasonField(t),
  }),
})

const DeleteUserPayload = builder.objectRef<{ id: string }>('DeleteUserPayload').implement({
  description: 'A deleted user.',
  fields: (t) => ({
    userId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    deletedId: t.id({
      description: 'Its global id, for caches.',
      resolve: ({ id }) => encodeGlobalID('User', id),
    }),
  }),
})

mutation({
  name: 'deleteUser',
  description:
    'Deletes a user; for administrators. Its memberships end and its tokens are revoked, within seconds; its sessions stay and continue. A new user of the same name gets its sessions, but no membership and no token.',
  input: DeleteUserInput,
  inputDescription: 'The user to delete.',
  payload: DeleteUserPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The deleted user',
  run: deleteUser,
})

const CreateTokenInput = builder.inputType('CreateTokenInput', {
  description: 'A token to create.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'A name for people, such as its purpose.' }),
    role: t.field({ type: TokenRoleEnum, required: true, description: 'Its role.' }),
    project: t.string({
      description:
        'Name of the only project that it can access. Required for MEMBER and VIEWER, refused for AGENT, optional for ADMIN and METRICS.',
    }),
    user: t.string({
      description:
        "Name of its user. If the token has a project, the user must be a member of the project with at least the rights of the token's role.",
    }),
    resourceGroups: t.stringList({
      description: 'For role AGENT: names of the only resource groups that its agents may join; any group if missing.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: 'When it expires; never if missing.' }),
    ...reasonField(t),
  }),
})

const RevokeTokenInput = builder.inputType('RevokeTokenInput', {
  description: 'A token to revoke.',
  fields: (t) => ({
    tokenId: t.field({ type: 'UUID', required: true, description: 'Id of the token.' }),
    ...reasonField(t),
  }),
})

const CreateTokenPayload = tokenPayload<{ secret: string }>('CreateTokenPayload', 'A new token.')
builder.objectField(CreateTokenPayload, 'secret', (t) =>
  t.exposeString('secret', { description: 'The secret token, shown only once.' }),
)

const RevokeTokenPayload = tokenPayload('RevokeTokenPayload', 'A revoked token.')
builder.objectField(RevokeTokenPayload, 'deletedId', (t) =>
  t.id({
    description: 'Its global id, for caches: remove it from lists of valid tokens.',
    resolve: ({ tokenId }) => encodeGlobalID('Token', tokenId),
  }),
)

mutation({
  name: 'createToken',
  description:
    'Creates a token; for administrators. The administrator of a project creates tokens for that project only.',
  input: CreateTokenInput,
  inputDescription: 'The token to create.',
  payload: CreateTokenPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError, InvalidStateError],
  result: 'The token',
  run: createToken,
})

mutation({
  name: 'revokeToken',
  description:
    'Revokes a token; for administrators. Takes effect within seconds. Agents that use it lose their access.',
  input: RevokeTokenInput,
  inputDescription: 'The token to revoke.',
  payload: RevokeTokenPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The token',
  run: async (context, { tokenId }) => {
    await revokeToken(context, tokenId)
    return { tokenId }
  },
})

/** A payload whose token is read after the commit, with the selected columns. */
function tokenPayload<Extra extends object = object>(name: string, description: string) {
  const ref = builder.objectRef<{ tokenId: string } & Extra>(name)
  builder.objectType(ref, { description })
  builder.objectField(ref, 'token', (t) =>
    t.prismaField({
      type: TokenNode,
      description: 'The token after the change.',
      resolve: (query, { tokenId }, _args, { services }) =>
        services.prisma.apiToken.findUniqueOrThrow({ ...query, where: { id: tokenId } }),
    }),
  )
  return ref
}
