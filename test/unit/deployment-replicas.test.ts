import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { isHealthPath } from '../../src/domain/deployment/health.ts'
import { ROUTE_STATUSES, type RouteStatus } from '../../src/domain/deployment/lifecycle.ts'
import {
  isLive,
  type PlannedRoute,
  planReplicas,
  type ReplicasWanted,
  rolloutBounds,
} from '../../src/domain/deployment/plan-replicas.ts'
import { checkProperty } from '../support/seeds.ts'

describe('planning replicas', () => {
  /** `H1` is a healthy route of revision 1; P, D, U, F and T are the other statuses, d has been healthy before. */
  const LETTERS: Readonly<Record<string, RouteStatus>> = {
    P: 'PROVISIONING',
    D: 'DEGRADED',
    d: 'DEGRADED',
    H: 'HEALTHY',
    U: 'UNHEALTHY',
    F: 'FAILED_TO_START',
    T: 'TERMINATING',
  }

  function routesOf(text: string): PlannedRoute[] {
    return text.split(' ').flatMap((word, index) => {
      const [letter, revision] = [word[0]!, Number(word[1])]
      return word === ''
        ? []
        : [{ id: `${index}`, revision, status: LETTERS[letter]!, wasHealthy: 'dHU'.includes(letter) }]
    })
  }

  const wanted = (replicas: number, revision = 1, minHealthy: number | null = null, maxSurge: number | null = null) => {
    return { replicas, revision, minHealthy, maxSurge } satisfies ReplicasWanted
  }

  describe('the next step', () => {
    it.each<[what: string, ReplicasWanted, routes: string, start: number, stop: string, settled: boolean]>([
      ['all are begun at first', wanted(3), '', 3, '', false],
      ['those on their way are waited for', wanted(3), 'P1 D1 H1', 0, '', false],
      ['three healthy ones are what is wanted', wanted(3), 'H1 H1 H1', 0, '', true],
      ['one that goes takes nobody up', wanted(3), 'H1 H1 H1 T1', 0, '', true],
      ['one that failed to start has its place taken', wanted(2), 'H1 F1', 1, '', false],
      ['an unhealthy one keeps its place until it is evicted', wanted(2), 'H1 U1', 0, '', false],
      ['of too many the newest go', wanted(1), 'H1 H1 H1', 0, '2 1', false],
      ['of too many those that serve stay', wanted(1), 'P1 H1 U1', 0, '2 0', false],
      ['none are wanted', wanted(0), 'H1 P1 H2', 0, '1 0 2', false],
      ['and none are there', wanted(0), 'T1', 0, '', true],
      ['an update of one replica begins its successor', wanted(1, 2), 'H1', 1, '', false],
      ['and waits until it serves', wanted(1, 2), 'H1 P2', 0, '', false],
      ['before the old one goes', wanted(1, 2), 'H1 H2', 0, '0', false],
      ['an update of four goes one over and one under', wanted(4, 2), 'H1 H1 H1 H1', 2, '3', false],
      ['with all that must serve it goes one over', wanted(4, 2, 4, 1), 'H1 H1 H1 H1', 1, '', false],
      ['without surge it goes one under', wanted(4, 2, 3, 0), 'H1 H1 H1 H1', 1, '3', false],
      ['with capacity for neither it goes one under', wanted(2, 2, 2, 0), 'H1 H1', 1, '1', false],
      ['what never served goes at once', wanted(2, 2), 'P1 U1', 2, '1 0', false],
      ['what served until just now stays while others are lacking', wanted(2, 2, 2, 1), 'd1 d1 H2', 0, '', false],
      ['a broken update stops where it is', wanted(4, 2), 'H1 H1 H1 U2 P2', 0, '', false],
      ['back to the revision before', wanted(4, 3), 'H1 H1 H1 U2 P2', 2, '3 4', false],
    ])('%s', (_what, replicas, routes, start, stop, settled) => {
      const plan = planReplicas(replicas, routesOf(routes))
      expect({ ...plan, stop: plan.stop.join(' ') }).toEqual({ start, stop, settled })
    })
  })

  const settings = fc
    .record({
      replicas: fc.integer({ min: 0, max: 8 }),
      minHealthy: fc.option(fc.integer({ min: 0, max: 8 })),
      maxSurge: fc.option(fc.integer({ min: 0, max: 4 })),
    })
    .map((of) => ({ ...of, minHealthy: of.minHealthy === null ? null : Math.min(of.minHealthy, of.replicas) }))

  const someRoutes = fc
    .array(
      fc.record({
        revision: fc.integer({ min: 1, max: 3 }),
        status: fc.constantFrom(...ROUTE_STATUSES),
        wasHealthy: fc.boolean(),
      }),
      { maxLength: 14 },
    )
    .map((routes): PlannedRoute[] => routes.map((route, index) => ({ ...route, id: String(index).padStart(3, '0') })))

  const healthy = (routes: readonly PlannedRoute[]) => routes.filter(({ status }) => status === 'HEALTHY').length
  const live = (routes: readonly PlannedRoute[]) => routes.filter(({ status }) => isLive(status)).length

  it('keeps the required number healthy, starts none above the surge, and stops only living ones', () => {
    checkProperty(
      fc.property(settings, fc.integer({ min: 1, max: 3 }), someRoutes, (of, revision, routes) => {
        const { start, stop } = planReplicas({ ...of, revision }, routes)
        const { minHealthy, maxSurge } = rolloutBounds(of)
        const stopped = new Set(stop)
        const left = routes.filter(({ id }) => !stopped.has(id))
        expect(stopped.size).toBe(stop.length)
        expect(live(routes) - live(left)).toBe(stop.length)
        expect(healthy(left)).toBeGreaterThanOrEqual(Math.min(minHealthy, healthy(routes)))
        if (start > 0) expect(live(left) + start).toBeLessThanOrEqual(of.replicas + maxSurge)
        expect(
          left.filter((route) => isLive(route.status) && route.revision === revision).length + start,
        ).toBeLessThanOrEqual(of.replicas)
      }),
      { numRuns: 2_000 },
    )
  })

  /** The next state of a route whose program is well; an old route without checks may become either. */
  function goesOn(route: PlannedRoute, recovers: boolean): PlannedRoute {
    switch (route.status) {
      case 'PROVISIONING':
        return { ...route, status: 'DEGRADED' }
      case 'DEGRADED':
        return recovers ? { ...route, status: 'HEALTHY', wasHealthy: true } : { ...route, status: 'UNHEALTHY' }
      case 'UNHEALTHY':
      case 'FAILED_TO_START':
        return { ...route, status: 'TERMINATING' }
      case 'TERMINATING':
        return { ...route, status: 'TERMINATED' }
      case 'HEALTHY':
      case 'TERMINATED':
        return route
    }
  }

  it('reaches the target from any start, within its bounds at each step, and stays there', () => {
    checkProperty(
      fc.property(
        settings,
        someRoutes,
        fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
        (of, begun, coins) => {
          const revision = 3
          const { minHealthy } = rolloutBounds(of)
          let routes = begun
          let made = 0
          for (let round = 0; round < 100; round++) {
            const before = healthy(routes)
            const plan = planReplicas({ ...of, revision }, routes)
            if (plan.settled) {
              expect(plan).toMatchObject({ start: 0, stop: [] })
              return
            }
            const stopped = new Set(plan.stop)
            routes = routes.map((route) =>
              stopped.has(route.id) ? { ...route, status: 'TERMINATING' as const } : route,
            )
            expect(healthy(routes)).toBeGreaterThanOrEqual(Math.min(minHealthy, before))
            routes = routes.map((route, index) =>
              goesOn(route, route.revision === revision ? round > 10 || coins[index % 20]! : coins[index % 20]!),
            )
            routes.push(
              ...Array.from({ length: plan.start }, (): PlannedRoute => {
                made += 1
                return {
                  id: `new-${String(made).padStart(3, '0')}`,
                  revision,
                  status: 'PROVISIONING',
                  wasHealthy: false,
                }
              }),
            )
          }
          throw new Error(`not there after 100 rounds: ${JSON.stringify(routes)}`)
        },
      ),
      { numRuns: 1_000 },
    )
  })
})

describe('rollouts', () => {
  describe('bounds of an update', () => {
    it.each([
      [0, null, null, 0, 1],
      [1, null, null, 1, 1],
      [3, null, null, 3, 1],
      [4, null, null, 3, 1],
      [10, null, null, 8, 3],
      [4, 4, 2, 4, 2],
      [4, 0, 0, 0, 0],
      [2, 5, 1, 2, 1],
      [3, null, 0, 2, 0],
      [2, 5, 0, 1, 0],
      [0, null, 0, 0, 0],
    ])('of %d replicas, %j healthy, surge %j: %d and %d', (replicas, minHealthy, maxSurge, least, surge) => {
      expect(rolloutBounds({ replicas, minHealthy, maxSurge })).toEqual({ minHealthy: least, maxSurge: surge })
    })

    test('always leave room for a step, and never ask for more healthy ones than are wanted', () => {
      const counts = fc.nat({ max: 1_000 })
      const optional = fc.option(counts)
      checkProperty(
        fc.property(counts, optional, optional, (replicas, minHealthy, maxSurge) => {
          const bounds = rolloutBounds({ replicas, minHealthy, maxSurge })
          expect(bounds.minHealthy).toBeLessThanOrEqual(replicas)
          expect(bounds.minHealthy).toBeGreaterThanOrEqual(0)
          if (replicas > 0) expect(bounds.maxSurge + replicas - bounds.minHealthy).toBeGreaterThan(0)
        }),
      )
    })
  })

  describe('a health path', () => {
    it.each(['/', '/healthz', '/a/b?ready=1&x=%20', '/~user/[x]'])('may be %s', (path) => {
      expect(isHealthPath(path)).toBe(true)
      expect(new URL(path, 'http://127.0.0.1:1').host).toBe('127.0.0.1:1')
    })

    it.each(['', 'healthz', '//elsewhere/', '/\\elsewhere', '/a b', '/a#b', '/ä', '/a\r\nHost: b', '/\0', 'http://b/'])(
      'may not be %j',
      (path) => expect(isHealthPath(path)).toBe(false),
    )
  })
})
