import { encodeGlobalID } from '@pothos/plugin-relay'
import { createToken } from '../../../services/access/create-token.ts'
import { revokeToken } from '../../../services/access/revoke-token.ts'
import { builder } from '../../builder.ts'
import { asResult, ForbiddenError, InvalidStateError, NotFoundError, typeOf, ValidationError } from '../error.types.ts'
import { TokenNode, TokenRoleEnum } from './token.type.ts'

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
