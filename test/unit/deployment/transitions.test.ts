import { describe, expect, it } from 'vitest'
import {
  DEPLOYMENT_HANDLERS,
  DEPLOYMENT_STATUSES,
  DEPLOYMENT_TRANSITIONS,
  judgeDeclared,
  ROUTE_HANDLERS,
  ROUTE_STATUSES,
  ROUTE_TRANSITIONS,
} from '../../../src/domain/deployment/lifecycle.ts'
import { startBackoffMs } from '../../../src/domain/deployment/plan-replicas.ts'
import { ROUTE_BACKOFF_MAX_MS, ROUTE_BACKOFF_MIN_MS } from '../../../src/domain/limits.ts'

interface Declared {
  statusIn: readonly string[]
  leadsTo: Readonly<Record<string, string | null>>
}

const KINDS: readonly [
  string,
  Readonly<Record<string, Declared>>,
  Readonly<Record<string, readonly string[]>>,
  readonly string[],
][] = [
  ['deployments', DEPLOYMENT_HANDLERS, DEPLOYMENT_TRANSITIONS, DEPLOYMENT_STATUSES],
  ['routes', ROUTE_HANDLERS, ROUTE_TRANSITIONS, ROUTE_STATUSES],
]

describe.each(KINDS)('%s', (_kind, handlers, table, statuses) => {
  it('declares no move that the table does not allow', () => {
    const moves = Object.values(handlers).flatMap(({ statusIn, leadsTo }) =>
      statusIn.flatMap((from) =>
        Object.values(leadsTo).flatMap((to) => (to === null || to === from ? [] : [{ from, to }])),
      ),
    )
    expect(moves.length).toBeGreaterThan(4)
    for (const { from, to } of moves)
      expect({ from, allowed: table[from] }).toMatchObject({ allowed: expect.arrayContaining([to]) })
  })

  it('has a table of all statuses, of which one is the last', () => {
    expect(Object.keys(table).toSorted()).toEqual([...statuses].toSorted())
    expect(statuses.filter((status) => table[status]!.length === 0)).toHaveLength(1)
  })
})

describe('the plain judgement', () => {
  const thing = { id: 'a', status: 'SCALING' as const, statusReason: 'waits' }
  const judge = (
    result: 'SUCCESS' | 'FAILURE',
    message: string | null,
    declaration = DEPLOYMENT_HANDLERS['scaling-deployment'],
  ) => judgeDeclared(declaration, DEPLOYMENT_TRANSITIONS, [thing], [{ id: 'a', result, message }])

  it('leads where it is declared', () => {
    expect(judge('SUCCESS', null)).toEqual([
      { id: 'a', from: 'SCALING', to: 'READY', outcome: 'SUCCESS', message: null },
    ])
  })

  it('keeps the status where nothing is declared, and says so once', () => {
    expect(judge('FAILURE', 'still waits')).toMatchObject([{ from: 'SCALING', to: 'SCALING', outcome: 'FAILURE' }])
    expect(judge('FAILURE', 'waits')).toEqual([])
  })

  it('refuses what the table does not allow', () => {
    const lies = {
      ...DEPLOYMENT_HANDLERS['scaling-deployment'],
      leadsTo: { SUCCESS: 'PENDING', FAILURE: null } as const,
    }
    expect(() => judge('SUCCESS', null, lies)).toThrow('SCALING → PENDING is not an allowed transition')
  })
})

it('backs off from a second to minutes, as retries do', () => {
  const delays = Array.from({ length: 30 }, (_, index) =>
    startBackoffMs(index + 1, '0190b8a0-0000-7000-8000-000000000000'),
  )
  expect(delays[0]).toBeGreaterThanOrEqual(ROUTE_BACKOFF_MIN_MS)
  expect(delays[0]).toBeLessThan(ROUTE_BACKOFF_MIN_MS * 1.25)
  expect(delays.at(-1)).toBe(ROUTE_BACKOFF_MAX_MS)
  for (const [index, delay] of delays.entries())
    expect(delay).toBeGreaterThanOrEqual(Math.min(2 ** index * 1_000, 300_000))
})
