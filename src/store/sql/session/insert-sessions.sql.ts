import type { StatusEventData } from '../../../domain/events.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import { type Actor, ACTOR_COLUMNS, actorValues } from '../access/audit.sql.ts'
import { eventData } from '../event/event-data.sql.ts'
import {
  type NewRetry,
  type NewSession,
  type OwnField,
  RETRY_FIELDS,
  type RetryField,
  SESSION_COLUMNS,
  type SessionField,
} from './session-columns.sql.ts'

/** Fields that are sent in another form than they are stored. */
const STORED: Partial<Record<SessionField, string>> = {
  clusterSize: 'cardinality("kernelIds")',
  retryPolicy: 'p.policy',
  retryPolicySources: 'p.sources',
  epochStartedAt: 'coalesce("epochStartedAt", reprise_now())',
}
const FIELDS = Object.keys(SESSION_COLUMNS) as SessionField[]
const COLUMNS = FIELDS.map((field) => SESSION_COLUMNS[field].column).join(', ')
const storedAs = (field: SessionField) => STORED[field] ?? `"${field}"`
const VALUES = FIELDS.map(storedAs).join(', ')

/** Fields that differ between the sessions of a batch. The others are sent once for all sessions that share them. */
const OF_EACH: ReadonlySet<SessionField> = new Set([
  'id',
  'creationId',
  'creationDigest',
  'name',
  'command',
  'environ',
  'startsAt',
  'parentSessionId',
  'chainId',
  'epochStartedAt',
  'groupIndex',
  'traceParent',
])
const SENT = FIELDS.filter((field) => storedAs(field).includes(`"${field}"`)) as SentField[]
const EACH_FIELDS = SENT.filter((field) => OF_EACH.has(field))
const SHARED_FIELDS = SENT.filter((field) => !OF_EACH.has(field))
type SentField = Exclude<SessionField, 'clusterSize' | 'retryPolicy' | 'retryPolicySources'>

const typed = (fields: readonly SentField[]) =>
  fields.map((field) => `"${field}" ${SESSION_COLUMNS[field].type}`).join(', ')

/** The rows that are inserted with the sessions `inserted` of `input`. */
const WITH_SESSIONS = `outputs AS (
  INSERT INTO session_outputs (session_id, project_id) SELECT id, project_id FROM inserted WHERE outputs IS NOT NULL
), kernels AS (
  INSERT INTO kernels (id, session_id, role, index, resource_slots)
  SELECT kernel.id, i.id, CASE WHEN kernel.position = 1 THEN 'main' ELSE 'sub' END,
    CASE WHEN kernel.position = 1 THEN 1 ELSE kernel.position - 1 END, i."resourceSlots"
  FROM inserted JOIN input i USING (id), unnest(i."kernelIds") WITH ORDINALITY AS kernel(id, position)
), events AS (
  INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT event_position, 'session.created', id, chain_id, project_id,
    ${eventData<StatusEventData>({ from: 'NULL', to: `'PENDING'` })} FROM inserted
)`

/**
 * Inserts sessions with their kernels, dependencies and `session.created` events. Sessions that exist already (by
 * creation id in the project, by parent, or by position in the chain) are left out of the result. If an owner's pending
 * sessions are limited, the session is not inserted but reported as limited, unless it was counted and admitted before.
 * Rows are inserted in the order of creation ids, so two calls that share some wait for each other in one direction
 * only; of two with the same creation id, the first in the batch is inserted. Sessions of one batch mostly share their
 * policy, by far their longest part, and most other fields: each distinct policy, and each distinct set of the shared
 * fields, is sent once. Reading all fields from each session's JSON took a fifth of the statement's time.
 */
const SQL = keepsPlan(`
WITH shared AS MATERIALIZED (
  SELECT * FROM json_to_recordset($6::json) AS s("sharedNumber" int, "policyNumber" int, ${typed(SHARED_FIELDS)})
), input AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS i(
    "place" int, "sharedNumber" int, ${typed(EACH_FIELDS)}, "kernelIds" uuid[], "dependsOnChains" uuid[])
  JOIN shared USING ("sharedNumber")
), limited AS MATERIALIZED (
  SELECT i."projectId" AS project_id, i."userId" AS user_id FROM (SELECT DISTINCT "projectId", "userId" FROM shared) AS i
  WHERE NOT $4 AND EXISTS (SELECT FROM resource_policies q WHERE q.max_pending IS NOT NULL
    AND (q.scope = 'PROJECT' AND q.scope_id = i."projectId" OR q.scope = 'USER' AND q.scope_id = i."userId"
      OR q.scope = 'DOMAIN' AND q.scope_id = (SELECT p.domain_id FROM projects p WHERE p.id = i."projectId")))
), policies AS MATERIALIZED (
  SELECT (p.pair -> 'policy')::jsonb AS policy, (p.pair -> 'sources')::jsonb AS sources, p.number - 1 AS number
  FROM json_array_elements($3::json) WITH ORDINALITY AS p(pair, number)
), inserted AS (
  INSERT INTO sessions (${COLUMNS}, max_retries, retry_decided, created_by, event_position)
  SELECT ${VALUES}, (p.policy ->> 'maxRetries')::int, "sessionType" <> 'BATCH', $2,
    -- The events of a retry come after those of its parent and of the decision.
    greatest((SELECT greatest(s.event_position, d.event_position) FROM sessions s
      LEFT JOIN retry_decisions d ON d.session_id = s.id WHERE s.id = "parentSessionId"), outbox_position(pg_current_xact_id()))
  FROM input JOIN policies p ON p.number = "policyNumber"
  WHERE NOT EXISTS (SELECT FROM limited l
    WHERE l.project_id = "projectId" AND l.user_id IS NOT DISTINCT FROM "userId")
  ORDER BY "projectId", "creationId", "place"
  ON CONFLICT DO NOTHING
  RETURNING id, chain_id, project_id, outputs, event_position
), ${WITH_SESSIONS}, dependencies AS (
  INSERT INTO session_dependencies (session_id, chain_id)
  SELECT i.id, chain FROM inserted JOIN input i USING (id), unnest(i."dependsOnChains") AS chain
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, details)
  SELECT ${actorValues('$5')}, 'session.create', project_id, jsonb_build_object('sessionIds', jsonb_agg(id))
  FROM inserted WHERE $2::text IS NOT NULL GROUP BY project_id
)
SELECT id, false AS limited FROM inserted
UNION ALL
SELECT i."id", true FROM input i
JOIN limited l ON l.project_id = i."projectId" AND l.user_id IS NOT DISTINCT FROM i."userId"`)

export interface InsertedSessions {
  /** Ids of the sessions that were inserted. */
  inserted: Set<string>
  /** Ids of the sessions that must first be counted against a quota. */
  limited: Set<string>
}

/**
 * Inserts sessions. `actor` is the person named in the audit log, null if no person requested them. `admitted` means
 * that limits on pending sessions were checked in this transaction, with their quotas locked.
 */
export async function insertSessions(
  tx: Queryable,
  sessions: readonly NewSession[],
  { actor, admitted }: { actor: Actor | null; admitted: boolean },
): Promise<InsertedSessions> {
  if (sessions.length === 0) return { inserted: new Set(), limited: new Set() }
  const policies = new Numbered()
  const shared = new Numbered()
  const each = sessions.map((session, place) => {
    const policyNumber = policies.numberOf({ policy: session.retryPolicy, sources: session.retryPolicySources })
    const sharedNumber = shared.numberOf({ policyNumber, ...valuesOf(session, SHARED_FIELDS) })
    const { kernelIds, dependsOnChains } = session
    return { place, sharedNumber, ...valuesOf(session, EACH_FIELDS), kernelIds, dependsOnChains }
  })
  const values = [
    JSON.stringify(each),
    actor?.name ?? null,
    `[${policies.texts.join(',')}]`,
    admitted,
    JSON.stringify(actor),
    shared.numbered(),
  ]
  const { rows } = await tx.query<{ id: string; limited: boolean }>(SQL, values)
  const idsOf = (limited: boolean) => new Set(rows.flatMap((row) => (row.limited === limited ? [row.id] : [])))
  return { inserted: idsOf(false), limited: idsOf(true) }
}

/** The fields of an automatic retry that are neither given nor its parent's. */
const OF_RETRIES: Record<Exclude<OwnField, RetryField | 'epoch' | 'epochStartedAt'>, string> = {
  sessionType: `'BATCH'`,
  origin: `'AUTO_RETRY'`,
  creationDigest: 'NULL',
  startsAt: 'NULL',
  portVariable: 'NULL',
}
const GIVEN = new Map<SessionField, string>([
  ...RETRY_FIELDS.map((field) => [field, `i."${field}"`] as const),
  ...(Object.entries(OF_RETRIES) as [SessionField, string][]),
])
const RETRY_VALUES = FIELDS.map((field) => GIVEN.get(field) ?? `p.${SESSION_COLUMNS[field].column}`).join(', ')

const RETRY_OF_EACH: readonly RetryField[] = ['id', 'creationId', 'parentSessionId']
const RETRY_SHARED = RETRY_FIELDS.filter((field) => !RETRY_OF_EACH.includes(field))

/**
 * Inserts automatic retries, with their kernels and events. What they inherit is copied in the database. See above for
 * those that exist already, and for the order.
 */
const RETRIES_SQL = keepsPlan(`
WITH shared AS MATERIALIZED (
  SELECT * FROM json_to_recordset($2::json) AS s("sharedNumber" int, ${typed(RETRY_SHARED)})
), input AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS i("sharedNumber" int, ${typed(RETRY_OF_EACH)}, "kernelIds" uuid[])
  JOIN shared USING ("sharedNumber")
), inserted AS (
  INSERT INTO sessions (${COLUMNS}, max_retries, retry_decided, event_position)
  -- The events of a retry come after those of its parent and of the decision.
  SELECT ${RETRY_VALUES}, p.max_retries, false, greatest(p.event_position, outbox_position(pg_current_xact_id()),
    (SELECT d.event_position FROM retry_decisions d WHERE d.session_id = p.id))
  FROM input i JOIN sessions p ON p.id = i."parentSessionId"
  ORDER BY p.project_id, i."creationId"
  ON CONFLICT DO NOTHING
  RETURNING id, chain_id, project_id, outputs, event_position
), ${WITH_SESSIONS}, dependencies AS (
  INSERT INTO session_dependencies (session_id, chain_id)
  SELECT i.id, chain FROM inserted JOIN input i USING (id),
    unnest(ARRAY(SELECT d.chain_id FROM session_dependencies d WHERE d.session_id = i."parentSessionId")) AS chain
)
SELECT id FROM inserted`)

/** @returns the ids of the retries that were inserted */
export async function insertRetries(tx: Queryable, retries: readonly NewRetry[]): Promise<Set<string>> {
  if (retries.length === 0) return new Set()
  const shared = new Numbered()
  const each = retries.map((retry) => {
    const sharedNumber = shared.numberOf(valuesOf(retry, RETRY_SHARED))
    return { sharedNumber, ...valuesOf(retry, RETRY_OF_EACH), kernelIds: retry.kernelIds }
  })
  const { rows } = await tx.query<{ id: string }>(RETRIES_SQL, [JSON.stringify(each), shared.numbered()])
  return new Set(rows.map(({ id }) => id))
}

/** Values in JSON, each once, numbered from 0. */
class Numbered {
  readonly texts: string[] = []
  readonly #numbers = new Map<string, number>()

  numberOf(value: object): number {
    const text = JSON.stringify(value)
    const known = this.#numbers.get(text)
    if (known !== undefined) return known
    this.#numbers.set(text, this.texts.length)
    return this.texts.push(text) - 1
  }

  /** All of them, each with its number; none is empty. */
  numbered(): string {
    return `[${this.texts.map((text, number) => `{"sharedNumber":${number},${text.slice(1)}`).join(',')}]`
  }
}

/** Without nulls: a field that is missing in the JSON is null in PostgreSQL. */
function valuesOf<Field extends SentField>(session: Pick<NewSession, Field>, fields: readonly Field[]): object {
  const values: Record<string, unknown> = {}
  for (const field of fields) if (session[field] !== null) values[field] = session[field]
  return values
}
