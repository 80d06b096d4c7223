import { createToken } from '../../../services/create-token.ts'
import { revokeToken } from '../../../services/revoke-token.ts'
import { builder } from '../../builder.ts'
import { ForbiddenError, NotFoundError, ValidationError } from '../error/error.type.ts'
import { asResult, typeOf } from '../error/result.ts'
import { TokenRoleEnum, TokenType } from './token.type.ts'

const CreateTokenInput = builder.inputType('CreateTokenInput', {
  description: 'A token to make.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'For people: what it is for.' }),
    role: t.field({ type: TokenRoleEnum, required: true, description: 'What it may do.' }),
    project: t.string({
      description: 'By name: the one that it sees. A MEMBER and a VIEWER have one, an AGENT has none.',
    }),
    user: t.string({
      description:
        'By name: whose it is. A token of a project needs a member of it, who may there at least what the token may.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: 'From when on it works no longer. Without it, never.' }),
  }),
})

const RevokeTokenInput = builder.inputType('RevokeTokenInput', {
  description: 'A token to revoke.',
  fields: (t) => ({ tokenId: t.field({ type: 'UUID', required: true, description: 'Which.' }) }),
})

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
      type: TokenType,
      description: 'The token, as it is now.',
      resolve: (query, { tokenId }, _args, { services }) =>
        services.prisma.apiToken.findUniqueOrThrow({ ...query, where: { id: tokenId } }),
    }),
  )
  return ref
}

const CreateTokenPayload = tokenPayload<'CreateTokenPayload', { secret: string }>(
  'CreateTokenPayload',
  'A token that was made.',
)
builder.objectField(CreateTokenPayload, 'secret', (t) =>
  t.exposeString('secret', { description: 'The token itself, shown this once.' }),
)

const RevokeTokenPayload = tokenPayload<'RevokeTokenPayload', object>(
  'RevokeTokenPayload',
  'A token that works no longer.',
)

const CreateTokenResult = builder.unionType('CreateTokenResult', {
  description: 'The token, or what the caller can mend.',
  types: [CreateTokenPayload, ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

const RevokeTokenResult = builder.unionType('RevokeTokenResult', {
  description: 'The token, or what the caller can mend.',
  types: [RevokeTokenPayload, ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationFields((t) => ({
  createToken: t.field({
    type: CreateTokenResult,
    description: 'Makes a token, for administrators; those of one project make them for that one.',
    args: { input: t.arg({ type: CreateTokenInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'CreateTokenPayload' as const,
        ...(await createToken(context, input)),
      })),
  }),
  revokeToken: t.field({
    type: RevokeTokenResult,
    description: 'Ends a token within seconds, for administrators. Agents that came with it are cut off.',
    args: { input: t.arg({ type: RevokeTokenInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input: { tokenId } }, context) =>
      asResult(async () => {
        await revokeToken(context, tokenId)
        return { __typename: 'RevokeTokenPayload' as const, tokenId }
      }),
  }),
}))
