import { RepriseError } from '../../../domain/errors.ts'
import { DOWNLOAD_LINKS_PER_BROWSER_MAX } from '../../../domain/limits.ts'
import type { Database } from '../../../store/database.ts'
import { insertDownloadLink, takeDownloadLink } from '../../../store/sql/access/browser-sessions.sql.ts'
import { findTokenById } from '../../../store/sql/access/tokens.sql.ts'
import { readForServer } from '../../consistent-reads.ts'
import type { Viewer } from '../../service-context.ts'
import { viewerOf } from '../authenticate.ts'
import { mayRead, noAccess } from '../authorize.ts'
import { hashToken, isToken, newToken } from '../tokens.ts'

/** What browsers download: paths that answer with a file. */
const DOWNLOADS = /^\/v2\/kernels\/[\da-f-]{36}\/log(?:\?stream=(?:stdout|stderr))?$/i

/**
 * A browser follows a link without the key of the page that it is on. So that page asks for a code first: it opens this
 * path once within 60 seconds, with the rights of the page's login, and ends with that.
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

/** Whose link it is. It is used up. @throws RepriseError UNAUTHENTICATED */
export async function followDownloadLink(db: Database, code: string, path: string): Promise<Viewer> {
  const mayBe = isToken(code) && DOWNLOADS.test(path)
  const viewer = mayBe ? await readForServer(() => take(db, hashOf(code, path))) : null
  if (viewer) return viewer
  const message = 'This link has been used, or is older than a minute, or its login has ended: download it again.'
  throw new RepriseError('UNAUTHENTICATED', message)
}

async function take(db: Database, hash: Buffer): Promise<Viewer | null> {
  const tokenId = await takeDownloadLink(db, hash)
  const row = tokenId === undefined ? undefined : await findTokenById(db, tokenId)
  return row ? viewerOf(row) : null
}

/** A code of one path is none of another. */
function hashOf(code: string, path: string): Buffer {
  return hashToken(`${code} ${path}`)
}
