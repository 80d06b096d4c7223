import { v7 as uuidv7 } from 'uuid'
import { RepriseError } from '../../../domain/errors.ts'
import type { Database } from '../../../store/database.ts'
import {
  endBrowserSession,
  insertBrowserSession,
  insertLoginCode,
  removeEndedBrowserSessions,
  takeLoginCode,
} from '../../../store/sql/access/browser-sessions.sql.ts'
import { recordAudit } from '../../../store/sql/access/record-audit.sql.ts'
import type { RequestOrigin, Viewer } from '../../service-context.ts'
import { actorOf } from '../actor.ts'
import { mayRead, noAccess } from '../authorize.ts'
import { browserCredential, hashToken, isToken, newToken, tokenPrefix } from '../tokens.ts'

interface Login {
  /** That the browser has made for it: `isBrowserKey`. */
  key: string
  request: RequestOrigin
}

/**
 * A browser does not keep the token that somebody pastes: it gets one of its own, the child of that one, with the same
 * rights. It ends with its parent, 12 hours after its last use, and after 7 days.
 * @returns the secret for the browser's cookie, which is worth nothing without the key
 * @throws RepriseError FORBIDDEN, UNAUTHENTICATED
 */
export async function logIn(db: Database, viewer: Viewer, login: Login): Promise<string> {
  assertMayLogIn(viewer)
  return addSession(db, login, async () => viewer.tokenId)
}

/**
 * A code with which a browser is logged in once within 60 seconds, as if the token had been pasted. A newer one takes
 * its place.
 * @throws RepriseError FORBIDDEN
 */
export async function issueLoginCode(db: Database, viewer: Viewer): Promise<string> {
  assertMayLogIn(viewer)
  const code = newToken()
  await insertLoginCode(db, hashToken(code), viewer.tokenId)
  return code
}

/** @throws RepriseError UNAUTHENTICATED */
export async function logInByCode(db: Database, code: string, login: Login): Promise<string> {
  return addSession(db, login, async (tx) => {
    const tokenId = isToken(code) ? await takeLoginCode(tx, hashToken(code)) : undefined
    if (tokenId !== undefined) return tokenId
    const message = 'This link has been used, or is older than a minute: `npx reprise ui` makes a new one.'
    throw new RepriseError('UNAUTHENTICATED', message)
  })
}

/** Ends it within seconds on every server. */
export async function logOut(db: Database, viewer: Viewer): Promise<void> {
  const { sessionOf: tokenId, name, projectId } = viewer
  if (!tokenId) return
  await db.transaction(async (tx) => {
    await endBrowserSession(tx, viewer.tokenId)
    await recordAudit(tx, { actor: actorOf(viewer), action: 'browser.logout', projectId, details: { tokenId, name } })
  })
}

async function addSession(
  db: Database,
  { key, request }: Login,
  findParent: (tx: Parameters<typeof insertBrowserSession>[0]) => Promise<string>,
): Promise<string> {
  return db.transaction(async (tx) => {
    const tokenId = await findParent(tx)
    await removeEndedBrowserSessions(tx, tokenId)
    const [id, secret] = [uuidv7(), newToken()]
    const child = {
      id,
      hash: hashToken(browserCredential(secret, key)),
      prefix: tokenPrefix(secret),
      parentId: tokenId,
    }
    const parent = await insertBrowserSession(tx, child)
    if (!parent) throw new RepriseError('UNAUTHENTICATED', 'The token is no longer valid.')
    const { name, projectId, userId } = parent
    const actor = { name, tokenId, userId, requestId: request.id, address: request.address }
    await recordAudit(tx, { actor, action: 'browser.login', projectId, details: { tokenId, name } })
    return secret
  })
}

/** The session of a browser could otherwise make itself another one for ever. */
function assertMayLogIn(viewer: Viewer): void {
  if (!mayRead(viewer)) throw new RepriseError('FORBIDDEN', noAccess(viewer))
  if (viewer.sessionOf) throw new RepriseError('FORBIDDEN', 'A browser logs in with a token, not with its own session.')
}
