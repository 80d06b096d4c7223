import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import {
  readRecords,
  type ClientCall,
  type ClientRecord,
  type EventRecord,
  type Moment,
  type SeenAttempt,
  type StormRecord,
} from '../records.ts'
import type { Terms } from '../terms.ts'

/** Everything that the judge looks at: what kernels, clients and the storm wrote down themselves, and the tables. */
export interface Evidence {
  runs: readonly Run[]
  calls: readonly Call[]
  /** By subscriber. */
  received: readonly (readonly EventRecord[])[]
  storm: readonly StormRecord[]
  terms: Terms
  clock: Clock
  /** Also what has been removed since. */
  sessions: readonly SessionRow[]
  kernels: readonly KernelRow[]
  decisions: ReadonlyMap<string, DecisionRow>
  /** Those that are kept, by session. */
  outputs: ReadonlyMap<string, OutputsRow>
  /** What the servers have stored, by the name of its file: the SHA-256 of what is in it. */
  stored: ReadonlyMap<string, string>
  /** In the order of the outbox. */
  events: readonly EventRow[]
  /** When an agent was LOST and heard again, by its name; in milliseconds of the database's clock. */
  leases: readonly LeaseRow[]
  removed: readonly RemovedRow[]
  /** Milliseconds of the database's clock. */
  endedAt: number
  settledAt: number
}

/** The life of one process of a kernel, by its own lines. */
export interface Run {
  file: string
  bootId: string
  chainId: string
  sessionId: string
  kernelId: string
  attempt: number
  /** The working directory. */
  directory: string
  /** Uptime in seconds. */
  firstAt: number
  lastAt: number
  /** By the clock that its agent has. */
  movedFirstAt: number
  movedLastAt: number
  /** The code with which it said that it ends; null if something ended it. */
  endedWith: number | null
  /** Whether it received SIGTERM. */
  told: boolean
  /** The outputs that it has written whole. */
  wrote: readonly OutputName[]
  /** Lines that do not agree with the first about who it is. */
  torn: number
}

export const OUTPUT_NAMES = ['first', 'last'] as const
export type OutputName = (typeof OUTPUT_NAMES)[number]

export interface Call {
  client: string
  call: ClientCall
  askedAt: Moment
  /** Null if it was never heard of again. */
  answeredAt: Moment | null
  outcome: 'done' | 'refused' | 'unknown'
  creationId: string | null
  /** Asked about, or of the answer. */
  sessionId: string | null
  clientKey: string | null
  epoch: number | null
  children: readonly string[]
  attempts: readonly SeenAttempt[]
  isGone: boolean
  /** Of the call in its client's file. */
  number: number
  linkOf: number | null
  httpStatus: number | null
  message: string
}

export interface SessionRow {
  id: string
  name: string
  chainId: string
  parentId: string | null
  creationId: string
  attempt: number
  epoch: number
  origin: 'INITIAL' | 'AUTO_RETRY' | 'RESUBMISSION'
  status: string
  result: string
  exitCode: number | null
  cause: string | null
  reason: string | null
  retryCount: number
  maxRetries: number
  batchTimeout: number | null
  terminatedBy: string | null
  clusterSize: number
  /** How often it was placed again because its agent was lost before its start was known. */
  reschedules: number
  /** Whether it has begun, as far as the server knows. */
  started: boolean
  /** Milliseconds. */
  createdAt: number
  terminatedAt: number | null
}

export interface LeaseRow {
  agent: string
  to: string
  at: number
}

/** A row that retention has removed. */
export interface RemovedRow {
  source: 'sessions' | 'kernels' | 'retry_decisions' | 'session_events'
  at: number
  xid: string
  id: string
  sessionId: string | null
  /** Of an event: when it happened. */
  occurredAt: number | null
}

export interface KernelRow {
  id: string
  /** Null if it was never given to one. */
  agent: string | null
  sessionId: string
  status: string
  exitCode: number | null
  stopped: boolean
  confirmedGone: boolean
  slotsHeld: boolean
  reason: string | null
  /** When it was given to its agent, for the last time; in milliseconds of the database's clock. Null if unknown. */
  givenAt: number | null
}

export interface DecisionRow {
  sessionId: string
  phase: string
  childId: string | null
}

export interface OutputsRow {
  sessionId: string
  state: string
  reasons: readonly string[]
  files: readonly { path: string; sha256: string; bytes: number }[]
}

export interface EventRow {
  cursor: string
  type: string
  sessionId: string
  chainId: string
  from: string | null
  to: string | null
  childId: string | null
}

/** The rows that are there, and those that were removed. Those of other tables are left out before anything is read. */
const everIn = (table: string) =>
  `(SELECT * FROM ${table} UNION ALL
    SELECT (jsonb_populate_record(NULL::${table}, data)).*
    FROM (SELECT data FROM seeds.removed WHERE source = '${table}' OFFSET 0) AS own)`

const SESSIONS = `SELECT id, name, chain_id AS "chainId", parent_session_id AS "parentId", creation_id AS "creationId", attempt,
  epoch, origin, status, result, exit_code AS "exitCode", failure_cause AS cause, status_reason AS reason,
  retry_count AS "retryCount", max_retries AS "maxRetries", batch_timeout AS "batchTimeout", terminated_by AS "terminatedBy", reschedules, started_at IS NOT NULL AS started,
  cluster_size AS "clusterSize", (extract(epoch FROM created_at) * 1000)::float8 AS "createdAt",
  (extract(epoch FROM terminated_at) * 1000)::float8 AS "terminatedAt"
  FROM ${everIn('sessions')} AS sessions ORDER BY chain_id, attempt, id`
const KERNELS = `SELECT k.id, a.name AS agent, session_id AS "sessionId", k.status, exit_code AS "exitCode", stopped,
  confirmed_gone AS "confirmedGone", slots_held AS "slotsHeld", reason, (SELECT
    (extract(epoch FROM max(e.occurred_at)) * 1000)::float8 FROM session_events e
    WHERE e.session_id = k.session_id AND e.type = 'session.status_changed' AND e.data ->> 'to' = 'SCHEDULED') AS "givenAt"
  FROM ${everIn('kernels')} AS k LEFT JOIN agents a ON a.id = k.agent_id`
const DECISIONS = `SELECT session_id AS "sessionId", phase, child_session_id AS "childId" FROM ${everIn('retry_decisions')} AS d`
const EVENTS = `SELECT e.xid || ':' || e.id AS place, type, session_id AS "sessionId", chain_id AS "chainId",
  data ->> 'from' AS from, data ->> 'to' AS to, data ->> 'childSessionId' AS "childId"
  FROM ${everIn('session_events')} AS e WHERE session_id IS NOT NULL ORDER BY e.xid, e.id`
const OUTPUTS = `SELECT o.session_id AS "sessionId", o.state, o.reasons, coalesce((
    SELECT json_agg(json_build_object('path', f.path, 'sha256', f.sha256, 'bytes', f.bytes))
    FROM output_files f WHERE f.session_id = o.session_id), '[]') AS files
  FROM session_outputs o`

const LEASES = `SELECT a.name AS agent, to_status AS to, (extract(epoch FROM last_at) * 1000)::float8 AS at
  FROM scheduling_history h JOIN agents a ON a.id = h.entity_id WHERE h.entity = 'AGENT' AND to_status IS NOT NULL`
const REMOVED = `SELECT source, xid::text, data ->> 'id' AS id, (extract(epoch FROM at) * 1000)::float8 AS at,
  coalesce(data ->> 'session_id', data ->> 'sessionId') AS "sessionId",
  (extract(epoch FROM (data ->> 'occurred_at')::timestamptz) * 1000)::float8 AS "occurredAt" FROM seeds.removed`
const NOW = `SELECT (extract(epoch FROM reprise_now()) * 1000)::float8 AS at`

/** How far the clock was ahead that all programs have, and what the database's clock was. */
export interface Clock {
  /** In seconds, at this uptime of the machine: at the least, and at the most. */
  aheadLeast(up: number): number
  aheadMost(up: number): number
  /** The latest that the database's clock can have shown at this uptime, in milliseconds. */
  databaseMost(up: number): number
  databaseLeast(up: number): number
}

function clockOf(storm: readonly StormRecord[]): Clock {
  const moves = storm.filter((record) => record.kind === 'clock')
  const done = moves.filter((move) => move.done)
  const ahead = (among: typeof moves, up: number) => (among.findLast(({ at }) => at.up <= up)?.aheadMs ?? 0) / 1000
  const { wall, up: first } = storm[0]!.at
  const aheadLeast = (up: number) => ahead(done, up)
  const aheadMost = (up: number) => ahead(moves, up)
  const databaseOf = (up: number, seconds: number) => wall + (up - first + seconds) * 1000
  return {
    aheadLeast,
    aheadMost,
    databaseMost: (up) => databaseOf(up + RESOLUTION_SECONDS, aheadMost(up)),
    databaseLeast: (up) => databaseOf(up - RESOLUTION_SECONDS, aheadLeast(up)),
  }
}

/** Of the machine's uptime. */
const RESOLUTION_SECONDS = 0.02

export async function readEvidence(directory: string, databaseUrl: string): Promise<Evidence> {
  const records = join(directory, 'records')
  const names = (await readdir(records)).toSorted()
  const clients = names.filter((name) => name.startsWith('client-'))
  const subscribers = names.filter((name) => name.startsWith('subscriber-'))
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const rows = async <Row extends pg.QueryResultRow>(text: string) => (await client.query<Row>(text)).rows
    const decisions = await rows<DecisionRow>(DECISIONS)
    const events = await rows<Omit<EventRow, 'cursor'> & { place: string }>(EVENTS)
    const storm = await readRecords<StormRecord>(join(records, 'storm.ndjson'))
    const clock = clockOf(storm)
    const settled = storm.find((record) => record.kind === 'settled')
    return {
      runs: await readRuns(join(directory, 'lines')),
      calls: (await Promise.all(clients.map((name) => readCalls(join(records, name), name)))).flat(),
      received: await Promise.all(subscribers.map((name) => readRecords<EventRecord>(join(records, name)))),
      storm,
      terms: storm.find((record) => record.kind === 'terms')!.terms,
      clock,
      sessions: await rows<SessionRow>(SESSIONS),
      kernels: await rows<KernelRow>(KERNELS),
      outputs: new Map((await rows<OutputsRow>(OUTPUTS)).map((row) => [row.sessionId, row])),
      stored: await readStored(join(directory, 'server/checkpoints/blobs')),
      decisions: new Map(decisions.map((row) => [row.sessionId, row])),
      events: events.map(({ place, ...event }) => ({ ...event, cursor: btoa(place).replaceAll('=', '') })),
      leases: await rows<LeaseRow>(LEASES),
      removed: await rows<RemovedRow>(REMOVED),
      settledAt: settled === undefined ? Number.POSITIVE_INFINITY : clock.databaseMost(settled.at.up),
      endedAt: (await rows<{ at: number }>(NOW))[0]!.at,
    }
  } finally {
    await client.end()
  }
}

async function readStored(directory: string): Promise<Map<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])
  const stored = new Map<string, string>()
  for (const entry of entries) {
    if (!entry.isFile() || entry.name.endsWith('.part')) continue
    const bytes = await readFile(join(entry.parentPath, entry.name))
    stored.set(entry.name, createHash('sha256').update(bytes).digest('hex'))
  }
  return stored
}

async function readRuns(directory: string): Promise<Run[]> {
  const runs = (await readdir(directory)).map(async (file) =>
    runOf(file, await readFile(join(directory, file), 'utf8')),
  )
  return (await Promise.all(runs)).filter((run) => run !== null)
}

function runOf(file: string, text: string): Run | null {
  const lines = text
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' '))
  if (lines.length === 0) return null
  const [, , bootId, chainId, sessionId, kernelId, attempt] = lines[0]! as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const identity = lines[0]!.slice(2, 7).join(' ')
  const times = lines.map(([up]) => Number(up))
  const moved = lines.map(([, up]) => Number(up))
  const end = lines.find(([, , , , , , , what]) => what === 'end')
  return {
    file,
    bootId,
    chainId,
    sessionId,
    kernelId,
    attempt: Number(attempt),
    directory: lines[0]![8] ?? '',
    firstAt: Math.min(...times),
    lastAt: Math.max(...times),
    movedFirstAt: Math.min(...moved),
    movedLastAt: Math.max(...moved),
    endedWith: end === undefined ? null : Number(end[8]),
    wrote: OUTPUT_NAMES.filter((name) => lines.some(([, , , , , , , what]) => what === name)),
    told: lines.some(([, , , , , , , what]) => what === 'told'),
    torn: lines.filter((line) => line.slice(2, 7).join(' ') !== identity).length,
  }
}

async function readCalls(path: string, client: string): Promise<Call[]> {
  const records = await readRecords<ClientRecord>(path)
  const answers = new Map(records.flatMap((record) => (record.kind === 'answered' ? [[record.number, record]] : [])))
  return records.flatMap((asked): Call[] => {
    if (asked.kind !== 'asked') return []
    const answer = answers.get(asked.number)
    return [
      {
        client,
        call: asked.call,
        askedAt: asked.at,
        answeredAt: answer?.at ?? null,
        outcome: answer?.outcome ?? 'unknown',
        creationId: asked.creationId ?? null,
        sessionId: answer?.sessionId ?? asked.sessionId ?? null,
        clientKey: asked.clientKey ?? null,
        epoch: answer?.epoch ?? null,
        children: answer?.children ?? [],
        attempts: answer?.attempts ?? [],
        isGone: answer?.isGone ?? false,
        number: asked.number,
        linkOf: asked.linkOf ?? null,
        httpStatus: answer?.httpStatus ?? null,
        message: answer?.message ?? '',
      },
    ]
  })
}
