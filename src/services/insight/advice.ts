import { z } from 'zod'
import { ADVICE_STATES, type AdvicePatch, type AdviceState } from '../../domain/insight/advice/advice.ts'
import { RepriseError } from '../../domain/errors.ts'
import { ADVICE_MAX } from '../../domain/limits.ts'
import type { RetryPolicy } from '../../domain/retry/policy/policy.ts'
import { parseRetryPolicy } from '../../domain/retry/policy/stored-policy.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { type AdviceRow, listAdvice, lockAdvice, setAdviceState } from '../../store/sql/insight/advice.sql.ts'
import { lockRetryDefaults, replaceRetryDefaults } from '../../store/sql/retry/retry-defaults.sql.ts'
import { readProjectScopes } from '../../store/sql/session/creation-scope.sql.ts'
import type { Queryable } from '../../store/database.ts'
import { actorOf, assertMayAdminister } from '../access/authorize.ts'
import { drainAgent, takeGpu } from '../agent/agents.ts'
import { argumentError, issuesUnder, parseInput, refuseInput } from '../input/parse-input.ts'
import { type RetryScopeInput, scopeIssues } from '../retry/retry-defaults.ts'
import { setRetrySwitch } from '../retry/retry-switches.ts'
import type { ServiceContext } from '../service-context.ts'
import { resolveInProject } from '../session/plan-attempt.ts'
import { type BacktestReport, backtestRetryPolicy } from './backtest.ts'
import type { ReadContext } from '../session/read-sessions.ts'

export type { AdviceRow }

export interface AdviceInput extends RetryScopeInput {
  /** Only that which is open if missing. */
  states?: readonly AdviceState[] | null
  /** Only this one, in any state. */
  adviceId?: string | null
}

/**
 * Reads advice that the viewer sees, what wastes most first: of one project, of a domain's projects, or of all projects with
 * that about machines.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readRetryAdvice(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  input: AdviceInput,
): Promise<AdviceRow[]> {
  const issues = scopeIssues(input)
  if (issues.length > 0) return refuseInput(issues)
  const { scope, name = null, adviceId = null } = input
  return listAdvice(db, {
    visibleProjectId: viewer.projectId,
    project: scope === 'PROJECT' ? name : null,
    domain: scope === 'DOMAIN' ? name : null,
    states: input.states ?? (adviceId === null ? ['OPEN'] : ADVICE_STATES),
    adviceId,
    limit: ADVICE_MAX,
  })
}

/**
 * What the change would have made of the finished chains of the project in the last 30 days; null if it changes no policy.
 * @throws RepriseError TOO_MANY_REQUESTS: the person has other backtests in progress
 */
export async function backtestAdvice(
  context: ReadContext,
  { patch, project }: AdviceRow,
  signal?: AbortSignal,
): Promise<BacktestReport | null> {
  if (patch.kind !== 'POLICY') return null
  return backtestRetryPolicy(context, { policy: patch.policy, base: 'OWN_POLICY', filter: { project } }, signal)
}

export interface AdviceTarget {
  adviceId: string
}

const targetSchema = z.object({ adviceId: z.uuid() })

/**
 * Makes the change that advice suggests. Advice about requests cannot be applied here: sessions request memory and time
 * where they are submitted.
 * @throws RepriseError ADVICE_NOT_FOUND, FORBIDDEN, VALIDATION_FAILED, and what the change throws
 */
export async function applyRetryAdvice(context: ServiceContext, input: AdviceTarget): Promise<AdviceRow> {
  const { db } = context
  const found = await db.transaction((tx) => findAdvice(context, tx, input))
  const { patch, project } = found
  switch (patch.kind) {
    case 'REQUEST':
      throw argumentError('adviceId', requestedElsewhere(patch))
    case 'BREAKER':
      await setRetrySwitch(context, { scope: 'PROJECT', name: project!, breaker: patch.breaker })
      break
    case 'DRAIN_AGENT':
      await drainAgent(context, { agentId: patch.agentId })
      break
    case 'TAKE_GPU':
      await takeGpu(context, { agentId: patch.agentId, uuid: patch.uuid })
      break
    case 'POLICY':
  }
  return change(context, input, 'APPLIED', 'retry.apply_advice', async (tx) => {
    if (patch.kind === 'POLICY') await layOverDefaults(context, tx, found, patch.policy)
  })
}

function requestedElsewhere({ name, memoryBytes }: AdvicePatch & { kind: 'REQUEST' }): string {
  const what = memoryBytes === undefined ? 'a batch timeout' : 'memory'
  return `Sessions named ${name} request ${what} where they are submitted: change it there, and dismiss this advice.`
}

/**
 * Says that advice is not wanted, or that it is after all. Dismissed advice returns when its evidence has doubled.
 * @throws RepriseError ADVICE_NOT_FOUND, FORBIDDEN
 */
export async function dismissRetryAdvice(
  context: ServiceContext,
  { adviceId, dismissed }: AdviceTarget & { dismissed?: boolean | null },
): Promise<AdviceRow> {
  const state = dismissed === false ? 'OPEN' : 'DISMISSED'
  return change(context, { adviceId }, state, 'retry.dismiss_advice', async () => undefined)
}

async function findAdvice({ viewer }: ServiceContext, tx: Queryable, input: AdviceTarget): Promise<AdviceRow> {
  assertMayAdminister(viewer, 'PROJECT')
  const { adviceId } = parseInput(targetSchema, input)
  const row = await lockAdvice(tx, adviceId, viewer.projectId)
  if (row === undefined) throw new RepriseError('ADVICE_NOT_FOUND', `no advice ${adviceId}`)
  return row
}

async function change(
  context: ServiceContext,
  input: AdviceTarget,
  state: AdviceState,
  action: string,
  work: (tx: Queryable) => Promise<void>,
): Promise<AdviceRow> {
  const { db, viewer } = context
  return db.transaction(async (tx) => {
    const { id, projectId, evidence, patch } = await findAdvice(context, tx, input)
    await work(tx)
    await setAdviceState(tx, id, state, viewer.name)
    const details = { adviceId: id, kind: evidence.kind, state, patch }
    await recordAudit(tx, { actor: actorOf(viewer), action, projectId, details })
    return (await lockAdvice(tx, id, viewer.projectId))!
  })
}

/** The advised rules come before those that new sessions of the project have now. */
async function layOverDefaults(
  { db, viewer }: ServiceContext,
  tx: Queryable,
  { project, projectId }: AdviceRow,
  advised: Partial<RetryPolicy>,
): Promise<void> {
  const stored = await lockRetryDefaults(tx, 'PROJECT', projectId!)
  const scope = (await readProjectScopes(db, [project!], viewer.projectId)).get(project!)
  const own = stored === null ? { policy: {} } : parseRetryPolicy(stored)
  const before = 'policy' in own ? own.policy : {}
  const rules = scope === undefined ? [] : resolveInProject({}, { ...scope, retryDefaults: stored }).policy.rules
  const laid = {
    ...before,
    ...advised,
    ...(advised.rules !== undefined && { rules: [...advised.rules, ...rules] }),
  }
  const parsed = parseRetryPolicy(laid)
  if ('issues' in parsed) return refuseInput(issuesUnder('policy', parsed.issues))
  await replaceRetryDefaults(tx, 'PROJECT', projectId!, parsed.policy)
}
