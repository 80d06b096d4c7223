import type { RetryRule } from '../../retry/policy/policy.ts'
import { type Advice, type AdvicePatch, examplesOf } from './advice.ts'
import { type AdvisedAttempt, ranSeconds, slotSecondsOf } from './attempts.ts'
import { median, quantile } from './statistics.ts'

const GIB = 2 ** 30
const MIB = 2 ** 20

/** Above the highest use of few runs. */
const MARGIN_OF_HIGHEST = 1.15

/** Advice about a resource needs as many chains that ran out of it, and as many retries that got no more of it. */
export const SHORT = { chains: 5, retries: 10 } as const

/** What a retry with more would have: at most this many times the highest request. */
const GROWTH = { factor: 2, most: 8 } as const

/** Of a resource that programs run out of: whether an attempt did, how much it had, and how much it used if that is known. */
interface Resource {
  ranOut: (attempt: AdvisedAttempt) => boolean
  amountOf: (attempt: AdvisedAttempt) => number | null
  usedBy: (attempt: AdvisedAttempt) => number | null
}

interface Shortage {
  /** Chains that ran out of it. */
  chains: AdvisedAttempt[][]
  /** The amounts of those that succeeded afterwards. */
  enough: number[]
  /** What the first attempts should have had: the most that a success used and a reserve, if that is known and less. */
  wanted: number
  request: number
  wasted: AdvisedAttempt[]
}

function shortageOf(chains: readonly AdvisedAttempt[][], { ranOut, amountOf, usedBy }: Resource): Shortage {
  const short = chains.filter((chain) => chain.some(ranOut))
  const successes = short.map((chain) => chain.at(-1)!).filter(({ outcome }) => outcome === 'SUCCEEDED')
  const enough = successes.map((attempt) => amountOf(attempt) ?? 0)
  const used = Math.max(...successes.map((attempt) => usedBy(attempt) ?? Infinity))
  const wanted = Math.min(used * MARGIN_OF_HIGHEST, ...enough)
  const wasted = short.flatMap((chain) => chain.filter(ranOut))
  const firsts = short.flatMap((chain) => amountOf(chain[0]!) ?? [])
  return { chains: short, enough, wanted, request: firsts.length === 0 ? 0 : median(firsts), wasted }
}

/** Of retries after running out that had no more than before: their number, if all of them ran out again. */
function retriesWithoutMore(chains: readonly AdvisedAttempt[][], { ranOut, amountOf }: Resource): number {
  const same = chains.flatMap((chain) =>
    chain.flatMap((attempt, index) => {
      const next = chain[index + 1]
      const isRetry = ranOut(attempt) && next !== undefined && next.outcome !== 'STOPPED'
      return isRetry && (amountOf(next) ?? 0) <= (amountOf(attempt) ?? 0) ? [ranOut(next)] : []
    }),
  )
  return same.length >= SHORT.retries && same.every(Boolean) ? same.length : 0
}

function wastedBy(wasted: readonly AdvisedAttempt[]): Pick<Advice, 'count' | 'slotSeconds' | 'gibHours' | 'examples'> {
  return {
    count: wasted.length,
    slotSeconds: wasted.reduce((sum, each) => sum + slotSecondsOf(each), 0),
    gibHours: wasted.reduce((sum, each) => sum + gibHoursOf(each, each.memoryBytes), 0),
    examples: examplesOf(wasted.map(({ chainId }) => chainId)),
  }
}

function gibHoursOf(attempt: AdvisedAttempt, bytes: number): number {
  return (ranSeconds(attempt) / 3_600) * (bytes / GIB) * attempt.kernels
}

const MEMORY: Resource = {
  ranOut: ({ outcome, cause }) => outcome === 'FAILED' && cause === 'OOM_KILLED',
  amountOf: ({ memoryBytes }) => (memoryBytes > 0 ? memoryBytes : null),
  usedBy: ({ peakMemoryBytes }) => peakMemoryBytes,
}

const TIME: Resource = {
  ranOut: ({ outcome, timedOut }) => outcome === 'FAILED' && timedOut,
  amountOf: ({ batchTimeoutSeconds }) => batchTimeoutSeconds,
  usedBy: ranSeconds,
}

/**
 * Programs that run out of memory: a larger first request for names whose chains then succeeded with more, and growth for
 * retries that were given no more than before.
 */
export function findTooLittleMemory(chains: readonly AdvisedAttempt[][]): Advice[] {
  const byName = [...Map.groupBy(chains, (chain) => chain[0]!.name)].flatMap(([name, own]): Advice[] => {
    const { chains: short, enough, wanted, request, wasted } = shortageOf(own, MEMORY)
    const leastBytes = Math.min(...enough)
    if (short.length < SHORT.chains || enough.length < SHORT.chains || wanted <= request) return []
    const evidence = memoryEvidence({ name, chains: short.length, succeeded: enough.length, leastBytes, request })
    const patch = { kind: 'REQUEST', name, memoryBytes: upToMib(wanted) } as const
    return [{ subject: `name ${name}`, evidence, patch, ...wastedBy(wasted) }]
  })
  const retries = retriesWithoutMore(chains, MEMORY)
  const { chains: short, request, wasted } = shortageOf(chains, MEMORY)
  if (retries === 0 || short.length < SHORT.chains) return byName
  const max = String(upToMib(Math.max(...short.flat().map(({ memoryBytes }) => memoryBytes)) * GROWTH.most))
  const growth: Advice = {
    subject: 'growth',
    evidence: {
      ...memoryEvidence({ name: null, chains: short.length, succeeded: 0, leastBytes: 0, request }),
      retries,
    },
    patch: {
      kind: 'POLICY',
      policy: {
        rules: [
          {
            match: { causes: ['OOM_KILLED'] },
            action: 'RETRY',
            scaleResources: [{ slot: 'mem', factor: GROWTH.factor, max }],
          },
        ],
      },
    },
    ...wastedBy(wasted),
  }
  return [growth, ...byName]
}

function memoryEvidence(given: {
  name: string | null
  chains: number
  succeeded: number
  leastBytes: number
  request: number
}) {
  const { request, ...rest } = given
  return { kind: 'MEMORY_TOO_LOW', ...rest, requestBytes: request, retries: 0 } as const
}

function upToMib(bytes: number): number {
  return Math.ceil(bytes / MIB) * MIB
}

/** The same for batch timeouts. */
export function findTooLittleTime(chains: readonly AdvisedAttempt[][]): Advice[] {
  const byName = [...Map.groupBy(chains, (chain) => chain[0]!.name)].flatMap(([name, own]): Advice[] => {
    const { chains: short, enough, wanted, request, wasted } = shortageOf(own, TIME)
    const leastSeconds = Math.min(...enough)
    if (short.length < SHORT.chains || enough.length < SHORT.chains || wanted <= request) return []
    const evidence = {
      kind: 'TIMEOUT_TOO_LOW' as const,
      name,
      chains: short.length,
      succeeded: enough.length,
      leastSeconds,
      timeoutSeconds: request,
      retries: 0,
    }
    const patch = { kind: 'REQUEST', name, timeoutSeconds: Math.ceil(wanted) } as const
    return [{ subject: `name ${name}`, evidence, patch, ...wastedBy(wasted), gibHours: 0 }]
  })
  const retries = retriesWithoutMore(chains, TIME)
  const { chains: short, request, wasted } = shortageOf(chains, TIME)
  if (retries === 0 || short.length < SHORT.chains) return byName
  const evidence = {
    kind: 'TIMEOUT_TOO_LOW' as const,
    name: null,
    chains: short.length,
    succeeded: 0,
    leastSeconds: 0,
    timeoutSeconds: request,
    retries,
  }
  const scaleTimeout = { factor: GROWTH.factor, max: Math.ceil(request * GROWTH.most) }
  const rule: RetryRule = { match: { reason: 'task-timeout' }, action: 'RETRY', scaleTimeout }
  const patch: AdvicePatch = { kind: 'POLICY', policy: { rules: [rule] } }
  return [{ subject: 'growth', evidence, patch, ...wastedBy(wasted), gibHours: 0 }, ...byName]
}

/** A run of a program, and how much memory it used. */
export interface MemoryUse {
  requestBytes: number
  peakBytes: number
}

/** Advice on memory needs this many runs, and saves at least half of the request. */
export const MEMORY_RUNS = 8
const FEW_RUNS = 30
const RUNS_MOST = 300
const MARGIN_OF_QUANTILE = 1.1
/** A peak this close to the limit may have been cut off by it. */
const CUT_OFF_SHARE = 0.95
export const WORTH_SHARE = 0.5

/**
 * The memory to request for the next run of a program: the highest peak and 15 % while there are few runs, later the 99th
 * percentile of the last 300 and 10 %. Never less than the last run used. A peak near its limit means at least that much,
 * so that it counts with the request.
 * @param runs those that succeeded, and those that ran out of memory, which used all of it; newest first
 * @returns bytes; null if there are too few runs
 */
export function memoryToRequest(runs: readonly MemoryUse[]): number | null {
  if (runs.length < MEMORY_RUNS) return null
  const recent = runs.slice(0, RUNS_MOST).map(needOf)
  const sorted = recent.toSorted((a, b) => a - b)
  const usual =
    sorted.length < FEW_RUNS ? sorted.at(-1)! * MARGIN_OF_HIGHEST : quantile(sorted, 0.99) * MARGIN_OF_QUANTILE
  return upToMib(Math.max(usual, recent[0]!))
}

function needOf({ requestBytes, peakBytes }: MemoryUse): number {
  return requestBytes > 0 && peakBytes >= CUT_OFF_SHARE * requestBytes ? Math.max(requestBytes, peakBytes) : peakBytes
}

/** Names that request far more memory than they use. An attempt that ran out of it needed at least what it had. */
export function findTooMuchMemory(attempts: readonly AdvisedAttempt[]): Advice[] {
  const measured = attempts.filter(
    (each) => MEMORY.ranOut(each) || (each.outcome === 'SUCCEEDED' && each.peakMemoryBytes !== null),
  )
  return [...Map.groupBy(measured, ({ name }) => name)].flatMap(([name, own]): Advice[] => {
    const newest = own.toSorted((a, b) => b.endedMs - a.endedMs)
    const requestBytes = newest[0]!.memoryBytes
    const runs = newest.map((each) => ({
      requestBytes: each.memoryBytes,
      peakBytes: MEMORY.ranOut(each) ? each.memoryBytes : each.peakMemoryBytes!,
    }))
    const wanted = memoryToRequest(runs)
    if (wanted === null || wanted > requestBytes * WORTH_SHARE) return []
    const highestBytes = Math.max(...runs.map(({ peakBytes }) => peakBytes))
    const saved = own.map((each) => gibHoursOf(each, Math.max(0, each.memoryBytes - wanted)))
    return [
      {
        subject: `name ${name}`,
        evidence: { kind: 'MEMORY_TOO_HIGH', name, attempts: own.length, requestBytes, highestBytes },
        patch: { kind: 'REQUEST', name, memoryBytes: wanted },
        count: own.length,
        slotSeconds: 0,
        gibHours: saved.reduce((sum, each) => sum + each, 0),
        examples: examplesOf(own.map(({ chainId }) => chainId)),
      },
    ]
  })
}
