import { makeResult, stringifyDocument, type Exchange, type Operation } from '@urql/core'
import { filter, fromPromise, mergeMap, pipe, takeUntil } from 'wonka'
import { isUnauthenticated } from './problem.ts'
import { connection } from './connection.ts'
import { resultOfError } from './partial-result.ts'
import { session } from './session.ts'

/** Sends queries and mutations through the client's own transport, with its timeouts and retries. */
export const connectionExchange: Exchange = () => (operations) =>
  pipe(
    operations,
    filter(({ kind }) => kind === 'query' || kind === 'mutation'),
    mergeMap((operation) => {
      const left = pipe(
        operations,
        filter(({ kind, key }) => kind === 'teardown' && key === operation.key),
      )
      return pipe(fromPromise(send(operation)), takeUntil(left))
    }),
  )

async function send(operation: Operation) {
  try {
    const data = await connection.request<unknown, object>(
      stringifyDocument(operation.query),
      (operation.variables as object | undefined) ?? {},
    )
    if (session.get() === 'unknown') session.set('known')
    return makeResult(operation, { data: data as Record<string, unknown>, hasNext: false })
  } catch (error) {
    if (isUnauthenticated(error) && session.get() === 'known') session.set('gone')
    return resultOfError(operation, error)
  }
}
