import type { CodeRequest } from '../../../domain/agent/protocol.ts'
import type {
  InputRequest,
  OutputFile,
  OutputsPlace,
  OutputsRequest,
  OutputsState,
} from '../../../domain/session/outputs.ts'
import type { SessionResult, SessionStatus } from '../../../domain/session/lifecycle.ts'
import type { OutputsEventData } from '../../../domain/events.ts'
import type { Queryable } from '../../database.ts'
import { eventData } from '../event/event-data.sql.ts'

/** The outputs of a session as they are shown. */
export interface OutputsRow {
  sessionId: string
  projectId: string
  attempt: number
  status: SessionStatus
  result: SessionResult
  /** Null if the session asked for none, but its program wrote some. */
  request: OutputsRequest | null
  state: OutputsState
  /** The id: the SHA-256 of the list of files. */
  manifest: string | null
  bytes: number
  files: number
  reasons: string[]
  completedAt: Date | null
  /** Where the files stay; null if the servers have their contents. */
  place: OutputsPlace | null
  /** Null if they do not expire, because they are pinned, are the chain's newest complete ones, or have no limit. */
  expiresAt: Date | null
  isPinned: boolean
}

/** The newest complete outputs of a chain are kept as long as the chain. Index: sessions(chain_id, attempt). */
export const IS_NEWEST_COMPLETE = `(o.state = 'COMPLETE' AND NOT EXISTS (
    SELECT FROM sessions later JOIN session_outputs n ON n.session_id = later.id AND n.state = 'COMPLETE'
    WHERE later.chain_id = s.chain_id AND later.attempt > s.attempt))`

/** Indexes: primary keys, and the above. */
const OUTPUTS_SQL = `
SELECT s.id AS "sessionId", s.project_id AS "projectId", s.attempt, s.status, s.result, s.outputs AS request, o.manifest,
  CASE WHEN o.state = 'WAITING' AND s.status = 'CANCELLED' THEN 'NONE' ELSE o.state END AS state,
  o.bytes::float8 AS bytes, o.files, o.reasons, o.completed_at AS "completedAt", o.pinned_at IS NOT NULL AS "isPinned",
  CASE WHEN o.directory IS NOT NULL AND o.files > 0 THEN json_build_object('node', o.node, 'directory', o.directory) END AS place,
  CASE WHEN o.pinned_at IS NULL AND NOT ${IS_NEWEST_COMPLETE} THEN o.expires_at END AS "expiresAt"
FROM session_outputs o JOIN sessions s ON s.id = o.session_id
WHERE o.session_id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR s.project_id = $2)`

/** Reads the outputs of these sessions, as far as they have some and belong to the project; null for any project. */
export async function readOutputs(
  db: Queryable,
  sessionIds: readonly string[],
  projectId: string | null,
): Promise<OutputsRow[]> {
  return (await db.query<OutputsRow>(OUTPUTS_SQL, [sessionIds, projectId])).rows
}

const FILE_COLUMNS = `path, bytes::float8 AS bytes, mode, sha256, target,
  to_char(modified_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "modifiedAt"`

/** Index: the primary key. */
const FILES_SQL = `
SELECT ${FILE_COLUMNS} FROM output_files WHERE session_id = $1 AND path > $2 ORDER BY path LIMIT $3`

/** Reads files in the order of their paths, beginning after the path `after`. */
export async function readOutputFiles(
  db: Queryable,
  { sessionId, after, limit }: { sessionId: string; after: string; limit: number },
): Promise<OutputFile[]> {
  return (await db.query<OutputFile>(FILES_SQL, [sessionId, after, limit])).rows
}

const FILE_SQL = `SELECT ${FILE_COLUMNS} FROM output_files WHERE session_id = $1 AND path = $2`

export async function readOutputFile(db: Queryable, sessionId: string, path: string): Promise<OutputFile | undefined> {
  return (await db.query<OutputFile>(FILE_SQL, [sessionId, path])).rows[0]
}

/** Outputs that another session receives. */
export interface InputSource {
  chainId: string
  sessionId: string
  state: OutputsState
  reasons: string[]
  place: OutputsPlace | null
}

/** Outputs of other projects are missing. Indexes: primary keys, sessions(chain_id, attempt). */
const SOURCES_SQL = `
SELECT s.inputs, coalesce((SELECT json_agg(json_build_object('chainId', source.chain_id, 'sessionId', source.id, 'state', o.state,
    'reasons', o.reasons, 'place', CASE WHEN o.directory IS NOT NULL THEN json_build_object('node', o.node, 'directory', o.directory) END))
  FROM (SELECT DISTINCT (i ->> 'chainId')::uuid AS chain_id FROM jsonb_array_elements(s.inputs) AS i) AS wanted
  CROSS JOIN LATERAL (SELECT f.id, f.chain_id FROM sessions f
    WHERE f.chain_id = wanted.chain_id AND f.project_id = s.project_id AND f.result = 'SUCCESS'
    ORDER BY f.attempt DESC LIMIT 1) AS source
  JOIN session_outputs o ON o.session_id = source.id), '[]') AS sources
FROM kernels k JOIN sessions s ON s.id = k.session_id
WHERE k.id = $1 AND k.agent_id = $2 AND k.assignment = $3 AND k.terminated_at IS NULL`

/** Reads the inputs of a kernel that its agent has now, and where they come from; undefined for any other kernel. */
export async function readInputSources(
  db: Queryable,
  { kernelId, agentId, assignment }: CodeRequest,
): Promise<{ inputs: InputRequest[]; sources: InputSource[] } | undefined> {
  const values = [kernelId, agentId, assignment]
  return (await db.query<{ inputs: InputRequest[]; sources: InputSource[] }>(SOURCES_SQL, values)).rows[0]
}

/** Builds `data` of the event that outputs are settled, from columns of `session_outputs`. */
export function outputsEventData(): string {
  return eventData<OutputsEventData>({ state: 'state', files: 'files', bytes: 'bytes' })
}
