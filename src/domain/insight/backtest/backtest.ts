import { BACKTEST_ATTEMPTS_MAX, BACKTEST_EXAMPLES_MAX, BACKTEST_NAMES_MAX } from '../../limits.ts'
import type { RetryPolicy } from '../../retry/policy/policy.ts'
import { anySucceeds, type Counted, isEnough, isTransient, kindKey, sinceBucket } from './comparable-failures.ts'
import {
  epochsOf,
  failedTry,
  outageEnd,
  type RecordedAttempt,
  type RecordedChain,
  replayChain,
  UNKNOWN_REASONS,
  type UnknownReason,
  type Work,
  workOf,
} from './replay-chain.ts'

/** A policy's backtest: what it would have made of finished chains. Every chain is in exactly one of four outcomes. */
export interface Backtest {
  recorded: Totals & { succeeded: number }
  /** These would have ended alike, with as many attempts, in sum so many seconds later (negative: sooner). */
  same: { chains: number; laterSeconds: number }
  earlier: Totals & {
    /** From the end that they would have had to the recorded end, in sum. */
    seconds: number
    successesLost: number
    /** The names that lost the most, at most BACKTEST_NAMES_MAX. */
    lost: LostSuccesses[]
    examples: string[]
  }
  /** `attempts` and `slotSeconds` are what they would have cost in addition, at most. */
  longer: Totals & { expected: Expected; examples: string[] }
  unknown: (Totals & { reason: UnknownReason; examples: string[] })[]
}

interface Totals {
  chains: number
  attempts: number
  slotSeconds: number
}

/** Chains of one name that succeeded, and would not have. */
export interface LostSuccesses {
  name: string
  project: string
  successes: number
  examples: string[]
}

/** Successes that are expected of retries that nobody made. */
export interface Expected {
  successes: number
  /** The bounds of the Wilson interval (95 %). */
  low: number
  high: number
  /** The chains that are estimated; of the others it is known that they would have failed. */
  chains: number
  /** Comparable retries that the estimate rests on. */
  n: number
}

class Tally {
  chains = 0
  attempts = 0
  work: Work = 0n
  /** The newest chains: ids are in the order of creation. */
  examples: string[] = []

  add(chainId: string, attempts: number, work: Work): void {
    this.chains += 1
    this.attempts += attempts
    this.work += work
    this.examples = newest([...this.examples, chainId])
  }

  merge({ chains, attempts, work, examples }: Tally): void {
    this.chains += chains
    this.attempts += attempts
    this.work += work
    this.examples = newest([...this.examples, ...examples])
  }

  totals(): Totals {
    return { chains: this.chains, attempts: this.attempts, slotSeconds: slotSeconds(this.work) }
  }
}

function newest(ids: string[]): string[] {
  return ids.toSorted((one, other) => (one < other ? 1 : -1)).slice(0, BACKTEST_EXAMPLES_MAX)
}

function slotSeconds(work: Work): number {
  return Number(work) / 1_000_000
}

/** What retries of chains were recorded, by kind. The same for every policy. */
export class Comparables {
  readonly #kinds = new Map<string, Counted>()

  /** Retries that a person ended say nothing; neither does the end of a chain that its policy ended. */
  add(chain: RecordedChain): void {
    for (const attempts of epochsOf(chain)) {
      let outage: { from: number; to: number } | null = null
      for (const [index, next] of attempts.slice(1).entries()) {
        if (outage === null || index > outage.to) outage = { from: index, to: outageEnd(attempts, index) }
        if (next.terminatedBy !== null) continue
        const failed = failedTry(attempts[index]!)
        const sinceMs = next.createdAt.getTime() - attempts[outage.from]!.terminatedAt.getTime()
        const when = isTransient(failed.cause) ? sinceBucket(sinceMs) : index + 1
        const grew = (attempts[index]!.decision?.growth ?? null) !== null
        const key = kindKey(chain.projectName, { ...failed, grew, when })
        const counted = this.#kinds.get(key) ?? { n: 0, successes: 0 }
        this.#kinds.set(key, counted)
        counted.n += 1
        if (next.result === 'SUCCESS') counted.successes += 1
      }
    }
  }

  get(key: string): Counted | undefined {
    return this.#kinds.get(key)
  }
}

/** Replays chains under one policy, in any order, and adds up what it would have made of them. */
export class PolicyBacktest {
  readonly #policyOf: (chain: RecordedChain, first: RecordedAttempt) => RetryPolicy
  readonly #recorded = new Tally()
  readonly #earlier = new Tally()
  readonly #longer = new Tally()
  readonly #unknown = new Map(UNKNOWN_REASONS.map((reason) => [reason, new Tally()]))
  /** Chains whose further retries are to be estimated, by the kinds of these. */
  readonly #estimated = new Map<string, Tally>()
  readonly #lost = new Map<string, LostSuccesses>()
  #succeeded = 0
  #same = 0
  #laterMs = 0
  #soonerMs = 0

  /** @param policyOf the policy that a chain would have had, by the first attempt of an epoch */
  constructor(policyOf: (chain: RecordedChain, first: RecordedAttempt) => RetryPolicy) {
    this.#policyOf = policyOf
  }

  add(chain: RecordedChain): void {
    const { chainId, attempts } = chain
    const work = attempts.reduce((sum, attempt) => sum + workOf(attempt), 0n)
    this.#recorded.add(chainId, attempts.length, work)
    if (attempts.at(-1)!.result === 'SUCCESS') this.#succeeded += 1
    if (attempts.length >= BACKTEST_ATTEMPTS_MAX) return this.#unknown.get('TOO_LONG')!.add(chainId, 0, 0n)
    const fate = replayChain(chain, (first) => this.#policyOf(chain, first))
    switch (fate.kind) {
      case 'SAME':
        this.#same += 1
        this.#laterMs += fate.laterMs
        break
      case 'EARLIER':
        this.#earlier.add(chainId, fate.attempts, fate.work)
        this.#soonerMs += fate.sooner
        if (fate.lost) this.#lose(chain)
        break
      case 'LONGER': {
        const keys = [...new Set(fate.retries.map((retry) => kindKey(chain.projectName, retry)))]
        this.#tallyOf(keys).add(chainId, fate.attempts, fate.work)
        break
      }
      case 'UNKNOWN':
        this.#unknown.get(fate.why)!.add(chainId, 0, 0n)
        break
    }
  }

  #lose({ name, projectName, chainId }: RecordedChain): void {
    const key = JSON.stringify([projectName, name])
    const lost = this.#lost.get(key) ?? { name, project: projectName, successes: 0, examples: [] }
    this.#lost.set(key, lost)
    lost.successes += 1
    lost.examples = newest([...lost.examples, chainId])
  }

  #tallyOf(keys: readonly string[]): Tally {
    if (keys.length === 0) return this.#longer
    const key = JSON.stringify(keys)
    const found = this.#estimated.get(key) ?? new Tally()
    this.#estimated.set(key, found)
    return found
  }

  /** Adds up. The comparable retries are those of all chains, so they are complete only now. */
  result(comparables: Comparables): Backtest {
    const longer = new Tally()
    longer.merge(this.#longer)
    const unknown = new Map([...this.#unknown].map(([reason, tally]) => [reason, copyOf(tally)]))
    const expected: Expected = { successes: 0, low: 0, high: 0, chains: 0, n: 0 }
    const used = new Map<string, Counted>()
    for (const [key, tally] of [...this.#estimated].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
      const known = (JSON.parse(key) as string[]).flatMap((each) => {
        const counted = comparables.get(each)
        return counted && isEnough(counted) ? [[each, counted] as const] : []
      })
      if (known.length === 0) unknown.get('NO_COMPARABLE')!.merge(tally)
      else {
        longer.merge(tally)
        const { share, low, high } = anySucceeds(known.map(([, counted]) => counted))
        for (const [each, counted] of known) used.set(each, counted)
        expected.chains += tally.chains
        expected.successes += tally.chains * share
        expected.low += tally.chains * low
        expected.high += tally.chains * high
      }
    }
    expected.n = [...used.values()].reduce((sum, { n }) => sum + n, 0)
    const lost = [...this.#lost.values()]
    return {
      recorded: { ...this.#recorded.totals(), succeeded: this.#succeeded },
      same: { chains: this.#same, laterSeconds: this.#laterMs / 1_000 },
      earlier: {
        ...this.#earlier.totals(),
        seconds: this.#soonerMs / 1_000,
        successesLost: lost.reduce((sum, { successes }) => sum + successes, 0),
        lost: lost.toSorted(byLoss).slice(0, BACKTEST_NAMES_MAX),
        examples: this.#earlier.examples,
      },
      longer: { ...longer.totals(), expected, examples: longer.examples },
      unknown: [...unknown]
        .filter(([, { chains }]) => chains > 0)
        .map(([reason, tally]) => ({ reason, ...tally.totals(), examples: tally.examples })),
    }
  }
}

function copyOf(tally: Tally): Tally {
  const copy = new Tally()
  copy.merge(tally)
  return copy
}

function byLoss(one: LostSuccesses, other: LostSuccesses): number {
  const [left, right] = [one, other].map(({ name, project }) => `${name}\u0000${project}`) as [string, string]
  return other.successes - one.successes || (left < right ? -1 : 1)
}
