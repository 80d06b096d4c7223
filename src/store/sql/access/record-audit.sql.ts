import type { Queryable } from '../../database.ts'

/** Who did something, as it is written down. Only the ids are certain: names of tokens are not unique. */
export interface Actor {
  name: string
  /** Null where no token asked for it. */
  tokenId: string | null
  userId: string | null
  requestId: string | null
  address: string | null
}

export interface AuditEntry {
  actor: Actor
  action: string
  projectId: string | null
  sessionId?: string
  details: object
}

/** The columns of an actor in `audit_log`. */
export const ACTOR_COLUMNS = 'actor, token_id, user_id, request_id, address'

/** Their values, from a parameter that holds an actor as JSON. */
export function actorValues(parameter: `$${number}`): string {
  const actor = `${parameter}::jsonb`
  return `${actor} ->> 'name', (${actor} ->> 'tokenId')::uuid, (${actor} ->> 'userId')::uuid, ${actor} ->> 'requestId', ${actor} ->> 'address'`
}

const SQL = `INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, session_id, details) SELECT ${actorValues('$1')}, $2, $3, $4, $5`

/** For changes made by several statements; call it in their transaction. */
export async function recordAudit(tx: Queryable, entry: AuditEntry): Promise<void> {
  const { actor, action, projectId, sessionId = null, details } = entry
  await tx.query(SQL, [JSON.stringify(actor), action, projectId, sessionId, JSON.stringify(details)])
}
