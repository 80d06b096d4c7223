import { Prisma, type RetryDecision, type Session } from '../../../generated/prisma/client.ts'
import { keepsPlanIfUsual, type Queryable } from '../../database.ts'
import type { FoundCheckpoint } from '../../../domain/agent/checkpoint.ts'

export type SessionKey = 'id' | 'parentSessionId' | 'chainId'

/** The selected columns by their Prisma names. */
export interface PlainSelection {
  session: readonly string[]
  /** Null if the decision is not selected. */
  decision: readonly string[] | null
}

/**
 * Collects the columns of sessions and decisions in a selection; undefined if it selects anything that these statements
 * do not read.
 */
export function plainSelection(select: Prisma.SessionSelect): PlainSelection | undefined {
  const { decision, ...rest } = select
  const session = columnsIn(rest, Prisma.SessionScalarFieldEnum)
  const ofDecision = typeof decision === 'object' ? (decision.select ?? {}) : decision ? null : {}
  const columns = ofDecision && columnsIn(ofDecision, Prisma.RetryDecisionScalarFieldEnum)
  if (!session || !columns) return undefined
  return { session, decision: decision ? columns : null }
}

function columnsIn(select: object, known: object): string[] | undefined {
  const wanted = Object.entries(select).filter(([, asked]) => asked !== false && asked !== undefined)
  return wanted.every(([name, asked]) => asked === true && name in known) ? wanted.map(([name]) => name) : undefined
}

/** The column's name in the database. */
function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

const statements = new Map<string, string>()
/** Clients choose the selections, so the cache is bounded. */
const STATEMENTS_MAX = 1_000

function statementFor(by: SessionKey, { session, decision }: PlainSelection): string {
  const columns = session.map((name) => `s.${columnOf(name)} AS "${name}"`)
  const joined = (decision ?? []).map((name) => `d.${columnOf(name)} AS "${DECISION}${name}"`)
  const known = decision ? ['d.session_id AS "decision"'] : []
  return `SELECT ${[...columns, ...joined, ...known].join(', ')} FROM sessions s
${decision ? 'LEFT JOIN retry_decisions d ON d.session_id = s.id' : ''}
WHERE s.${columnOf(by)} = ANY($1::uuid[]) AND ($2::uuid IS NULL OR s.project_id = $2) ORDER BY s.attempt`
}

const DECISION = 'decision.'

/** A row; `decision` is the session id of the decision, null if there is none. */
type SelectedRow = Partial<Session> & {
  [Name in keyof RetryDecision as `${typeof DECISION}${Name}`]?: RetryDecision[Name] | null
} & { decision?: string | null }

/**
 * Reads sessions of one project (null for all projects) by a key, oldest attempt first, with the selected columns, in
 * the shape that Prisma would return. One statement, at a fifth of Prisma's CPU time: most requests to this server are
 * of this kind. Indexes: primary keys, sessions(chain_id, attempt), sessions(parent_session_id).
 */
export async function readPlainSessions(
  db: Queryable,
  read: { projectId: string | null; by: SessionKey; values: readonly string[]; selection: PlainSelection },
): Promise<Session[]> {
  const { projectId, by, values, selection } = read
  const key = `${by} ${selection.session.join()} ${selection.decision?.join()}`
  let statement = statements.get(key)
  if (statement === undefined) {
    statement = statementFor(by, selection)
    if (statements.size < STATEMENTS_MAX) statements.set(key, statement)
  }
  const { rows } = await db.query<SelectedRow>(keepsPlanIfUsual(statement), [values, projectId])
  if (selection.decision) for (const row of rows) gatherDecision(row, selection.decision)
  return rows as unknown as Session[]
}

function gatherDecision(row: Record<string, unknown>, columns: readonly string[]): void {
  const decision: Record<string, unknown> = {}
  for (const name of columns) {
    decision[name] = row[DECISION + name]
    delete row[DECISION + name]
  }
  row['decision'] = row['decision'] === null ? null : decision
}

const READ_CHILD_IDS_SQL = `
SELECT parent_session_id AS "parentId", id FROM sessions WHERE parent_session_id = ANY($1::uuid[])`

/** Reads the child's id by the parent's. */
export async function readChildIds(tx: Queryable, parentIds: readonly string[]): Promise<Map<string, string>> {
  if (parentIds.length === 0) return new Map()
  const { rows } = await tx.query<{ parentId: string; id: string }>(READ_CHILD_IDS_SQL, [parentIds])
  return new Map(rows.map(({ parentId, id }) => [parentId, id]))
}

/** The checkpoint of earlier attempts that a session found. */
export interface FoundCheckpointRow {
  sessionId: string
  state: FoundCheckpoint['state']
  fromAttempt: number | null
  store: string | null
  bytes: number | null
  publishedAt: Date | null
  /** Why the checkpoint is missing, as text. */
  note: string | null
}

const SQL = `
SELECT session_id AS "sessionId", state, from_attempt AS "fromAttempt", store, bytes, published_at AS "publishedAt", note
FROM session_checkpoints WHERE session_id = ANY($1::uuid[])`

/** Reads the found checkpoints of sessions; a session that had none to find has no row. */
export async function readFoundCheckpoints(
  db: Queryable,
  sessionIds: readonly string[],
): Promise<FoundCheckpointRow[]> {
  return (await db.query<FoundCheckpointRow>(SQL, [sessionIds])).rows
}

/** Index: kernels_session_id_role_index_key. */
const READ_START_NOTES = `
SELECT DISTINCT ON (session_id) session_id AS "sessionId", note FROM kernels
WHERE session_id = ANY($1::uuid[]) AND note IS NOT NULL
ORDER BY session_id, role, "index"`

/** Index: kernels_session_id_role_index_key. */
const READ_PROGRESS = `
SELECT DISTINCT ON (session_id) session_id AS "sessionId", progress AS line, progress_at AS at FROM kernels
WHERE session_id = ANY($1::uuid[]) AND progress IS NOT NULL
ORDER BY session_id, role, "index"`

/** The progress that a session's program has told last. */
export interface ProgressRow {
  sessionId: string
  line: string
  /** When this line was first reported. */
  at: Date
}

/** Reads what the programs of sessions tell about their progress: of the first kernel that tells any. */
export async function readProgress(db: Queryable, sessionIds: readonly string[]): Promise<ProgressRow[]> {
  return (await db.query<ProgressRow>(READ_PROGRESS, [sessionIds])).rows
}

/** Reads the progress of sessions before they run, in the words of the agent of the first kernel that reports any. */
export async function readStartNotes(
  db: Queryable,
  sessionIds: readonly string[],
): Promise<{ sessionId: string; note: string }[]> {
  return (await db.query<{ sessionId: string; note: string }>(READ_START_NOTES, [sessionIds])).rows
}
