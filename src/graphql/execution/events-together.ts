import {
  createSourceEventStream,
  type DocumentNode,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  visit,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { EVENT_FIELDS_TOGETHER_MAX, EVENTS_SENT_TOGETHER_MAX, EVENTS_TOGETHER_MAX } from '../../domain/limits.ts'
import { hasReadTooMuch, readFor } from '../../services/consistent-reads.ts'
import { type GraphQLContext, readerOf, renew } from '../context.ts'
import { presentErrors } from '../error-presentation.ts'
import type { AuthorizedEvents } from './authorized-events.ts'
import { findShared, keepShared, sharingKey, watchedViewer } from './shared-results.ts'

/** The results of a subscription, one by one or several at once. */
export interface EventResults extends AsyncIterableIterator<ExecutionResult> {
  /** The next results, in their order; none after the last. */
  nextTogether(): Promise<readonly ExecutionResult[]>
  /** True once nothing may be delivered any more, not even results that were taken earlier. */
  readonly ended: boolean
}

export function isEventResults(results: unknown): results is EventResults {
  return typeof results === 'object' && results !== null && 'nextTogether' in results
}

/**
 * Executes waiting events together, with shared loaders and from one state of the database, and delivers them in their
 * order. Events that need nothing from the database are executed once for all subscriptions that ask for the same.
 */
export function useEventsTogether(): Plugin<GraphQLContext> {
  return {
    onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe),
  }
}

async function subscribe(args: ExecutionArgs): Promise<EventResults | ExecutionResult> {
  const source = await createSourceEventStream(args)
  if (Symbol.asyncIterator in source) return resultsOf(args, source as AuthorizedEvents<unknown>)
  return presentErrors(source, args.contextValue as GraphQLContext)
}

function resultsOf(args: ExecutionArgs, events: AuthorizedEvents<unknown>): EventResults {
  const executeEvents = executor(args, events)
  let ready: readonly ExecutionResult[] = []
  let last: Promise<unknown> = Promise.resolve()

  async function advance(): Promise<IteratorResult<ExecutionResult>> {
    if (ready.length === 0 && !events.ended) ready = await executeEvents()
    const [result] = ready
    if (events.ended || !result) return { done: true, value: undefined }
    ready = ready.slice(1)
    return { done: false, value: result }
  }

  return {
    next() {
      const turn = last.then(advance)
      last = turn.catch(() => {})
      return turn
    },
    async nextTogether() {
      const results = await executeEvents()
      return events.ended ? [] : results
    },
    get ended() {
      return events.ended
    },
    async return() {
      await events.end()
      return { done: true, value: undefined }
    },
    async throw(error) {
      await events.end()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Returns a function that takes and executes the next events; it returns none after the last one. */
function executor(args: ExecutionArgs, events: AuthorizedEvents<unknown>): () => Promise<ExecutionResult[]> {
  const context = args.contextValue as GraphQLContext
  const { consistently } = context.services
  const key = sharingKey(args)
  let isPersonal = false
  context.viewer = watchedViewer(context.viewer, () => (isPersonal = true))
  const togetherMax = mostTogether(args.document)
  let needsDatabase = false

  function executeOne(rootValue: unknown): ExecutionResult | Promise<ExecutionResult> {
    isPersonal = false
    const made = execute({ ...args, rootValue })
    if (made instanceof Promise) needsDatabase = true
    // At once: other subscriptions are about to look for it.
    else if (!isPersonal) keepShared(rootValue, key, made)
    return made
  }

  async function inOneState(values: readonly unknown[]): Promise<{ made: ExecutionResult[]; tooLarge: boolean }> {
    renew(context)
    const again = () => renew(context)
    const work = async () => {
      needsDatabase = false
      return Promise.all(values.map(async (value) => executeOne(value)))
    }
    return readFor(readerOf(context), async () => {
      const made = await consistently({ kind: context, work, again })
      return { made, tooLarge: context.pace.exceeded || hasReadTooMuch() }
    })
  }

  async function executeTogether(values: readonly unknown[]): Promise<ExecutionResult[]> {
    const { made, tooLarge } = await inOneState(values)
    if (values.length === 1 || !tooLarge) return made
    // The field limit of a single answer applies to each event: events that are within it alone are sent.
    const each: ExecutionResult[] = []
    for (const value of values) each.push(...(await inOneState([value])).made)
    return each
  }

  async function executeOrFind(values: readonly unknown[]): Promise<ExecutionResult[]> {
    const found: ExecutionResult[] = []
    for (const [at, value] of values.entries()) {
      const result = findShared(value, key) ?? (await executeTogether([value]))[0]!
      found.push(result)
      if (!needsDatabase) continue
      events.putBack(values.slice(at + 1))
      break
    }
    return found
  }

  return async () => {
    const values = await events.take(needsDatabase ? togetherMax : EVENTS_SENT_TOGETHER_MAX)
    if (values === null) return []
    const made = await (needsDatabase ? executeTogether(values) : executeOrFind(values))
    return made.map((result) => presentErrors(result, context))
  }
}

/** By document, which is the same object each time its text is executed. */
const counted = new WeakMap<DocumentNode, number>()

function mostTogether(document: DocumentNode): number {
  const known = counted.get(document)
  if (known !== undefined) return known
  let fields = 0
  visit(document, { Field: () => void fields++ })
  const most = Math.min(EVENTS_TOGETHER_MAX, Math.max(1, Math.floor(EVENT_FIELDS_TOGETHER_MAX / fields)))
  counted.set(document, most)
  return most
}
