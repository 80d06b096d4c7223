import { createHash } from 'node:crypto'
import { RepriseError } from '../domain/errors.ts'
import { CLIENT_KEY_KEPT_DAYS_MAX } from '../domain/limits.ts'
import type { Wake } from '../domain/wake.ts'
import type { Database, Queryable } from '../store/database.ts'
import { takeClientKey, writeAnswer } from '../store/sql/client-keys.sql.ts'
import { canonicalJson } from './input/parse-input.ts'
import type { ServiceContext } from './service-context.ts'

/** A request that a client may repeat, because it got no answer. */
interface KeyedRequest {
  /** Idempotency key chosen by the client, unique in the project of the token. */
  key: string
  /** The mutation. */
  operation: string
  /** Its input, to which the key belongs. */
  input: object
}

/**
 * Does work once for a client key, however often the request is repeated: the key, the work and its answer are written in
 * one transaction. A repeated request returns the answer of the first one; one that failed leaves no trace and is done
 * again. The answer must consist of ids: it is stored, and names what is read afterwards.
 * @throws RepriseError CLIENT_KEY_REUSED if the key belongs to another request, and what `work` throws
 */
export async function once<Context extends ServiceContext, Answer extends object>(
  context: Context,
  { key, operation, input }: KeyedRequest,
  work: (context: Context) => Promise<Answer>,
): Promise<Answer> {
  const { db, viewer, wake } = context
  const owner = { projectId: viewer.projectId, key }
  // Times become text.
  const request: unknown = JSON.parse(JSON.stringify({ operation, input }))
  const hash = createHash('sha256').update(canonicalJson(request)).digest('hex')
  const later = deferred(wake)
  const answer = await db.transaction(async (tx) => {
    const known = await takeClientKey(tx, owner, { hash, keptDays: CLIENT_KEY_KEPT_DAYS_MAX })
    if (known && known.requestHash !== hash)
      throw new RepriseError('CLIENT_KEY_REUSED', `the client key ${key} belongs to a request with another input`)
    if (known) return known.answer as Answer
    const done = await work({ ...context, db: within(db, tx), wake: later.wake })
    await writeAnswer(tx, owner, done)
    return done
  })
  later.flush()
  return answer
}

/** The database as seen by work inside this transaction: its own transactions become part of it. */
function within(db: Database, tx: Queryable): Database {
  // A transaction's `query` is a plain function.
  const { query } = tx
  return {
    query,
    queryWithin: (_timeoutMs, text, values) => query(text, values),
    transaction: (work) => work(tx),
    opened: () => db.opened(),
    close: () => Promise.reject(new Error('a transaction does not close the database')),
  }
}

/** Keeps signals until the transaction has been committed. */
function deferred(wake: Wake): { wake: Wake; flush: () => void } {
  const signals: (() => void)[] = []
  return {
    wake: {
      wake: (...topics) => signals.push(() => wake.wake(...topics)),
      wakeAgents: (agentIds) => signals.push(() => wake.wakeAgents(agentIds)),
    },
    flush: () => {
      for (const signal of signals) signal()
    },
  }
}
