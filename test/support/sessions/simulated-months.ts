import type { AdvisedAttempt } from '../../../src/domain/insight/advice/attempts.ts'
import type { Random } from '../random.ts'
import { testServer } from '../servers/test-server.ts'
import type { TestServer } from '../servers/graphql-server.ts'
import type { SessionRow } from './factories.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const GIB = 2 ** 30

/** What is wrong in a month, besides ordinary failures. */
export interface Planted {
  /** Chains that exit with 64, whose retries never succeed. */
  uselessExits?: number
  /** Chains that succeed with one of their first two retries, or never. */
  hopelessAfterTwo?: number
  badAgent?: boolean
  badGpu?: boolean
  /** Chains of `hungry` that need 12 GiB and begin with 8; their retries grow. */
  hungry?: number
  /** The same, but their retries do not grow. */
  starving?: number
  /** Chains of `modest` that use 1 GiB of 32. */
  modest?: number
  /** Chains of `slow` that need 100 minutes and have 60; their retries get more. */
  slow?: number
  slowForever?: number
  /** Outages of the image registry that outlast all retries. */
  longOutages?: number
  /** Times at which 25 chains fail at once, and their retries, too. */
  bursts?: number
}

interface Name {
  name: string
  /** How often an attempt fails, a failing chain is doomed, and a retry of another one succeeds. */
  fails: number
  doomed: number
  minutes: number
  memoryBytes: number
  /** The part of the memory that it uses. */
  uses: number
  exitCode: number
}

export const BAD_AGENT = 'agent-3'
export const BAD_GPU = 'GPU-agent-5-1'
const AGENTS = Array.from({ length: 8 }, (_, index) => `agent-${index}`)
const GPUS_PER_AGENT = 2
const RETRIES = 5
const RETRY_DELAYS_MINUTES = [1, 2, 4, 8, 16]

/** A month of batch work on eight machines. Ordinary failures, short outages, and what is planted. */
export function simulateMonth(random: Random, planted: Planted = {}, chains = 500): AdvisedAttempt[] {
  return new Month(random, planted).run(chains)
}

class Month {
  readonly #random: Random
  readonly #planted: Planted
  readonly #names: Name[]
  readonly #outages: { agent: string | null; fromMs: number; toMs: number }[]
  readonly #attempts: AdvisedAttempt[] = []
  #chains = 0

  constructor(random: Random, planted: Planted) {
    this.#random = random
    this.#planted = planted
    this.#names = Array.from({ length: 6 }, (_, index) => ({
      name: `job-${index}`,
      fails: this.#between(0.02, 0.3),
      doomed: this.#between(0, 0.4),
      minutes: this.#between(1, 90),
      memoryBytes: Math.ceil(this.#between(1, 32)) * GIB,
      uses: this.#between(0.55, 0.9),
      exitCode: 1 + Math.floor(this.#between(0, 3)),
    }))
    this.#outages = Array.from({ length: 3 }, () => {
      const fromMs = this.#between(0, 30) * DAY_MS
      const agent = random.next() < 0.5 ? this.#agent() : null
      return { agent, fromMs, toMs: fromMs + this.#between(3, 15) * MINUTE_MS }
    })
  }

  run(chains: number): AdvisedAttempt[] {
    for (let i = 0; i < chains; i++) this.#usual(this.#moment())
    // Outages are noticed where there is work.
    for (const { fromMs } of chains > 0 ? this.#outages : [])
      for (let i = 0; i < 15; i++) this.#usual(fromMs + this.#between(0, 5) * MINUTE_MS)
    const { uselessExits = 0, hopelessAfterTwo = 0, hungry = 0, starving = 0, modest = 0 } = this.#planted
    const { slow = 0, slowForever = 0, longOutages = 0, bursts = 0 } = this.#planted
    for (let i = 0; i < uselessExits; i++) this.#chain('useless', this.#moment(), () => ({ exitCode: 64 }), 3)
    for (let i = 0; i < hopelessAfterTwo; i++) {
      const at = this.#random.next() < 0.5 ? 1 + Math.floor(this.#between(0, 2)) : Infinity
      this.#chain('early-or-never', this.#moment(), (retry) => (retry >= at ? null : { exitCode: 9 }), RETRIES)
    }
    for (let i = 0; i < hungry; i++) this.#memory('hungry', 2)
    for (let i = 0; i < starving; i++) this.#memory('starving', 1)
    for (let i = 0; i < modest; i++) {
      this.#chain(
        'modest',
        this.#moment(),
        () => null,
        0,
        () => ({ memoryBytes: 32 * GIB, peakMemoryBytes: GIB }),
      )
    }
    for (let i = 0; i < slow; i++) this.#time('slow', 2)
    for (let i = 0; i < slowForever; i++) this.#time('slow-forever', 1)
    for (let i = 0; i < longOutages; i++) this.#longOutage((i + 0.5) * (30 / longOutages) * DAY_MS)
    for (let i = 0; i < bursts; i++) {
      const atMs = Math.floor(((i + 0.5) * (30 / bursts) * DAY_MS) / (10 * MINUTE_MS)) * 10 * MINUTE_MS
      for (let j = 0; j < 25; j++) {
        const group = { failureGroupId: 'burst' }
        const end = atMs + this.#between(1, 4) * MINUTE_MS
        this.#chain(
          `part-${j % 2}`,
          end - 2 * MINUTE_MS,
          () => ({ exitCode: 3 }),
          2,
          () => ({ ...group }),
          0.5,
        )
      }
    }
    return this.#attempts.toSorted((a, b) => b.endedMs - a.endedMs)
  }

  #usual(atMs: number): void {
    const name = this.#names[Math.floor(this.#between(0, this.#names.length))]!
    const isDoomed = this.#random.next() < name.doomed
    let hasFailed = false
    const fate = (retry: number) => {
      const fails = retry === 0 || !hasFailed ? this.#random.next() < name.fails : isDoomed || this.#random.next() < 0.4
      hasFailed ||= fails
      return fails ? { exitCode: name.exitCode } : null
    }
    const facts = () => ({
      memoryBytes: name.memoryBytes,
      peakMemoryBytes: name.memoryBytes * Math.min(0.94, name.uses * this.#between(0.9, 1.1)),
    })
    this.#chain(name.name, atMs, fate, RETRIES, facts, name.minutes)
  }

  #memory(name: string, growth: number): void {
    let memoryBytes = 8 * GIB
    const isShort = () => memoryBytes < 12 * GIB
    const fate = () => (isShort() ? ({ cause: 'OOM_KILLED', exitCode: 137 } as const) : null)
    const facts = (retry: number) => {
      memoryBytes = 8 * GIB * growth ** retry
      return { memoryBytes, peakMemoryBytes: Math.min(memoryBytes, 11 * GIB) }
    }
    this.#chain(name, this.#moment(), fate, 3, facts)
  }

  #time(name: string, growth: number): void {
    const facts = (retry: number) => {
      const batchTimeoutSeconds = 3_600 * growth ** retry
      return { batchTimeoutSeconds, timedOut: batchTimeoutSeconds < 6_000 }
    }
    const fate = (retry: number) => (3_600 * growth ** retry < 6_000 ? { exitCode: null } : null)
    this.#chain(name, this.#moment(), fate, 3, facts, 60)
  }

  #longOutage(fromMs: number): void {
    const toMs = fromMs + this.#between(80, 120) * MINUTE_MS
    for (let atMs = fromMs; atMs < toMs; atMs += 6 * MINUTE_MS) {
      const fate = (_retry: number, now: number) =>
        now < toMs ? ({ cause: 'IMAGE_PULL_FAILURE', exitCode: null } as const) : null
      this.#chain('pulls', atMs, fate, RETRIES, () => ({}), 0.2)
    }
  }

  #chain(
    name: string,
    atMs: number,
    fate: (retry: number, endedMs: number) => Partial<AdvisedAttempt> | null,
    retries: number,
    facts: (retry: number) => Partial<AdvisedAttempt> = () => ({}),
    minutes = 20,
  ): void {
    const chainId = `chain-${String(this.#chains++).padStart(6, '0')}`
    const chain: AdvisedAttempt[] = []
    let startedMs = atMs
    for (let retry = 0; retry <= retries; retry++) {
      const gpu = Math.floor(this.#between(0, GPUS_PER_AGENT))
      const agentId = this.#agent()
      const gpus = [`GPU-${agentId}-${gpu}`]
      const endedMs = startedMs + minutes * this.#between(0.8, 1.2) * MINUTE_MS
      const own = facts(retry)
      const failure = this.#machine(agentId, gpus, endedMs) ?? fate(retry, endedMs)
      const attempt: AdvisedAttempt = {
        chainId,
        name,
        attempt: retry + 1,
        retry,
        startedMs,
        endedMs,
        agentId,
        gpus,
        resourceGroup: 'default',
        outcome: 'SUCCEEDED',
        cause: null,
        exitCode: 0,
        timedOut: false,
        retryOutcome: null,
        lost: false,
        failureGroupId: null,
        cpus: 2,
        kernels: 1,
        memoryBytes: 4 * GIB,
        peakMemoryBytes: null,
        batchTimeoutSeconds: null,
        maxRetries: retries,
        ...own,
        ...(failure === null
          ? { timedOut: false }
          : {
              outcome: 'FAILED' as const,
              cause: 'KERNEL_NONZERO_EXIT' as const,
              ...failure,
            }),
      }
      chain.push(attempt)
      if (failure === null) break
      startedMs = endedMs + RETRY_DELAYS_MINUTES[retry % RETRY_DELAYS_MINUTES.length]! * MINUTE_MS
    }
    for (const [index, attempt] of chain.entries()) {
      const next = chain[index + 1]
      this.#attempts.push({
        ...attempt,
        retryOutcome: next?.outcome ?? null,
        lost: next === undefined && attempt.outcome === 'FAILED' && index > 0,
      })
    }
  }

  /** A failure that lies in the machine. */
  #machine(agentId: string, gpus: readonly string[], endedMs: number): Partial<AdvisedAttempt> | null {
    const isOut = this.#outages.some(
      ({ agent, fromMs, toMs }) => (agent ?? agentId) === agentId && endedMs >= fromMs && endedMs < toMs,
    )
    if (isOut) return { cause: 'AGENT_TRANSIENT', exitCode: null }
    const { badAgent, badGpu } = this.#planted
    const isBad = (badAgent && agentId === BAD_AGENT) || (badGpu && gpus.includes(BAD_GPU))
    return isBad && this.#random.next() < 0.5 ? { exitCode: 139 } : null
  }

  #agent(): string {
    return AGENTS[Math.floor(this.#between(0, AGENTS.length))]!
  }

  #moment(): number {
    return this.#between(0, 30) * DAY_MS
  }

  #between(low: number, high: number): number {
    return low + (high - low) * this.#random.next()
  }
}

/**
 * Writes the attempts of a simulated month, which has just ended, and has them summed up.
 * @param agents ids by name, to which missing ones are added
 */
export async function storeMonth(
  server: Pick<TestServer, 'db' | 'factory'>,
  { projectId, agents }: { projectId: string; agents: Map<string, string> },
  attempts: readonly AdvisedAttempt[],
): Promise<void> {
  const { db, factory } = server
  const start = Date.now() - 30.5 * DAY_MS
  const rows = new Map<string, SessionRow>()
  for (const attempt of attempts.toSorted((a, b) => a.attempt - b.attempt)) {
    const { outcome, chainId, agentId, lost } = attempt
    const failed = outcome === 'FAILED'
    if (!agents.has(agentId!)) agents.set(agentId!, await factory.agent(agentId!))
    const [startedAt, endedAt] = [attempt.startedMs!, attempt.endedMs].map((ms) => new Date(start + ms))
    const row = await factory.session({
      projectId,
      name: attempt.name,
      status: failed ? 'ERROR' : 'TERMINATED',
      failureCause: attempt.cause ?? undefined,
      phase: failed ? (lost ? 'EXHAUSTED' : 'DISPATCHED') : 'SUCCEEDED',
      parent: rows.get(chainId),
      createdAt: startedAt,
      retryPolicy: { maxRetries: attempt.maxRetries },
    })
    rows.set(chainId, row)
    const slots = { cpu: String(attempt.cpus), mem: String(attempt.memoryBytes) }
    await db.query(
      `UPDATE sessions SET started_at = $2, terminated_at = $3, exit_code = $4, resource_slots = $5 WHERE id = $1`,
      [row.id, startedAt, endedAt, attempt.exitCode, JSON.stringify(slots)],
    )
    const peak = attempt.peakMemoryBytes === null ? null : Math.round(attempt.peakMemoryBytes)
    await db.query('UPDATE kernels SET agent_id = $2, peak_memory_bytes = $3 WHERE session_id = $1', [
      row.id,
      agents.get(agentId!),
      peak,
    ])
  }
  const background = testServer(db)
  while ((await background.run('roll-up-figures'))[0]! > 0);
}
