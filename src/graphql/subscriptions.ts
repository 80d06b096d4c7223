import { renew, type GraphQLContext } from './context.ts'

/**
 * A subscription's source under its token: counted while it is open, and ended when the token is no longer in
 * force. Before each event goes out, the token is checked again and what earlier events loaded is forgotten. The
 * executor asks for the next event only when it is done with the last, so nobody else uses the context then.
 *
 * @throws RepriseError TOO_MANY_SUBSCRIPTIONS; the source is ended then
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

  return {
    async next() {
      const result = await source.next()
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
    },
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
