import { Client, type Exchange, gql, makeResult, type Operation } from '@urql/core'
import { expect, test } from 'vitest'
import { filter, fromPromise, mergeMap, pipe, subscribe } from 'wonka'
import { readAnew, withSentAt } from '../../../../src/ui/api/poll.ts'

const DOCUMENT = gql`
  query {
    state
  }
`

/** A client whose requests are answered when the test decides. */
function openClient() {
  const sent: { operation: Operation; answer: (state: string) => void }[] = []
  const exchange: Exchange = () => (operations) =>
    pipe(
      operations,
      filter(({ kind }) => kind === 'query'),
      mergeMap((operation) => {
        const sentAt = performance.now()
        const { promise, resolve } = Promise.withResolvers<ReturnType<typeof makeResult>>()
        sent.push({
          operation,
          answer: (state) => resolve(withSentAt(makeResult(operation, { data: { state }, hasNext: false }), sentAt)),
        })
        return fromPromise(promise)
      }),
    )
  return { client: new Client({ url: 'http://localhost', preferGetMethod: false, exchanges: [exchange] }), sent }
}

test('a new read sends a new request, even while an equal one is under way', async () => {
  const { client, sent } = openClient()
  const shown: string[] = []
  const { unsubscribe } = pipe(
    client.query<{ state: string }>(DOCUMENT, {}),
    subscribe(({ data }) => void shown.push(data!.state)),
  )
  expect(sent).toHaveLength(1)
  const reading = readAnew<{ state: string }, object>(client, DOCUMENT, {})
  sent[0]!.answer('as it was')
  await expect.poll(() => sent).toHaveLength(2)
  sent[1]!.answer('as it is')
  expect((await reading).data).toEqual({ state: 'as it is' })
  expect(shown.at(-1)).toBe('as it is')
  expect(sent).toHaveLength(2)
  unsubscribe()
})
