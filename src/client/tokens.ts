import type { CallOptions, Connection } from './connection/connection.ts'
import {
  AuditLogDocument,
  CreateTokenDocument,
  RevokeTokenDocument,
  TokensDocument,
  ViewerDocument,
} from './operations.generated.ts'
import type { AuditFilter, CreateTokenInput } from './schema-types.generated.ts'
import { allPages } from './pages.ts'
import { payloadOf } from './payload.ts'

export function tokenOperations(connection: Connection) {
  const { request } = connection
  return {
    /** The token in use. @throws ForbiddenError if it is not valid */
    async viewer(options?: CallOptions) {
      return (await request(ViewerDocument, {}, options)).viewer
    },

    /** Newest first, including revoked ones; for administrators. @throws ForbiddenError */
    tokens(options: CallOptions & { idPrefix?: string } = {}) {
      const { idPrefix } = options
      // Null comes with an error, and that is thrown.
      return allPages(async (page) => (await request(TokensDocument, { idPrefix, ...page }, options)).tokens!)
    },

    /** Newest first; for administrators. Those of one project see what concerns it. @throws ForbiddenError */
    auditLog(filter?: AuditFilter, options?: CallOptions) {
      // Null comes with an error, and that is thrown.
      return allPages(async (page) => (await request(AuditLogDocument, { ...page, filter }, options)).auditLog!)
    },

    /** `secret` is the token itself, returned only once. @throws ValidationError, NotFoundError, ForbiddenError */
    async createToken(input: CreateTokenInput, options?: CallOptions) {
      const { secret, token } = payloadOf((await request(CreateTokenDocument, { input }, options)).createToken)
      return { secret, token }
    },

    /** Safe to repeat: a revoked token stays revoked. @throws NotFoundError, ForbiddenError */
    async revokeToken(tokenId: string, options?: CallOptions) {
      const data = await request(RevokeTokenDocument, { input: { tokenId } }, { ...options, idempotent: true })
      return payloadOf(data.revokeToken).token
    },
  }
}
