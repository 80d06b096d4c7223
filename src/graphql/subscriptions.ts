import { renew, type GraphQLContext } from './context.ts'

/**
 * Before each event goes out, the token is checked again and what earlier events loaded is forgotten. The
 * executor asks for the next event only when it is done with the last, so nobody else uses the context then.
 */
export function authorizedStream<T>(
  context: GraphQLContext,
  source: AsyncIterableIterator<T>,
): AsyncIterableIterator<T> {
  return {
    async next() {
      const result = await source.next()
      if (result.done) return result
      if (!(await context.stillAuthorized())) {
        await source.return?.()
        context.revoked()
        return { done: true, value: undefined }
      }
      renew(context)
      return result
    },
    async return() {
      await source.return?.()
      return { done: true, value: undefined }
    },
    async throw(error) {
      await source.return?.()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
