import { Client, createRequest, type Exchange, gql, makeResult, type Operation } from '@urql/core'
import { describe, expect, test } from 'vitest'
import { filter, fromPromise, mergeMap, pipe, subscribe } from 'wonka'
import { errorOfFaults } from '../../../src/client/errors.ts'
import { oneAtATime, readAnew, withSentAt } from '../../../src/ui/api/poll.ts'
import { placeFaults, problemOf, resultOfError } from '../../../src/ui/api/problem.ts'

describe('requests one at a time', () => {
  /** Work that ends on request, and counts its runs. */
  function work() {
    const ends: (() => void)[] = []
    let running = 0
    let most = 0
    return {
      ends,
      most: () => most,
      run: () => {
        most = Math.max(most, ++running)
        return new Promise<void>((resolve) => ends.push(resolve)).finally(() => running--)
      },
    }
  }
  const settle = () => new Promise((resolve) => setTimeout(resolve))

  test('calls during a run share one run that begins after it', async () => {
    const { run, ends, most } = work()
    const ask = oneAtATime(run)
    const first = ask()
    const later = [ask(), ask(), ask()]
    await settle()
    expect(ends).toHaveLength(1)
    ends[0]!()
    await settle()
    expect(ends).toHaveLength(2)
    let ended = 0
    for (const each of [first, ...later]) void each.then(() => ended++)
    await settle()
    expect(ended).toBe(0)
    ends[1]!()
    await Promise.all([first, ...later])
    expect(most()).toBe(1)
    expect(ends).toHaveLength(2)
  })

  test('after it has ended it runs again, also after a failure', async () => {
    let runs = 0
    const ask = oneAtATime(async () => {
      runs++
      if (runs === 1) throw new Error('away')
    })
    await expect(ask()).rejects.toThrow('away')
    await ask()
    await ask()
    expect(runs).toBe(3)
  })
})

describe('partial results', () => {
  const operation = {
    ...createRequest('query { now auditLog { totalCount } deployments { totalCount } }', {}),
    kind: 'query',
    context: { url: '/graphql', requestPolicy: 'network-only' },
  } as Operation
  const faults = [
    {
      message: 'for administrators',
      path: ['auditLog'],
      extensions: { code: 'FORBIDDEN', requestId: 'request-1', issues: [] },
    },
  ]

  test('has the part that is there, with the missing part and the reason', () => {
    const data = { now: '2026-11-23T12:00:00Z', auditLog: null, deployments: { totalCount: 3 } }
    const result = resultOfError(operation, errorOfFaults(faults, data))
    expect(result.data).toEqual(data)
    expect(result.error?.graphQLErrors[0]?.path).toEqual(['auditLog'])
    expect(problemOf(result.error)).toEqual({
      message: 'for administrators',
      code: 'FORBIDDEN',
      requestId: 'request-1',
      issues: [],
    })
  })

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['nothing that anybody asked for', { now: '2026-11-23T12:00:00Z', eventCursor: '1-2', node: null }],
  ])('is its error alone where there is %s', (_, data) => {
    const result = resultOfError(operation, errorOfFaults(faults, data))
    expect(result.data).toBeUndefined()
    expect(problemOf(result.error)).toMatchObject({ code: 'FORBIDDEN', requestId: 'request-1' })
  })

  test('an error on the way to the server is returned unchanged', () => {
    const result = resultOfError(operation, 'cut')
    expect(problemOf(result.error)).toMatchObject({ message: 'cut', code: null })
  })
})

describe('reading again', () => {
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

  test('a refresh sends a new request, also while the same is being read', async () => {
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
})

describe('faults', () => {
  const FIELDS = ['name', 'slots', 'rateLimit', 'rateLimit.burst']
  const placed = (issues: { path: string; message: string }[], message = 'all', code: string | null = null) =>
    placeFaults({ issues, message, code }, FIELDS, { PROJECT_NOT_FOUND: 'name' })

  test('an issue is shown at its field, also within a list; the longest path wins', () => {
    const issues = [
      { path: 'slots.1.amount', message: 'too much' },
      { path: 'slots.0.slot', message: 'twice' },
      { path: 'rateLimit.burst', message: 'too small' },
      { path: 'rateLimit.perSecond', message: 'negative' },
    ]
    expect(placed(issues)).toEqual({
      fields: { slots: 'too much; twice', 'rateLimit.burst': 'too small', rateLimit: 'negative' },
      rest: null,
    })
  })

  test('an issue without a field is shown below all of them, with its path', () => {
    expect(placed([{ path: 'named', message: 'odd' }])).toEqual({ fields: {}, rest: 'named: odd' })
    expect(placed([], 'no answer')).toEqual({ fields: {}, rest: 'no answer' })
  })

  test('an error without a path is shown at the field of its code', () => {
    expect(placed([], 'no project x', 'PROJECT_NOT_FOUND')).toEqual({ fields: { name: 'no project x' }, rest: null })
    expect(placed([], 'you may not', 'FORBIDDEN')).toEqual({ fields: {}, rest: 'you may not' })
  })

  test('the place of a value of the wrong type is read from the message', () => {
    const message = 'Variable "$input" got invalid value "ten" at "input.rateLimit.burst"; Int cannot represent it'
    expect(placed([], message)).toEqual({ fields: { 'rateLimit.burst': 'Int cannot represent it' }, rest: null })
  })
})
