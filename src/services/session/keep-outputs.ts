import { RepriseError } from '../../domain/errors.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { pinOutputs as pin } from '../../store/sql/session/settle-outputs.sql.ts'
import { actorOf, assertMayChange } from '../access/authorize.ts'
import { issueDownloadLink } from '../access/browser-session.ts'
import type { ServiceContext } from '../service-context.ts'
import { requireSessionId } from './read-sessions.ts'
import { requireOutputFile, requireStoredOutputs } from './read-outputs.ts'

/**
 * Pins the outputs of an attempt, so that they do not expire, or unpins them.
 * @throws RepriseError FORBIDDEN, SESSION_NOT_FOUND, OUTPUTS_NOT_FOUND
 */
export async function pinOutputs(
  { db, viewer }: ServiceContext,
  { sessionId }: { sessionId: string },
  pinned: boolean,
): Promise<{ sessionId: string }> {
  assertMayChange(viewer)
  requireSessionId(sessionId)
  await db.transaction(async (tx) => {
    const projectId = await pin(tx, sessionId, { visibleProjectId: viewer.projectId, pinned })
    if (projectId === undefined) throw new RepriseError('OUTPUTS_NOT_FOUND', `session ${sessionId} has no outputs`)
    const action = pinned ? 'outputs.pin' : 'outputs.unpin'
    await recordAudit(tx, { actor: actorOf(viewer), action, projectId, details: { sessionId } })
  })
  return { sessionId }
}

/**
 * Creates a link with which a browser downloads outputs without a token: all of them as an archive, or one file. It
 * works once, within 60 seconds.
 * @throws RepriseError FORBIDDEN, SESSION_NOT_FOUND, OUTPUTS_NOT_FOUND, OUTPUTS_IN_PLACE
 */
export async function createDownload(
  { db, viewer }: ServiceContext,
  { sessionId, path }: { sessionId: string; path?: string | null },
): Promise<{ link: string }> {
  requireSessionId(sessionId)
  await requireStoredOutputs({ db, viewer }, sessionId)
  const base = `/v2/sessions/${sessionId.toLowerCase()}/outputs`
  if (path == null) return linkTo(`${base}.tar`)
  await requireOutputFile({ db }, sessionId, path)
  return linkTo(`${base}/files/${path.split('/').map(encodeURIComponent).join('/')}`)

  async function linkTo(place: string): Promise<{ link: string }> {
    return { link: `${place}?link=${await issueDownloadLink(db, viewer, place)}` }
  }
}
