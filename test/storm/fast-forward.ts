import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ground } from './ground.ts'
import { now } from './records.ts'
import type { Supervised } from './supervised.ts'

/**
 * Moves time for everything at once, step by step: for the database by the two functions that tell its statements the
 * time, for programs by their clock. Everything that is due then happens, and takes as long as ever; the next step comes
 * when all that nothing is the matter with has been heard at the new time, and every kernel's program has written so. So
 * whoever is halted, dead or cut off grows old, and nobody else does.
 */

const LOOK_MS = 40
/** What nobody is waited for has so much time: keepers of fences look ten times a second. */
const STEP_MIN_MS = 500
/** Nobody is waited for longer: who has not been heard by then is silent for a step. */
const HEARD_WITHIN_MS = 20_000
/** A start is given so much time of its own: its programs wait for each other. */
const STARTED_WITHIN_MS = 2_500

const LOOK = `SELECT ARRAY(SELECT name FROM agents WHERE last_heard_at >= $1::timestamptz) AS agents,
  ARRAY(SELECT pid FROM servers WHERE last_seen_at >= $1::timestamptz) AS servers,
  (SELECT count(*)::int FROM sessions s JOIN kernels k ON k.session_id = s.id LEFT JOIN agents a ON a.id = k.agent_id
    WHERE s.status IN ('PREPARING', 'PULLING', 'PREPARED', 'CREATING') AND a.name <> ALL($2)) AS starting`
/** The two uptimes are read one after the other, and the moved one comes in hundredths of a second. */
const RESOLUTION_SECONDS = 1
const LINE_BYTES_MAX = 1_024
const MOVE = `SELECT seeds.set_clock(make_interval(secs => $1))`

interface Looked {
  agents: string[]
  servers: number[]
  starting: number
}

/** Until the signal aborts. @returns by how many seconds */
export async function moveTime(ground: Ground, signal: AbortSignal): Promise<void> {
  const { db, clock, terms, record } = ground
  const step = terms.stepSeconds
  let seconds = clock!.ahead() / 1000
  const [rounds, programs] = [createRounds(ground), createPrograms(ground)]
  let movedAt = await timeOf(ground)
  while (!signal.aborted) {
    await everybodyIsHeard(ground, programs, rounds, movedAt, signal)
    if (signal.aborted) return
    seconds += step
    const aheadMs = seconds * 1000
    // What is told from now on may be of the new time.
    record({ kind: 'clock', at: now(), aheadMs, done: false })
    // Agents first: their fences may be early, but not late.
    await clock!.move(aheadMs)
    while (!(await db.query(MOVE, [seconds]).then(isDone, isAway))) {
      await sleep(LOOK_MS)
      if (signal.aborted) return
    }
    record({ kind: 'clock', at: now(), aheadMs, done: true })
    movedAt = await timeOf(ground)
  }
}

const isDone = () => true
const isAway = () => false

async function timeOf({ db }: Ground): Promise<string> {
  for (;;) {
    const answer = await db.query<{ at: string }>('SELECT reprise_now()::text AS at').catch(() => null)
    if (answer !== null) return answer.rows[0]!.at
    await sleep(LOOK_MS)
  }
}

/** Who is well. Who was not is not waited for either until it has been heard again, however long that takes. */
function createRounds({ agents, servers, troubled }: Ground) {
  const recovering = new Set<string>()
  const all = [...agents, ...servers]
  return {
    ill(): string[] {
      for (const { name } of all) if ([...troubled].some((target) => target.startsWith(name))) recovering.add(name)
      return [...recovering]
    },
    /** @returns whether all that are well have been heard */
    see(seen: Looked): boolean {
      const isHeard = (one: Supervised) => seen.agents.includes(one.name) || seen.servers.includes(one.pid() ?? 0)
      const ill = new Set(this.ill())
      for (const one of all) if (isHeard(one)) recovering.delete(one.name)
      return all.every((one) => ill.has(one.name) || isHeard(one))
    },
  }
}

async function everybodyIsHeard(
  { db, troubled }: Ground,
  programs: ReturnType<typeof createPrograms>,
  rounds: ReturnType<typeof createRounds>,
  since: string,
  signal: AbortSignal,
): Promise<void> {
  let began = performance.now()
  while (!signal.aborted) {
    await sleep(LOOK_MS)
    const looked = await db.query<Looked>(LOOK, [since, rounds.ill()]).catch(() => null)
    // Nobody can be heard.
    if (looked === null || troubled.has('database')) {
      began = performance.now()
      continue
    }
    const seen = looked.rows[0]!
    const waited = performance.now() - began
    if (waited < STEP_MIN_MS) continue
    const allAreHeard = rounds.see(seen) && programs.haveWritten()
    if (!allAreHeard && waited < HEARD_WITHIN_MS) continue
    if (seen.starting === 0 || waited > STARTED_WITHIN_MS) return
  }
}

/** The programs of kernels, by their lines. One that cannot have its turn would overrun its limit unawares. */
function createPrograms({ lines, clock }: Ground) {
  const over = new Set<string>()
  return {
    haveWritten(): boolean {
      const moved = clock!.ahead() / 1000
      return readdirSync(lines).every((file) => {
        if (over.has(file)) return true
        // `<kernel>.<pid>.<random>`
        if (!isAlive(file.split('.')[1]!)) {
          over.add(file)
          return true
        }
        const [up, at] = lastLine(join(lines, file)).split(' ').map(Number)
        return up !== undefined && at !== undefined && at - up > moved - RESOLUTION_SECONDS
      })
    },
  }
}

/** One that nobody has waited for is dead as well. */
function isAlive(pid: string): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

/** Its last whole line; empty without one. */
function lastLine(path: string): string {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const end = Buffer.alloc(Math.min(size, LINE_BYTES_MAX))
    readSync(file, end, 0, end.length, size - end.length)
    return end.toString('latin1').split('\n').at(-2) ?? ''
  } finally {
    closeSync(file)
  }
}

/** So many steps, in which nothing else happens. */
export async function letPass(ground: Ground, steps: number, signal: AbortSignal): Promise<void> {
  const until = ground.clock!.ahead() + steps * ground.terms.stepSeconds * 1000
  while (ground.clock!.ahead() < until && !signal.aborted) await sleep(LOOK_MS)
}
