import { readFor } from '../services/consistent-reads.ts'
import { readerOf, renew, type GraphQLContext } from './context.ts'
import { presentThrown } from './error-presentation.ts'

/**
 * Binds a subscription's source to its token: it counts as open until it ends, and it ends when the token is no longer
 * valid. Before each event is delivered, the token is checked again and everything loaded for earlier events is
 * forgotten. The executor requests an event only after it has finished the previous one, so nobody else uses the
 * context at that moment. What an event is resolved to is read in one state of the database. A fault of the source or of the check ends it with an error that clients can act on: such
 * faults pass by the executor, which reports what they throw as it is.
 * @throws RepriseError TOO_MANY_SUBSCRIPTIONS, after ending the source
 */
export function authorizedStream<T>(
  context: GraphQLContext,
  source: AsyncIterableIterator<T>,
): AsyncIterableIterator<T> {
  const { stillAuthorized, connection, viewer } = context
  const revoke = () => {
    void end()
    context.revoked()
  }

  let leave = () => {}
  try {
    const { openSubscriptions } = context.services
    leave = openSubscriptions.open({ tokenId: viewer.tokenId, connection, stillAuthorized, end: revoke })
  } catch (error) {
    void source.return?.()
    throw error
  }

  async function end(): Promise<void> {
    leave()
    await source.return?.()
  }

  async function advance(): Promise<IteratorResult<T>> {
    try {
      const result = await readFor(readerOf(context), () => source.next())
      if (result.done) {
        leave()
        return result
      }
      if (!(await stillAuthorized())) {
        await end()
        context.revoked()
        return { done: true, value: undefined }
      }
      renew(context)
      return result
    } catch (thrown) {
      await end()
      throw presentThrown(thrown, context)
    }
  }

  return {
    next: () => resolvedConsistently(advance(), context),
    async return() {
      await end()
      return { done: true, value: undefined }
    },
    async throw(error) {
      await end()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/**
 * The executor resolves an event in the callback that it gives to `then` of what `next` returns, and nowhere else is
 * there a place for it: so this is where the reads of an event are joined.
 */
function resolvedConsistently<T>(
  next: Promise<IteratorResult<T>>,
  context: GraphQLContext,
): Promise<IteratorResult<T>> {
  const { consistently } = context.services
  const again = () => renew(context)
  return {
    // oxlint-disable-next-line unicorn/no-thenable -- see above
    then(onResult, onError) {
      if (!onResult) return next.then(onResult, onError)
      return next.then(async (result) => {
        if (result.done) return onResult(result)
        const work = async () => onResult(result)
        return readFor(readerOf(context), () => consistently({ kind: context, work, again }))
      }, onError)
    },
    catch: (onError) => next.catch(onError),
    finally: (onEnd) => next.finally(onEnd),
    [Symbol.toStringTag]: 'Promise',
  }
}
