import type { Actor } from '../../store/sql/access/record-audit.sql.ts'
import type { Viewer } from '../service-context.ts'

/** The viewer, as the audit log names it. */
export function actorOf({ name, tokenId, userId, request }: Viewer): Actor {
  return { name, tokenId, userId, requestId: request?.id ?? null, address: request?.address ?? null }
}

/** For work that a person asked for earlier, in a request that the log has already. */
export function actorNamed(name: string): Actor {
  return { name, tokenId: null, userId: null, requestId: null, address: null }
}
