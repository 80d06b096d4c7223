import { newId } from '../../store/new-id.ts'
import { AdviceSearch } from '../../domain/insight/advice/find-advice.ts'
import type { AdvisedAttempt } from '../../domain/insight/advice/attempts.ts'
import type { Advice } from '../../domain/insight/advice/advice.ts'
import {
  ADVICE_ATTEMPTS_MAX,
  ADVICE_BATCH_ATTEMPTS_MAX,
  ADVICE_INTERVAL_MS,
  ADVICE_KEPT_MS,
  ADVICE_MAX,
  REASON_LENGTH_MAX,
  ADVICE_SPAN_MS,
} from '../../domain/limits.ts'
import { nextTurn } from '../../services/next-turn.ts'
import { actorNamed } from '../../services/access/authorize.ts'
import { LEASE } from '../../domain/agent/lease.ts'
import { sayAdvice } from '../../domain/insight/advice/say-advice.ts'
import type { Wake } from '../../domain/wake.ts'
import type { Logger } from '../../observability/log.ts'
import { drainAgentRow, takeGpuRow } from '../../store/sql/agent/agents.sql.ts'
import type { Database } from '../../store/database.ts'
import {
  type AttemptsBefore,
  claimAdviceRound,
  forgetAdvice,
  listMachineAdvice,
  lockAdvice,
  maySpareAgent,
  setAdviceState,
  readAdvisedAttempts,
  readAdvisedProjects,
  storeAdvice,
} from '../../store/sql/insight/advice.sql.ts'
import type { RunReport } from '../background-service.ts'

interface AdviceContext {
  db: Database
  wake: Wake
  log: Logger
  /** Whether bad agents and GPUs are taken out of service without being asked. */
  quarantines: boolean
}

/**
 * Looks for advice in the attempts of the last month, project by project, once an hour on one of the servers. Each project's
 * advice is replaced in one statement; what a crash leaves out is found in the next round.
 */
export async function findAdvice({ db, wake, log, quarantines }: AdviceContext): Promise<RunReport> {
  if (!(await claimAdviceRound(db, ADVICE_INTERVAL_MS))) return { done: 0, more: false }
  const projects = await readAdvisedProjects(db, ADVICE_SPAN_MS)
  const search = new AdviceSearch()
  for (const projectId of projects) {
    const advice = await inTurns(search.addProject(await readAttempts(db, projectId)))
    await storeAdvice(db, projectId, advice.map(withId), ADVICE_KEPT_MS)
  }
  await storeAdvice(db, null, search.places().map(withId), ADVICE_KEPT_MS)
  await forgetAdvice(db, projects)
  if (quarantines) await quarantine({ db, wake, log })
  return { done: projects.length, more: false }
}

/** The name under which the audit log has what it does. */
const ACTOR = 'find-advice'

/**
 * Takes machines out of service about which there is open advice, as long as enough others are left. Each is changed in the
 * same transaction as its advice, so that it happens once.
 */
async function quarantine({ db, wake, log }: Omit<AdviceContext, 'quarantines'>): Promise<void> {
  for (const advice of await listMachineAdvice(db, ADVICE_MAX)) {
    const { patch, evidence, named } = advice
    const reason = sayAdvice(evidence, patch, named).finding.slice(0, REASON_LENGTH_MAX)
    const by = { reason, actor: { ...actorNamed(ACTOR), reason }, fenceMarginMs: LEASE.fenceMarginMs }
    const changed = await db.transaction(async (tx) => {
      const row = await lockAdvice(tx, advice.id, null)
      if (row?.state !== 'OPEN') return false
      if (patch.kind === 'DRAIN_AGENT') {
        if (!(await maySpareAgent(tx))) return false
        await drainAgentRow(tx, { ...by, agentId: patch.agentId })
      } else if (patch.kind === 'TAKE_GPU') {
        await takeGpuRow(tx, { ...by, agentId: patch.agentId, uuid: patch.uuid }, `taken out by ${ACTOR}: ${reason}`)
      }
      await setAdviceState(tx, advice.id, 'APPLIED', ACTOR)
      return true
    })
    if (!changed) continue
    log.warn({ advice: advice.id }, `taken out of service: ${reason}`)
    if (patch.kind === 'TAKE_GPU') wake.wakeAgents([patch.agentId])
  }
}

async function readAttempts(db: Database, projectId: string): Promise<AdvisedAttempt[]> {
  const all: AdvisedAttempt[] = []
  let before: AttemptsBefore | null = null
  do {
    const page: { attempts: AdvisedAttempt[]; next: AttemptsBefore | null } = await readAdvisedAttempts(db, projectId, {
      spanMs: ADVICE_SPAN_MS,
      before,
      limit: ADVICE_BATCH_ATTEMPTS_MAX,
    })
    all.push(...page.attempts)
    before = page.next
  } while (before !== null && all.length < ADVICE_ATTEMPTS_MAX)
  return all
}

/** Serves other requests between the steps. */
async function inTurns(steps: Generator<void, Advice[]>): Promise<Advice[]> {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    await nextTurn()
  }
}

function withId(advice: Advice): Advice & { id: string } {
  return { ...advice, id: newId() }
}
