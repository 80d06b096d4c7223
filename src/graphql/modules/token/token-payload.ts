import { builder } from '../../builder.ts'
import { TokenType } from './token.type.ts'

interface TokenPayload<Name extends string> {
  __typename: Name
  tokenId: string
}

/** A payload whose token is read after the commit, in one read shaped by the selection. */
export function tokenPayload<Name extends string, Extra extends object>(name: Name, description: string) {
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
