import { createUser } from '../../../services/access/create-tenants.ts'
import { builder } from '../../builder.ts'
import { asResult, ConflictError, ForbiddenError, typeOf, ValidationError } from '../error.types.ts'
import { UserNode } from './user.type.ts'

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
