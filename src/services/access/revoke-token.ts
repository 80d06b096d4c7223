import { validate } from 'uuid'
import { RepriseError } from '../../domain/errors.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { revokeTokenRow } from '../../store/sql/access/tokens.sql.ts'
import { assertMayAdminister } from './authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from './actor.ts'
import { refuseInput } from '../input/parse-input.ts'

/**
 * The token stops working on every server within a few seconds, for which servers cache valid tokens. Revoking it again
 * changes nothing. A token cannot revoke itself, so that an administrator remains.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, TOKEN_NOT_FOUND
 */
export async function revokeToken({ db, viewer }: ServiceContext, tokenId: string): Promise<void> {
  assertMayAdminister(viewer, 'PROJECT')
  if (tokenId === viewer.tokenId || tokenId === viewer.sessionOf) {
    const message = 'A token does not revoke itself: use another'
    refuseInput([{ path: 'tokenId', message }])
  }
  await db.transaction(async (tx) => {
    const token = validate(tokenId) ? await revokeTokenRow(tx, tokenId, viewer.projectId) : undefined
    if (!token) throw new RepriseError('TOKEN_NOT_FOUND', `no token ${tokenId.slice(0, 100)}`)
    const { name, projectId } = token
    await recordAudit(tx, { actor: actorOf(viewer), action: 'token.revoke', projectId, details: { tokenId, name } })
  })
}
