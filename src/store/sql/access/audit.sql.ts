import type { Queryable } from '../../database.ts'

/**
 * The author of an action, as the audit log records it. Only the ids identify it, because names of tokens are not
 * unique.
 */
export interface Actor {
  name: string
  /** Null if no token requested the action. */
  tokenId: string | null
  userId: string | null
  requestId: string | null
  address: string | null
  /** The reason that it gave for the action. */
  reason?: string
}

interface AuditEntry {
  actor: Actor
  action: string
  projectId: string | null
  sessionId?: string
  details: object
}

/** The columns of an actor in `audit_log`. */
export const ACTOR_COLUMNS = 'actor, token_id, user_id, request_id, address, reason'

/** Builds the values of these columns, from a parameter that holds an actor as JSON. */
export function actorValues(parameter: `$${number}`): string {
  const actor = `${parameter}::jsonb`
  return `${actor} ->> 'name', (${actor} ->> 'tokenId')::uuid, (${actor} ->> 'userId')::uuid, ${actor} ->> 'requestId', ${actor} ->> 'address', ${actor} ->> 'reason'`
}

const SQL = `INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, session_id, details) SELECT ${actorValues('$1')}, $2, $3, $4, $5`

/** Records an entry for a change that several statements make; it must be called in their transaction. */
export async function recordAudit(tx: Queryable, entry: AuditEntry): Promise<void> {
  const { actor, action, projectId, sessionId = null, details } = entry
  await tx.query(SQL, [JSON.stringify(actor), action, projectId, sessionId, JSON.stringify(details)])
}

/** One entry of the audit log. */
export interface AuditRow {
  /** A serial number, in decimal: greater is newer. */
  id: string
  at: Date
  actor: string
  tokenId: string | null
  userId: string | null
  requestId: string | null
  address: string | null
  action: string
  projectId: string | null
  sessionId: string | null
  details: object
  /** The reason that the person gave; null if none. */
  reason: string | null
}

/** A filter of entries; all given conditions must hold. */
export interface AuditConditions {
  /** Null shows every project, and entries that concern none. */
  visibleProjectId: string | null
  /** Numbers of the entries, in decimal. */
  ids?: readonly string[] | undefined
  project?: string | undefined
  tokenId?: string | undefined
  userId?: string | undefined
  sessionId?: string | undefined
  requestId?: string | undefined
  actor?: string | undefined
  /** A part of the actor's name, in upper or lower case. */
  actorContains?: string | undefined
  actions?: readonly string[] | undefined
  /** A part of the action, in upper or lower case. */
  actionContains?: string | undefined
  /** True: only actions of the server itself; false: only actions that a token requested. */
  automatic?: boolean | undefined
  refused?: boolean | undefined
  from?: Date | undefined
  before?: Date | undefined
}

/** Builds the WHERE clause from the given conditions only; otherwise no plan could use an index for them. */
function where(conditions: AuditConditions, values: unknown[]): string {
  const { visibleProjectId, project, tokenId, userId, sessionId, requestId, actor, actions, refused, automatic } =
    conditions
  const parts: string[] = []
  const add = (value: unknown, condition: (parameter: string) => string) => {
    if (value === undefined || value === null) return
    values.push(value)
    parts.push(condition(`$${values.length}`))
  }
  add(visibleProjectId, (id) => `project_id = ${id}::uuid`)
  add(conditions.ids, (ids) => `audit_log.id = ANY(${ids}::int8[])`)
  add(project, (name) => `project_id = (SELECT id FROM projects WHERE name = ${name})`)
  add(tokenId, (id) => `token_id = ${id}::uuid`)
  add(userId, (id) => `user_id = ${id}::uuid`)
  add(sessionId, (id) => `session_id = ${id}::uuid`)
  add(requestId, (id) => `request_id = ${id}`)
  add(actor, (name) => `actor = ${name}`)
  add(actions, (names) => `action = ANY(${names}::text[])`)
  add(conditions.actorContains, (part) => `position(lower(${part}) IN lower(actor)) > 0`)
  add(conditions.actionContains, (part) => `position(lower(${part}) IN lower(action)) > 0`)
  add(conditions.from, (time) => `at >= ${time}::timestamptz`)
  add(conditions.before, (time) => `at < ${time}::timestamptz`)
  if (refused !== undefined) parts.push(refused ? `action = 'refused'` : `action <> 'refused'`)
  if (automatic !== undefined) parts.push(`(token_id IS NULL) IS ${automatic ? 'TRUE' : 'FALSE'}`)
  return parts.length === 0 ? 'true' : parts.join(' AND ')
}

/** A page between two entries, both exclusive. */
interface AuditPage {
  olderThan: string | null
  newerThan: string | null
  /** Begins with the oldest entry instead of the newest. */
  backward: boolean
  limit: number
}

/**
 * Builds the statement of a page. Indexes, in either direction: the primary key, audit_log_project, audit_log_token,
 * audit_log_session, audit_log_refused, audit_log_by_people.
 */
export function auditPageStatement(conditions: AuditConditions, page: AuditPage): { text: string; values: unknown[] } {
  const values: unknown[] = [page.limit]
  const matches = where(conditions, values)
  const bound = (operator: '<' | '>', id: string | null) =>
    id === null ? '' : ` AND id ${operator} $${values.push(id)}::int8`
  const bounds = bound('<', page.olderThan) + bound('>', page.newerThan)
  const text = `
SELECT id::text, at, actor, token_id AS "tokenId", user_id AS "userId", request_id AS "requestId", address, action,
  project_id AS "projectId", session_id AS "sessionId", details, reason
FROM audit_log WHERE ${matches}${bounds} ORDER BY audit_log.id ${page.backward ? 'ASC' : 'DESC'} LIMIT $1`
  return { text, values }
}

export async function readAuditPage(db: Queryable, conditions: AuditConditions, page: AuditPage): Promise<AuditRow[]> {
  const { text, values } = auditPageStatement(conditions, page)
  return (await db.query<AuditRow>(text, values)).rows
}

export async function countAudit(db: Queryable, conditions: AuditConditions): Promise<number> {
  const values: unknown[] = []
  const text = `SELECT count(*) AS count FROM audit_log WHERE ${where(conditions, values)}`
  return (await db.query<{ count: number }>(text, values)).rows[0]!.count
}
