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

/** Everything that the judge looks at: what kernels, clients and the storm wrote down themselves, and the tables. */
export interface Evidence {
  runs: readonly Run[]
  calls: readonly Call[]
  /** By subscriber. */
  received: readonly (readonly EventRecord[])[]
  storm: readonly StormRecord[]
  sessions: readonly SessionRow[]
  kernels: readonly KernelRow[]
  decisions: ReadonlyMap<string, DecisionRow>
  /** In the order of the outbox. */
  events: readonly EventRow[]
}

/** The life of one process of a kernel, by its own lines. */
export interface Run {
  file: string
  bootId: string
  chainId: string
  sessionId: string
  kernelId: string
  attempt: number
  /** Uptime in seconds. */
  firstAt: number
  lastAt: number
  /** The code with which it said that it ends; null if something ended it. */
  endedWith: number | null
  /** Whether it received SIGTERM. */
  told: boolean
  /** Lines that do not agree with the first about who it is. */
  torn: number
}

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
  /** Milliseconds. */
  createdAt: number
  terminatedAt: number | null
}

export interface KernelRow {
  id: string
  sessionId: string
  status: string
  exitCode: number | null
  stopped: boolean
  confirmedGone: boolean
  slotsHeld: boolean
  reason: string | null
}

export interface DecisionRow {
  sessionId: string
  phase: string
  childId: string | null
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

const SESSIONS = `SELECT id, name, chain_id AS "chainId", parent_session_id AS "parentId", creation_id AS "creationId", attempt,
  epoch, origin, status, result, exit_code AS "exitCode", failure_cause AS cause, status_reason AS reason,
  retry_count AS "retryCount", max_retries AS "maxRetries", batch_timeout AS "batchTimeout", terminated_by AS "terminatedBy",
  cluster_size AS "clusterSize", (extract(epoch FROM created_at) * 1000)::float8 AS "createdAt",
  (extract(epoch FROM terminated_at) * 1000)::float8 AS "terminatedAt" FROM sessions ORDER BY chain_id, attempt, id`
const KERNELS = `SELECT id, session_id AS "sessionId", status, exit_code AS "exitCode", stopped,
  confirmed_gone AS "confirmedGone", slots_held AS "slotsHeld", reason FROM kernels`
const DECISIONS = `SELECT session_id AS "sessionId", phase, child_session_id AS "childId" FROM retry_decisions`
const EVENTS = `SELECT e.xid || ':' || e.id AS place, type, session_id AS "sessionId", chain_id AS "chainId",
  data ->> 'from' AS from, data ->> 'to' AS to, data ->> 'childSessionId' AS "childId"
  FROM session_events e WHERE session_id IS NOT NULL ORDER BY e.xid, e.id`

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
    return {
      runs: await readRuns(join(directory, 'lines')),
      calls: (await Promise.all(clients.map((name) => readCalls(join(records, name), name)))).flat(),
      received: await Promise.all(subscribers.map((name) => readRecords<EventRecord>(join(records, name)))),
      storm: await readRecords<StormRecord>(join(records, 'storm.ndjson')),
      sessions: await rows<SessionRow>(SESSIONS),
      kernels: await rows<KernelRow>(KERNELS),
      decisions: new Map(decisions.map((row) => [row.sessionId, row])),
      events: events.map(({ place, ...event }) => ({ ...event, cursor: btoa(place).replaceAll('=', '') })),
    }
  } finally {
    await client.end()
  }
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
  const [, bootId, chainId, sessionId, kernelId, attempt] = lines[0]! as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const identity = lines[0]!.slice(1, 6).join(' ')
  const times = lines.map(([up]) => Number(up))
  const end = lines.find(([, , , , , , what]) => what === 'end')
  return {
    file,
    bootId,
    chainId,
    sessionId,
    kernelId,
    attempt: Number(attempt),
    firstAt: Math.min(...times),
    lastAt: Math.max(...times),
    endedWith: end === undefined ? null : Number(end[7]),
    told: lines.some(([, , , , , , what]) => what === 'told'),
    torn: lines.filter((line) => line.slice(1, 6).join(' ') !== identity).length,
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
        message: answer?.message ?? '',
      },
    ]
  })
}
