import { type Backtest, Comparables, PolicyBacktest } from '../../domain/insight/backtest/backtest.ts'
import type { RecordedAttempt, RecordedChain } from '../../domain/insight/backtest/replay-chain.ts'
import {
  BACKTEST_BATCH_SESSIONS_MAX,
  BACKTEST_CHAINS_MAX,
  BACKTEST_PROGRESS_EVERY_MS,
  BACKTEST_SPAN_DEFAULT_MS,
  BACKTEST_WAIT_MAX_MS,
  BACKTESTS_AT_ONCE_MAX,
  BACKTESTS_PER_PERSON_MAX,
  BACKTESTS_WAITING_MAX,
} from '../../domain/limits.ts'
import { type AirflowExplanation, convertAirflowSettings, parseAirflowSettings } from '../../domain/retry/airflow.ts'
import { type RetryPolicy, type RetryRule, SHIPPED_POLICY } from '../../domain/retry/policy/policy.ts'
import { exactTable, resolvePolicy } from '../../domain/retry/policy/resolve-policy.ts'
import { parseRetryPolicy, readStoredPolicy } from '../../domain/retry/policy/stored-policy.ts'
import { isStorableMoment, STORABLE_MOMENT } from '../../domain/storable-text.ts'
import type { SessionWhere } from '../../store/prisma.ts'
import { readFinishedChains, type WantedFacts } from '../../store/sql/insight/finished-chains.sql.ts'
import { readNow } from '../../store/sql/server.sql.ts'
import { readProjectScopes } from '../../store/sql/session/creation-scope.sql.ts'
import { createTurns, type Turns } from '../../store/turns.ts'
import { readApart, readForServer } from '../consistent-reads.ts'
import { mapInTurns } from '../next-turn.ts'
import { argumentError, issuesUnder, refuseInput } from '../input/parse-input.ts'
import { resolveInProject } from '../session/plan-attempt.ts'
import type { ReadContext } from '../session/read-sessions.ts'
import { type SessionFilterInput, sessionWhere } from '../session/session-where.ts'

/** What the fields of a policy that is tried are laid over. */
export const BACKTEST_BASES = ['DEFAULTS', 'OWN_POLICY'] as const
export type BacktestBase = (typeof BACKTEST_BASES)[number]

export interface BacktestInput {
  policy: object
  /**
   * DEFAULTS (if missing): as for a new session of the project. OWN_POLICY: the policy that each chain really had, whose
   * rules follow the given ones.
   */
  base?: BacktestBase | null
  /** Settings of an Airflow operator, to compare with. */
  airflow?: object | null
  filter?: SessionFilterInput | null
  /** When an attempt that matches ended; the last 30 days if missing. */
  window?: { from?: Date | null; to?: Date | null } | null
}

export interface BacktestReport {
  from: Date
  to: Date
  /** Whether all chains of the window were replayed; if not, the newest BACKTEST_CHAINS_MAX. */
  isComplete: boolean
  backtest: Backtest
  /** Null if no settings of Airflow were given. */
  airflow: { backtest: Backtest; explanation: AirflowExplanation } | null
}

export interface BacktestProgress {
  /** Part of the window that has been read, 0 to 1. */
  share: number
  chains: number
  /** Null until the end. */
  report: BacktestReport | null
}

/** The policy that a chain would have had, by the first attempt of an epoch. */
export type PolicyOf = (chain: RecordedChain, first: RecordedAttempt) => RetryPolicy

interface Plan {
  from: Date
  to: Date
  where: SessionWhere
  wanted: WantedFacts
  projects: readonly { id: string; name: string }[]
  policyOf: PolicyOf
  airflow: { policy: RetryPolicy; explanation: AirflowExplanation } | null
}

/**
 * Replays the finished chains that have an attempt which matches and ended within the window, newest first, and reports
 * its progress after each batch. Reads in batches, each with its own statement, so that no long snapshot keeps the
 * database from cleaning up. Changes nothing. Ends early when `signal` aborts, or when the consumer stops.
 *
 * @throws RepriseError VALIDATION_FAILED; TOO_MANY_REQUESTS: the person has other backtests in progress
 */
export async function followBacktest(
  context: ReadContext,
  input: BacktestInput,
  signal?: AbortSignal,
): Promise<AsyncGenerator<BacktestProgress, void, void>> {
  // A snapshot would hold its connection while this waits for its turn.
  const plan = await readApart(() => planBacktest(context, input))
  return run(context, plan, signal)
}

/** Runs a backtest to its end. @throws RepriseError as `followBacktest` */
export async function backtestRetryPolicy(
  context: ReadContext,
  input: BacktestInput,
  signal?: AbortSignal,
): Promise<BacktestReport> {
  for await (const { report } of await followBacktest(context, input, signal)) if (report !== null) return report
  throw signal?.reason ?? new Error('a backtest ended without a report')
}

/** The backtest of chains that have been read already, under each of several policies. */
export function backtestChains(chains: readonly RecordedChain[], policies: readonly PolicyOf[]): Backtest[] {
  const comparables = new Comparables()
  const runs = policies.map((policyOf) => new PolicyBacktest(policyOf))
  for (const chain of chains) for (const each of [comparables, ...runs]) each.add(chain)
  return runs.map((each) => each.result(comparables))
}

async function* run(
  context: ReadContext,
  plan: Plan,
  signal: AbortSignal | undefined,
): AsyncGenerator<BacktestProgress, void, void> {
  const { db, viewer } = context
  const { persons, batches } = turnsOf(db)
  const leave = await persons.take(viewer.userId ?? viewer.tokenId)
  try {
    const comparables = new Comparables()
    const own = new PolicyBacktest(plan.policyOf)
    const { airflow } = plan
    const theirs = airflow && new PolicyBacktest(() => airflow.policy)
    const replays = theirs === null ? [comparables, own] : [comparables, own, theirs]
    const replay = (chain: RecordedChain) => {
      for (const each of replays) each.add(chain)
    }
    let chains = 0
    let isComplete = true
    let toldMs = performance.now()
    for await (const batch of replayBatches(context, plan, { replay, batches, signal })) {
      chains += batch.chains
      isComplete = chains < BACKTEST_CHAINS_MAX
      if (!isComplete) break
      if (performance.now() - toldMs < BACKTEST_PROGRESS_EVERY_MS) continue
      toldMs = performance.now()
      yield { share: batch.share, chains, report: null }
    }
    const { from, to } = plan
    const compared = theirs && { backtest: theirs.result(comparables), explanation: airflow.explanation }
    const report = { from, to, isComplete, backtest: own.result(comparables), airflow: compared }
    yield { share: 1, chains, report }
  } finally {
    leave()
  }
}

/** Backtests take turns: those of one person, and the batches of all, which share the event loop. */
interface BacktestTurns {
  persons: Turns
  batches: Turns
}

const turnsOfServers = new WeakMap<object, BacktestTurns>()

function turnsOf(db: ReadContext['db']): BacktestTurns {
  const known = turnsOfServers.get(db)
  if (known) return known
  const withinMs = BACKTEST_WAIT_MAX_MS
  const made = {
    persons: createTurns({ atOnce: BACKTESTS_PER_PERSON_MAX, waitingMax: BACKTESTS_WAITING_MAX, withinMs }),
    batches: createTurns({ atOnce: BACKTESTS_AT_ONCE_MAX, waitingMax: Infinity, withinMs }),
  }
  turnsOfServers.set(db, made)
  return made
}

interface Batch {
  chains: number
  share: number
}

const EVERYBODY = 'everybody'

/** Reads and replays the chains of a plan, each once: project by project, newest end first. */
async function* replayBatches(
  context: ReadContext,
  plan: Plan,
  options: { replay: (chain: RecordedChain) => void; batches: Turns; signal: AbortSignal | undefined },
): AsyncGenerator<Batch, void, void> {
  const { replay, batches, signal } = options
  const { from, to, projects } = plan
  const seen = new Set<string>()
  const span = to.getTime() - from.getTime()
  for (const [index, project] of projects.entries()) {
    let before: Keyset | null = null
    do {
      signal?.throwIfAborted()
      // A consumer that does not go on holds no turn.
      const leave = await batches.take(EVERYBODY)
      let chains = 0
      try {
        const read = () => readBatch(context, plan, { projectId: project.id, before, seen })
        // Its bytes are not part of the answer, whose size is bounded. It waits for no connection of its reader, because
        // requests of the same reader that wait for their turn may hold all of these.
        const found = await readForServer(read)
        await mapInTurns(found.chains, replay)
        chains = found.chains.length
        before = found.next
      } finally {
        leave()
      }
      const done: number = before === null ? 1 : (to.getTime() - before.terminatedAt.getTime()) / span
      yield { chains, share: (index + done) / projects.length }
    } while (before !== null)
  }
}

interface Keyset {
  terminatedAt: Date
  id: string
}

/** Index: sessions_over. */
async function readBatch(
  { db, prisma }: ReadContext,
  { where, from, to, wanted }: Plan,
  { projectId, before, seen }: { projectId: string; before: Keyset | null; seen: Set<string> },
): Promise<{ chains: RecordedChain[]; next: Keyset | null }> {
  const after = before && { OR: [{ terminatedAt: { lt: before.terminatedAt } }, { id: { lt: before.id } }] }
  const rows = await prisma.session.findMany({
    where: {
      projectId,
      sessionType: 'BATCH',
      status: { in: ['TERMINATED', 'ERROR', 'CANCELLED'] },
      terminatedAt: { gte: from, ...(before === null ? { lt: to } : { lte: before.terminatedAt }) },
      AND: after ? [where, after] : [where],
    },
    orderBy: [{ terminatedAt: 'desc' }, { id: 'desc' }],
    select: { id: true, chainId: true, terminatedAt: true },
    take: BACKTEST_BATCH_SESSIONS_MAX,
  })
  const fresh = [...new Set(rows.map(({ chainId }) => chainId))].filter((id) => !seen.has(id))
  for (const id of fresh) seen.add(id)
  const last = rows.length < BACKTEST_BATCH_SESSIONS_MAX ? undefined : rows.at(-1)
  return {
    chains: fresh.length === 0 ? [] : await readFinishedChains(db, { projectId, chainIds: fresh }, wanted),
    next: last ? { terminatedAt: last.terminatedAt!, id: last.id } : null,
  }
}

async function planBacktest(context: ReadContext, input: BacktestInput): Promise<Plan> {
  const { db, prisma, viewer } = context
  const parsed = parseRetryPolicy(input.policy)
  if ('issues' in parsed) return refuseInput(issuesUnder('policy', parsed.issues))
  const airflow = input.airflow == null ? null : airflowPolicy(input.airflow)
  const to = input.window?.to ?? (await readNow(db))
  const from = input.window?.from ?? new Date(to.getTime() - BACKTEST_SPAN_DEFAULT_MS)
  if (![from, to].every(isStorableMoment)) throw argumentError('window', STORABLE_MOMENT)
  if (from >= to) throw argumentError('window', '`from` must be before `to`')
  const where = sessionWhere(input.filter)
  const visible = viewer.projectId === null ? {} : { id: viewer.projectId }
  const named = input.filter?.project == null ? {} : { name: input.filter.project }
  const projects = await prisma.project.findMany({
    where: { AND: [visible, named] },
    select: { id: true, name: true },
    orderBy: { name: 'asc' },
  })
  const isOwn = input.base === 'OWN_POLICY'
  const laid = isOwn ? null : await overDefaults(context, parsed.policy, projects)
  const policies = [...(laid?.policies ?? []), ...(airflow ? [airflow.policy] : [])]
  const wanted = {
    peakMemory: isOwn || policies.some(({ rules }) => rules.some(startsFromPeak)),
    gpuMemory: isOwn || policies.some(({ rules }) => rules.some((rule) => rule.scaleGpuMemory !== undefined)),
    ownPolicies: isOwn || policies.some(({ jitter }) => jitter !== 'NONE' && jitter !== 'DETERMINISTIC'),
  }
  return { from, to, where, wanted, projects, policyOf: laid?.policyOf ?? overOwn(parsed.policy), airflow }
}

function startsFromPeak({ scaleResources }: RetryRule): boolean {
  return scaleResources?.some(({ from }) => from === 'PEAK') ?? false
}

function airflowPolicy(input: object): Plan['airflow'] {
  const parsed = parseAirflowSettings(input)
  if ('issues' in parsed) return refuseInput(issuesUnder('airflow', parsed.issues))
  const { policy, explanation } = convertAirflowSettings(parsed.settings)
  return { policy: resolvePolicy([{ source: 'SESSION', policy }]).policy, explanation }
}

async function overDefaults(
  { db, viewer }: ReadContext,
  policy: Partial<RetryPolicy>,
  projects: readonly { name: string }[],
): Promise<{ policyOf: PolicyOf; policies: RetryPolicy[] }> {
  const names = projects.map(({ name }) => name)
  const scopes = await readProjectScopes(db, names, viewer.projectId)
  const policies = new Map([...scopes].map(([name, scope]) => [name, resolveInProject(policy, scope).policy]))
  const alone = resolvePolicy([{ source: 'SESSION', policy }]).policy
  return { policyOf: ({ projectName }) => policies.get(projectName) ?? alone, policies: [...policies.values(), alone] }
}

/** A policy that cannot be read allowed no retry. */
const UNREADABLE: RetryPolicy = { ...SHIPPED_POLICY, maxRetries: 0 }

/** The given fields in place of a chain's own; its own rules follow the given ones. */
export function overOwn(policy: Partial<RetryPolicy>): PolicyOf {
  const given = exactTable(policy)
  const made = new WeakMap<object, RetryPolicy>()
  return (_chain, { retryPolicy }) => {
    const key = retryPolicy as object
    const known = made.get(key)
    if (known) return known
    const own = readStoredPolicy(retryPolicy)
    const base = typeof own === 'string' ? UNREADABLE : own
    const laid = typeof own === 'string' ? base : { ...base, ...given, rules: [...(given.rules ?? []), ...base.rules] }
    made.set(key, laid)
    return laid
  }
}
