import { describe, expect, it, test } from 'vitest'
import { prometheusTargets, type Service, traefikConfiguration } from '../../src/domain/deployment/discovery.ts'
import { judgeHealth } from '../../src/domain/deployment/health.ts'
import {
  DEPLOYMENT_HANDLERS,
  DEPLOYMENT_STATUSES,
  DEPLOYMENT_TRANSITIONS,
  type DeploymentStatus,
  isSettled,
  judgeDeclared,
  ROUTE_HANDLERS,
  ROUTE_STATUSES,
  ROUTE_TRANSITIONS,
  type RouteStatus,
} from '../../src/domain/deployment/lifecycle.ts'
import { startBackoffMs } from '../../src/domain/deployment/plan-replicas.ts'
import { ROUTE_BACKOFF_MAX_MS, ROUTE_BACKOFF_MIN_MS } from '../../src/domain/limits.ts'

describe('discovery', () => {
  const endpoint = { routeId: 'r1', host: '10.0.0.1', port: 9_001, sessionId: 's1', revision: 2 }
  const web: Service = {
    deploymentId: 'd1',
    name: 'web',
    project: 'ada@lab',
    labels: { 'team.name': 'a "b"', tier: '1' },
    endpoints: [endpoint, { ...endpoint, routeId: 'r2', host: 'fd00::1', sessionId: 's2' }],
  }
  const idle: Service = { ...web, deploymentId: 'd2', name: 'idle', endpoints: [] }

  describe('Prometheus', () => {
    test('has a group of one target for each route', () => {
      const groups = prometheusTargets([web, idle])
      expect(groups.map(({ targets }) => targets)).toEqual([['10.0.0.1:9001'], ['[fd00::1]:9001']])
      expect(groups[1]!.labels).toEqual({
        project: 'ada@lab',
        deployment: 'web',
        __meta_reprise_deployment_id: 'd1',
        __meta_reprise_revision: '2',
        __meta_reprise_route_id: 'r2',
        __meta_reprise_session_id: 's2',
        __meta_reprise_label_team_name: 'a "b"',
        __meta_reprise_label_tier: '1',
      })
      for (const name of Object.keys(groups[0]!.labels)) expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_]*$/)
    })

    test('has an empty list where there is nothing', () => expect(prometheusTargets([idle])).toEqual([]))
  })

  describe('Traefik', () => {
    test('has a service for each deployment, also for one without servers', () => {
      expect(traefikConfiguration([web, idle])).toEqual({
        http: {
          services: {
            'web.ada%40lab': {
              loadBalancer: {
                passHostHeader: true,
                servers: [{ url: 'http://10.0.0.1:9001' }, { url: 'http://[fd00::1]:9001' }],
              },
            },
            'idle.ada%40lab': { loadBalancer: { passHostHeader: true } },
          },
        },
      })
    })

    test('has nothing empty below its root, which would be refused as a whole', () => {
      expect(traefikConfiguration([])).toEqual({})
      const empty = (value: unknown): boolean =>
        typeof value === 'object' &&
        value !== null &&
        (Object.keys(value).length === 0 || Object.values(value).some(empty))
      expect(empty(traefikConfiguration([web, idle]))).toBe(false)
      expect(empty(traefikConfiguration([idle]))).toBe(false)
    })
  })
})

describe('judging health', () => {
  const BASE = { healthyThreshold: 2, unhealthyThreshold: 3, lastCheckFault: 'it answered 500' }

  it.each<[RouteStatus, successes: number, failures: number, stale: boolean, result: string]>([
    ['DEGRADED', 0, 0, false, 'stays'],
    ['DEGRADED', 1, 0, false, 'stays'],
    ['DEGRADED', 2, 0, false, 'SUCCESS'],
    ['DEGRADED', 0, 2, false, 'stays'],
    ['DEGRADED', 0, 3, false, 'FAILURE'],
    ['DEGRADED', 9, 0, true, 'stays'],
    ['HEALTHY', 9, 0, false, 'stays'],
    ['HEALTHY', 0, 2, false, 'stays'],
    ['HEALTHY', 0, 3, false, 'FAILURE'],
    ['HEALTHY', 9, 0, true, 'STALE'],
    ['HEALTHY', 0, 9, true, 'STALE'],
    ['UNHEALTHY', 1, 0, false, 'stays'],
    ['UNHEALTHY', 2, 0, false, 'SUCCESS'],
    ['UNHEALTHY', 0, 9, false, 'stays'],
    ['UNHEALTHY', 0, 9, true, 'STALE'],
  ])('%s after %i successes and %i failures, stale %s: %s', (status, successes, failures, stale, result) => {
    expect(judgeHealth({ ...BASE, status, successes, failures, stale })?.result ?? 'stays').toBe(result)
  })

  it('reports the result', () => {
    const found = { ...BASE, status: 'HEALTHY' as const, successes: 0, failures: 3, stale: false }
    expect(judgeHealth(found)?.message).toBe('3 health checks in a row failed: it answered 500')
    expect(judgeHealth({ ...found, unhealthyThreshold: 1, failures: 1 })?.message).toBe(
      'a health check failed: it answered 500',
    )
  })
})

describe('settled deployments', () => {
  type Counts = [status: RouteStatus, count: number, present: number][]

  test.each<[DeploymentStatus, number, Counts, boolean]>([
    ['READY', 2, [['HEALTHY', 2, 2]], true],
    ['READY', 0, [], true],
    [
      'READY',
      2,
      [
        ['HEALTHY', 2, 2],
        ['TERMINATED', 9, 1],
      ],
      true,
    ],
    // Scaled, updated or failing, and no handler has looked yet.
    ['READY', 3, [['HEALTHY', 2, 2]], false],
    ['READY', 1, [['HEALTHY', 2, 2]], false],
    ['READY', 2, [['HEALTHY', 2, 1]], false],
    [
      'READY',
      2,
      [
        ['HEALTHY', 1, 1],
        ['UNHEALTHY', 1, 1],
      ],
      false,
    ],
    [
      'READY',
      2,
      [
        ['HEALTHY', 2, 2],
        ['TERMINATING', 1, 0],
      ],
      false,
    ],
    ['SCALING', 2, [['HEALTHY', 2, 2]], false],
    ['PENDING', 0, [], false],
    ['DESTROYING', 0, [], false],
    ['DESTROYED', 2, [['TERMINATED', 2, 2]], true],
  ])('%s with %d wanted and %j: %s', (status, replicas, counts, settled) => {
    const counted = counts.map(([of, count, present]) => ({ status: of, count, present }))
    expect(isSettled({ status, replicas }, counted)).toBe(settled)
  })
})

describe('transitions', () => {
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

    it('keeps the status where nothing is declared, and reports that once', () => {
      expect(judge('FAILURE', 'still waits')).toMatchObject([{ from: 'SCALING', to: 'SCALING', outcome: 'FAILURE' }])
      expect(judge('FAILURE', 'waits')).toEqual([])
    })

    it('refuses everything that the table does not allow', () => {
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
})
