import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomOf } from '../support/random.ts'
import type { ClientsOptions } from './clients-program.ts'
import { letPass, moveTime } from './fast-forward.ts'
import { blow } from './faults.ts'
import { layGround, type Ground } from './ground.ts'
import type { Verdict } from './judge/judge-program.ts'
import { now, readRecords, type StormRecord } from './records.ts'
import { sabotage } from './sabotage.ts'
import { MOVED_TIME, REAL_TIME } from './terms.ts'

/** Faults at a time, and the pause after each. */
const LANES = 3
const FAULT_PAUSE_MS = 2_500
const CLIENTS = 3
/** For each client; a storm of a minute makes about a third of that many sessions. */
const SESSIONS_PER_MINUTE = 60
const OPEN_MAX = 14
const READ_WITHIN_MS = 240_000
const SETTLED_FOR_MS = 2_000
/** Two hours: longer than any lease, and than what is old may stay. */
const QUIET_STEPS = 12
const JUDGE = join(import.meta.dirname, 'judge/judge-program.ts')
const CLIENTS_PROGRAM = join(import.meta.dirname, 'clients-program.ts')

export interface StormOptions {
  /** Empty; everything is in here afterwards. */
  directory: string
  minutes: number
  seed: number
  /** Plants a second dispatch, which the judge must find. */
  canary: boolean
  /** Moves time instead of waiting: for leases, fences, limits, backoffs and retention. */
  fastForward: boolean
  /** Ends everything at once. */
  signal: AbortSignal
  /** Ends the storm early; it calms down and is judged. */
  calm?: AbortSignal
  progress(line: string): void
  /** Called with the verdict, while the database still runs. */
  judged?: (ground: Ground, verdict: Verdict) => Promise<void>
}

export interface StormResult {
  seed: number
  seconds: number
  /** By name, how often. */
  faults: Record<string, number>
  /** By which all clocks were moved. */
  hoursAhead: number
  verdict: Verdict
}

/** Raises a storm, lets it calm down, and has it judged. @throws the signal's reason when it aborts */
export async function storm(options: StormOptions): Promise<StormResult> {
  const { directory, minutes, seed, canary, fastForward, signal, calm: calmed, progress, judged } = options
  const began = performance.now()
  await using ground = await layGround(directory, fastForward ? MOVED_TIME : REAL_TIME, progress)
  signal.throwIfAborted()
  const clients = startClients(ground, {
    seed,
    sessionsMax: Math.max(12, Math.round(SESSIONS_PER_MINUTE * minutes)),
  })
  const ended = new AbortController()
  const forwarding = fastForward ? moveTime(ground, AbortSignal.any([signal, ended.signal])) : null
  const calm = new AbortController()
  const either = AbortSignal.any([signal, calm.signal, ...(calmed ? [calmed] : [])])
  const timer = setTimeout(() => calm.abort(), minutes * 60_000)
  const counts = { faults: 0 }
  const telling = setInterval(() => void tell(ground, counts.faults, progress), 10_000)
  try {
    const planted = canary ? sabotage(ground, signal) : null
    planted?.catch(() => {})
    await blow(ground, {
      lanes: LANES,
      random: randomOf(seed),
      pauseMs: FAULT_PAUSE_MS,
      signal: either,
      onFault: () => counts.faults++,
    })
    signal.throwIfAborted()
    if (planted !== null) progress(await planted)
    progress('the storm is over: waiting for everything to end')
    const allHasEnded = async () => {
      await settle(ground, signal, progress)
      // What is old by then has to be gone.
      if (fastForward) await letPass(ground, QUIET_STEPS, signal)
      ended.abort()
      await forwarding
    }
    await endClients(ground, clients, allHasEnded, signal)
  } finally {
    clearTimeout(timer)
    clearInterval(telling)
    ended.abort()
    await forwarding
    clients.kill('SIGKILL')
  }
  for (const each of [...ground.agents, ...ground.servers]) await each.stop()
  progress('judging')
  const verdict = await askJudge(ground)
  await judged?.(ground, verdict)
  const records = await readRecords<StormRecord>(join(ground.records, 'storm.ndjson'))
  const faults = records.flatMap((record) => (record.kind === 'fault' ? [record.fault] : []))
  const aheadMs = Math.max(0, ...records.map((record) => (record.kind === 'clock' ? record.aheadMs : 0)))
  const seconds = (performance.now() - began) / 1000
  return { seed, seconds, faults: countOf(faults), hoursAhead: aheadMs / 3_600_000, verdict }
}

function startClients(ground: Ground, how: Pick<ClientsOptions, 'seed' | 'sessionsMax'>): ChildProcess {
  const options: ClientsOptions = {
    urls: ground.clientLines.map(({ url }) => url),
    token: ground.token,
    records: ground.records,
    lines: ground.lines,
    uptime: ground.clock?.machineUptime ?? '/proc/uptime',
    terms: ground.terms,
    ...how,
    clients: CLIENTS,
    openMax: OPEN_MAX,
  }
  const log = openSync(join(ground.directory, 'logs/clients.log'), 'a')
  return spawn(process.execPath, [...(ground.clock?.nodeArguments ?? []), CLIENTS_PROGRAM, JSON.stringify(options)], {
    stdio: ['pipe', log, log],
    env: { ...process.env, ...ground.clock?.environment },
  })
}

/** Clients begin nothing new, everything that they have begun ends, and they read all of it once more. */
async function endClients(
  ground: Ground,
  clients: ChildProcess,
  allHasEnded: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const gone = once(clients, 'exit')
  clients.stdin!.write('end\n')
  await allHasEnded()
  clients.stdin!.write('read\n')
  const [status] = (await Promise.race([gone, sleep(READ_WITHIN_MS, [null], { ref: false })])) as [number | null]
  signal.throwIfAborted()
  if (status !== 0)
    ground.record({ kind: 'exit', at: now(), process: 'clients', wanted: false, status, signal: null, log: [] })
}

const UNSETTLED = `SELECT
  (SELECT count(*) FROM sessions WHERE status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')) AS "sessions under way",
  (SELECT count(*) FROM sessions WHERE status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND NOT retry_decided) AS undecided,
  (SELECT count(*) FROM retry_decisions WHERE phase IN ('SCHEDULED', 'HELD')) AS "retries that wait",
  (SELECT count(*) FROM kernels WHERE NOT confirmed_gone OR slots_held) AS "kernels that may live",
  (SELECT count(*) FROM session_outputs WHERE state IN ('WAITING', 'COLLECTING')) AS "outputs that have not arrived",
  (SELECT count(*) FROM resubmissions WHERE state = 'RUNNING') AS resubmissions`

/** Waits until nothing is under way for a while. */
async function settle(ground: Ground, signal: AbortSignal, progress: (line: string) => void): Promise<void> {
  const deadline = performance.now() + ground.terms.settledWithinMs
  let since: number | null = null
  let waitingFor = ''
  for (let turn = 0; performance.now() < deadline; turn++) {
    signal.throwIfAborted()
    const { rows } = await ground.db.query<Record<string, string>>(UNSETTLED)
    const open = Object.entries(rows[0]!).filter(([, count]) => Number(count) > 0)
    waitingFor = open.map(([what, count]) => `${count} ${what}`).join(', ')
    since = open.length > 0 ? null : (since ?? performance.now())
    if (since !== null && performance.now() - since >= SETTLED_FOR_MS) {
      return ground.record({ kind: 'settled', at: now(), late: false, waitingFor: '' })
    }
    if (turn % 20 === 19 && waitingFor !== '') progress(`waiting for ${waitingFor}`)
    await sleep(500)
  }
  ground.record({ kind: 'settled', at: now(), late: true, waitingFor })
}

async function tell({ db }: Ground, faults: number, progress: (line: string) => void): Promise<void> {
  const counted = `SELECT count(*) AS all, count(*) FILTER (WHERE status IN ('TERMINATED', 'ERROR', 'CANCELLED')) AS ended FROM sessions`
  const { rows } = await db.query<{ all: number; ended: number }>(counted).catch(() => ({ rows: [] }))
  const sessions = rows[0] === undefined ? 'the database is away' : `${rows[0].all} sessions, ${rows[0].ended} ended`
  progress(`${faults} faults, ${sessions}`)
}

/** A program of its own, which knows the directory and the database alone. */
export async function askJudge(where: { directory: string; databaseUrl: string }): Promise<Verdict> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const args = [JUDGE, where.directory, where.databaseUrl]
  execFile(process.execPath, args, { maxBuffer: 2 ** 30 }, (error, stdout, stderr) => {
    if (stdout === '') reject(new Error(`the judge failed: ${stderr}`, { cause: error }))
    else resolve(stdout)
  })
  return JSON.parse(await promise) as Verdict
}

function countOf(names: readonly string[]): Record<string, number> {
  const counts = [...Map.groupBy(names, (name) => name)].map(([name, all]): [string, number] => [name, all.length])
  return Object.fromEntries(counts.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
