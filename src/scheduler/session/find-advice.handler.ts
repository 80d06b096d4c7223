import { v7 as uuidv7 } from 'uuid'
import { AdviceSearch } from '../../domain/insight/advice/find-advice.ts'
import type { AdvisedAttempt } from '../../domain/insight/advice/attempts.ts'
import type { Advice } from '../../domain/insight/advice/advice.ts'
import {
  ADVICE_ATTEMPTS_MAX,
  ADVICE_BATCH_ATTEMPTS_MAX,
  ADVICE_INTERVAL_MS,
  ADVICE_KEPT_MS,
  ADVICE_SPAN_MS,
} from '../../domain/limits.ts'
import { nextTurn } from '../../services/next-turn.ts'
import type { Database } from '../../store/database.ts'
import {
  type AttemptsBefore,
  claimAdviceRound,
  forgetAdvice,
  readAdvisedAttempts,
  readAdvisedProjects,
  storeAdvice,
} from '../../store/sql/insight/advice.sql.ts'
import type { RunReport } from '../background-service.ts'

/**
 * Looks for advice in the attempts of the last month, project by project, once an hour on one of the servers. Each project's
 * advice is replaced in one statement; what a crash leaves out is found in the next round.
 */
export async function findAdvice({ db }: { db: Database }): Promise<RunReport> {
  if (!(await claimAdviceRound(db, ADVICE_INTERVAL_MS))) return { done: 0, more: false }
  const projects = await readAdvisedProjects(db, ADVICE_SPAN_MS)
  const search = new AdviceSearch()
  for (const projectId of projects) {
    const advice = await inTurns(search.addProject(await readAttempts(db, projectId)))
    await storeAdvice(db, projectId, advice.map(withId), ADVICE_KEPT_MS)
  }
  await storeAdvice(db, null, search.places().map(withId), ADVICE_KEPT_MS)
  await forgetAdvice(db, projects)
  return { done: projects.length, more: false }
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
  return { ...advice, id: uuidv7() }
}
