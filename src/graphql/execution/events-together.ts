import {
  createSourceEventStream,
  type DocumentNode,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  visit,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { EVENT_FIELDS_TOGETHER_MAX, EVENTS_TOGETHER_MAX } from '../../domain/limits.ts'
import { hasReadTooMuch, readFor } from '../../services/consistent-reads.ts'
import { type GraphQLContext, readerOf, renew } from '../context.ts'
import type { AuthorizedEvents } from './authorized-events.ts'

/**
 * Executes waiting events together, with shared loaders and from one state of the database, and delivers them one by
 * one in their order. Events that need nothing from the database are executed one at a time, because they have nothing
 * to share.
 */
export function useEventsTogether(): Plugin<GraphQLContext> {
  return {
    onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe),
  }
}

async function subscribe(args: ExecutionArgs): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult> {
  const source = await createSourceEventStream(args)
  return Symbol.asyncIterator in source ? results(args, source as AuthorizedEvents<unknown>) : source
}

function results(args: ExecutionArgs, events: AuthorizedEvents<unknown>): AsyncIterableIterator<ExecutionResult> {
  const executeEvents = executor(args)
  let ready: ExecutionResult[] = []
  let last: Promise<unknown> = Promise.resolve()

  async function advance(): Promise<IteratorResult<ExecutionResult>> {
    if (ready.length === 0 && !events.ended) ready = await executeEvents(events)
    const result = events.ended ? undefined : ready.shift()
    return result ? { done: false, value: result } : { done: true, value: undefined }
  }

  return {
    next() {
      const turn = last.then(advance)
      last = turn.catch(() => {})
      return turn
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
function executor(args: ExecutionArgs): (events: AuthorizedEvents<unknown>) => Promise<ExecutionResult[]> {
  const context = args.contextValue as GraphQLContext
  const { consistently } = context.services
  const togetherMax = mostTogether(args.document)
  let together = 1

  async function inOneState(values: readonly unknown[]): Promise<{ made: ExecutionResult[]; tooLarge: boolean }> {
    const again = () => renew(context)
    const work = async () => {
      const made = values.map((rootValue) => execute({ ...args, rootValue }))
      together = made.some((result) => result instanceof Promise) ? togetherMax : 1
      return Promise.all(made.map(async (result) => result))
    }
    return readFor(readerOf(context), async () => {
      const made = await consistently({ kind: context, work, again })
      return { made, tooLarge: context.pace.exceeded || hasReadTooMuch() }
    })
  }

  return async (events) => {
    const values = await events.take(together)
    if (values === null) return []
    const { made, tooLarge } = await inOneState(values)
    if (values.length === 1 || !tooLarge) return made
    // The field limit of a single answer applies to each event: events that are within it alone are sent.
    const each: ExecutionResult[] = []
    for (const value of values) {
      renew(context)
      each.push(...(await inOneState([value])).made)
    }
    return each
  }
}

function mostTogether(document: DocumentNode): number {
  let fields = 0
  visit(document, { Field: () => void fields++ })
  return Math.min(EVENTS_TOGETHER_MAX, Math.max(1, Math.floor(EVENT_FIELDS_TOGETHER_MAX / fields)))
}
