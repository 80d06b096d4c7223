import { RepriseError } from '../../domain/errors.ts'
import type { Viewer } from '../service-context.ts'
import type { Authenticate } from './authenticate.ts'

/**
 * Who asks, by an `Authorization` header.
 * @throws RepriseError UNAUTHENTICATED, TOO_MANY_REQUESTS
 */
export async function identifyBearer(
  authenticate: Authenticate,
  authorization: unknown,
  address: string | undefined,
): Promise<{ viewer: Viewer; token: string }> {
  const token = bearerToken(authorization)
  const viewer = token === undefined ? null : await authenticate(token, address)
  if (token !== undefined && viewer) return { viewer, token }
  throw new RepriseError('UNAUTHENTICATED', 'A valid token is needed: `Authorization: Bearer …`.')
}

function bearerToken(authorization: unknown): string | undefined {
  return typeof authorization === 'string' ? /^Bearer +(\S+)$/i.exec(authorization.trim())?.[1] : undefined
}
