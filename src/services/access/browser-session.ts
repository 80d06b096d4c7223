import { newId } from '../../store/new-id.ts'
import { RepriseError } from '../../domain/errors.ts'
import type { Database } from '../../store/database.ts'
import {
  endBrowserSession,
  findTokenById,
  insertBrowserSession,
  insertDownloadLink,
  insertLoginCode,
  removeEndedBrowserSessions,
  takeDownloadLink,
  takeLoginCode,
} from '../../store/sql/access/tokens.sql.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import type { RequestOrigin, Viewer } from '../service-context.ts'
import { actorOf, mayRead, noAccess } from './authorize.ts'
import { browserCredential, hashToken, isToken, newToken, tokenPrefix } from './tokens.ts'
import { DOWNLOAD_LINKS_PER_BROWSER_MAX } from '../../domain/limits.ts'
import { readForServer } from '../consistent-reads.ts'
import { viewerOf } from './authenticate.ts'

interface Login {
  /** A key that the browser has made for this login, see `isBrowserKey`. */
  key: string
  request: RequestOrigin
}

/**
 * Logs a browser in. The browser does not store the pasted token: it gets its own, a child of that token with the same
 * rights. The child ends with its parent, 12 hours after its last use, and after 7 days.
 * @returns the secret for the browser's cookie, which is useless without the key
 * @throws RepriseError FORBIDDEN, UNAUTHENTICATED
 */
export async function logIn(db: Database, viewer: Viewer, login: Login): Promise<string> {
  assertMayLogIn(viewer)
  return addSession(db, login, async () => viewer.tokenId)
}

/**
 * Issues a code that logs a browser in once, within 60 seconds, as if the token had been pasted. A newer code replaces
 * it.
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

/** Ends the browser's token within seconds on every server. */
export async function logOut(db: Database, viewer: Viewer): Promise<void> {
  const { sessionOf: tokenId, name, projectId } = viewer
  if (!tokenId) return
  await db.transaction(async (tx) => {
    await endBrowserSession(tx, viewer.tokenId)
    await recordAudit(tx, { actor: actorOf(viewer), action: 'browser.logout', projectId, details: { tokenId, name } })
  })
}

/** Paths that browsers may download from; they answer with a file. */
const DOWNLOADS =
  /^\/v2\/(?:kernels\/[\da-f-]{36}\/log(?:\?stream=(?:stdout|stderr))?|chains\/[\da-f-]{36}\/log|sessions\/[\da-f-]{36}\/outputs(?:\.tar|\/files\/[^?#]+))$/i

/**
 * Issues a code for one download. A browser follows a link without the key of its page, so the page requests a code
 * first. The code opens this path once within 60 seconds, with the rights of the page's login, and ends with that
 * login.
 * @throws RepriseError FORBIDDEN, NO_SUCH_PATH
 */
export async function issueDownloadLink(db: Database, viewer: Viewer, path: string): Promise<string> {
  if (!mayRead(viewer)) throw new RepriseError('FORBIDDEN', noAccess(viewer))
  if (!DOWNLOADS.test(path)) throw new RepriseError('NO_SUCH_PATH', 'Nothing is downloaded from this path.')
  const code = newToken()
  await insertDownloadLink(db, {
    hash: hashOf(code, path),
    tokenId: viewer.tokenId,
    max: DOWNLOAD_LINKS_PER_BROWSER_MAX,
  })
  return code
}

/**
 * Uses up a download code and returns its viewer.
 * @throws RepriseError UNAUTHENTICATED
 */
export async function followDownloadLink(db: Database, code: string, path: string): Promise<Viewer> {
  const mayBe = isToken(code) && DOWNLOADS.test(path)
  const viewer = mayBe ? await readForServer(() => take(db, hashOf(code, path))) : null
  if (viewer) return viewer
  const message = 'This link has been used, or is older than a minute, or its login has ended: download it again.'
  throw new RepriseError('UNAUTHENTICATED', message)
}

async function addSession(
  db: Database,
  { key, request }: Login,
  findParent: (tx: Parameters<typeof insertBrowserSession>[0]) => Promise<string>,
): Promise<string> {
  return db.transaction(async (tx) => {
    const tokenId = await findParent(tx)
    await removeEndedBrowserSessions(tx, tokenId)
    const [id, secret] = [newId(), newToken()]
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

/** Refuses logins with a browser's own session; otherwise it could renew itself for ever. */
function assertMayLogIn(viewer: Viewer): void {
  if (!mayRead(viewer)) throw new RepriseError('FORBIDDEN', noAccess(viewer))
  if (viewer.sessionOf) throw new RepriseError('FORBIDDEN', 'A browser logs in with a token, not with its own session.')
}

async function take(db: Database, hash: Buffer): Promise<Viewer | null> {
  const tokenId = await takeDownloadLink(db, hash)
  const row = tokenId === undefined ? undefined : await findTokenById(db, tokenId)
  return row ? viewerOf(row) : null
}

/** Hashes code and path together, so that a code for one path is invalid for any other. */
function hashOf(code: string, path: string): Buffer {
  return hashToken(`${code} ${path}`)
}
