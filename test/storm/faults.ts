import { closeSync, openSync, writeSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Passage, PASSAGES, type PartitionProxy } from '../support/agents/partition-proxy.ts'
import type { Random } from '../support/random.ts'
import type { Ground, StormAgent, StormServer } from './ground.ts'
import { now } from './records.ts'
import type { Supervised } from './supervised.ts'

/** What goes wrong in a storm. Each fault begins, lasts for a random time, and is undone. */

interface Fault {
  name: string
  /** What it happens to: nothing else happens to it meanwhile. */
  target: string
  holdMs: number
  begin(): Promise<void> | void
  end(): Promise<void> | void
}

type Planner = (ground: Ground, random: Random) => Fault | null

const DISTURBANCES = PASSAGES.filter((passage) => passage !== 'open')
const HOUR_MS = 3_600_000
const FILLER = 'filler'
const FILLING = Buffer.alloc(4_096)
const REFILL_MS = 50

const PLANNERS: readonly { weight: number; plan: Planner }[] = [
  { weight: 3, plan: ({ servers }, random) => killed(random.pick(servers), 4_000, random) },
  { weight: 2, plan: ({ servers }, random) => halted(random.pick(servers), 8_000, random) },
  { weight: 3, plan: ({ agents }, random) => killed(random.pick(agents), 25_000, random) },
  { weight: 3, plan: ({ agents }, random) => halted(random.pick(agents), 30_000, random) },
  { weight: 4, plan: ({ agents }, random) => agentLine(random.pick(agents), random) },
  { weight: 3, plan: ({ servers }, random) => databaseLine(random.pick(servers), random) },
  { weight: 2, plan: clientLine },
  { weight: 2, plan: databaseAway },
  { weight: 2, plan: ({ agents }, random) => diskFull(random.pick(agents), random) },
  { weight: 2, plan: ({ agents }, random) => clockJump(random.pick(agents), random) },
]
const WEIGHTS = PLANNERS.reduce((sum, { weight }) => sum + weight, 0)

/** Lanes of faults at a time, each one after the other, until the signal aborts; then all of them are undone. */
export async function blow(
  ground: Ground,
  options: { lanes: number; random: Random; pauseMs: number; signal: AbortSignal; onFault: (name: string) => void },
): Promise<void> {
  const { lanes, random, pauseMs, signal, onFault } = options
  const busy = ground.troubled
  const lane = async () => {
    while (!signal.aborted) {
      await pause(random.below(pauseMs), signal)
      const fault = planOf(ground, random)
      if (signal.aborted || fault === null || busy.has(fault.target)) continue
      busy.add(fault.target)
      onFault(`${fault.name} ${fault.target}`)
      let at = now()
      try {
        await fault.begin()
        at = now()
        await pause(fault.holdMs, signal)
      } finally {
        await fault.end()
        busy.delete(fault.target)
      }
      ground.record({ kind: 'fault', at, until: now(), fault: fault.name, target: fault.target })
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

function planOf(ground: Ground, random: Random): Fault | null {
  let at = random.below(WEIGHTS)
  for (const { weight, plan } of PLANNERS) {
    if (at < weight) return plan(ground, random)
    at -= weight
  }
  return null
}

function killed(victim: Supervised, holdMaxMs: number, random: Random): Fault {
  return {
    name: `kill -9 ${kindOf(victim)}`,
    target: victim.name,
    holdMs: random.below(holdMaxMs),
    begin: () => victim.kill(),
    end: () => victim.restart(),
  }
}

function halted(victim: Supervised, holdMaxMs: number, random: Random): Fault {
  return {
    name: `SIGSTOP ${kindOf(victim)}`,
    target: victim.name,
    holdMs: random.below(holdMaxMs),
    begin: () => victim.signal('SIGSTOP'),
    end: () => victim.signal('SIGCONT'),
  }
}

function kindOf({ name }: Supervised): string {
  return name.split('-')[0]!
}

function disturbed(
  what: string,
  target: string,
  lines: readonly PartitionProxy[],
  random: Random,
  maxMs: number,
): Fault {
  const passage: Passage = random.pick(DISTURBANCES)
  const set = (to: Passage) => lines.forEach((line) => line.set(to))
  return {
    name: `${what} ${passage}`,
    target,
    holdMs: random.below(maxMs),
    begin: () => set(passage),
    end: () => set('open'),
  }
}

/** To one server, or to all of them, which cuts it off. */
function agentLine(agent: StormAgent, random: Random): Fault {
  const all = random.chance(0.7)
  const lines = all ? agent.lines : [random.pick(agent.lines)]
  return disturbed(all ? 'agent line' : 'agent line to one server', `${agent.name} line`, lines, random, 30_000)
}

function databaseLine(server: StormServer, random: Random): Fault {
  return disturbed('database line', `${server.name} line`, [server.line], random, 8_000)
}

function clientLine({ clientLines }: Ground, random: Random): Fault {
  const index = random.below(clientLines.length)
  return disturbed('client line', `client line ${index + 1}`, [clientLines[index]!], random, 6_000)
}

function databaseAway({ database }: Ground, random: Random): Fault {
  const how = random.pick(['fast', 'killed'] as const)
  return {
    name: how === 'fast' ? 'database restart' : 'kill -9 database',
    target: 'database',
    holdMs: random.below(4_000),
    begin: () => (how === 'fast' ? database.stop() : database.kill()),
    end: () => database.start(),
  }
}

/** Filled to its last byte, and again as soon as something on it is removed. */
function diskFull({ name, disk }: StormAgent, random: Random): Fault | null {
  if (disk === null) return null
  const path = join(disk, FILLER)
  let filling: NodeJS.Timeout | undefined
  const fill = () => {
    const file = openSync(path, 'a')
    try {
      while (writeSync(file, FILLING) > 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    } finally {
      closeSync(file)
    }
  }
  return {
    name: 'full disk agent',
    target: `${name} disk`,
    holdMs: random.below(12_000),
    begin() {
      fill()
      filling = setInterval(fill, REFILL_MS)
    },
    async end() {
      clearInterval(filling)
      await rm(path, { force: true })
    },
  }
}

/** Ahead or back, by up to two days, and then right again. */
function clockJump(agent: StormAgent, random: Random): Fault {
  const ms = Math.round((random.next() - 0.5) * 96 * HOUR_MS)
  const set = (ahead: number) => writeFile(agent.clockFile, String(ahead))
  return {
    name: 'clock jump agent',
    target: `${agent.name} clock`,
    holdMs: random.below(15_000),
    begin: () => set(ms),
    end: () => set(0),
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
