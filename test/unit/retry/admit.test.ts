import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { DISPATCH_INTERVAL_MS, HELD_RECHECK_MS, HELD_RELEASE_RETRIES_MAX } from '../../../src/domain/limits.ts'
import { type PendingLimit, pendingPlaces } from '../../../src/domain/quota.ts'
import { dependentsInSteps } from '../../../src/domain/resubmission.ts'
import {
  type Admissible,
  admit as admitUnder,
  type Hold,
  refill,
  type RetrySwitch,
} from '../../../src/domain/retry/admit.ts'
import { chooseGroup, type GroupAgent, type GroupSeeker } from '../../../src/domain/retry/child.ts'
import { lineKey, paceHeldRetries, type Waiting } from '../../../src/domain/retry/pace-held-retries.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('admission', () => {
  const PROJECTS = ['a', 'b']
  const retry = (projectId: string, parentAliveMs = 0) => ({
    projectId,
    parentAliveMs,
    userId: null as string | null,
    breakerId: null as string | null,
  })
  const admit = <Switch extends RetrySwitch>(retries: Admissible[], switches: Switch[], limits: PendingLimit[] = []) =>
    admitUnder(retries, switches, pendingPlaces(limits))
  const many = (count: number, projectId = 'a') => Array.from({ length: count }, () => retry(projectId))

  const SHOWN = { scope: 'CLUSTER', name: null, by: 'ada', reason: null, since: null, until: null } as const

  function switchOf(fields: Partial<RetrySwitch>): RetrySwitch {
    return {
      scope: 'CLUSTER',
      projectIds: PROJECTS,
      disabled: false,
      disabledForMs: null,
      rateLimit: null,
      limitForMs: null,
      tokens: 0,
      shown: { disabled: SHOWN, rateLimit: SHOWN },
      ...fields,
    }
  }

  const limited = (tokens: number, fields: Partial<RetrySwitch> = {}) =>
    switchOf({ rateLimit: { perSecond: 2, burst: 10 }, tokens, ...fields })

  it('without switches everything goes', () => {
    expect(admit(many(3), [])).toEqual({ go: many(3), held: [], left: new Map(), probes: new Map() })
  })

  describe('kill switches', () => {
    it('hold until the last of them ends, and are looked at now and then', () => {
      const soon = switchOf({ disabled: true, disabledForMs: 500 })
      const later = switchOf({ scope: 'PROJECT', projectIds: ['a'], disabled: true, disabledForMs: 900 })
      const { go, held } = admit([retry('a'), retry('b')], [soon, later])
      expect(go).toEqual([])
      expect(held.map(({ reason, scope, waitMs }) => [reason, scope, waitMs])).toEqual([
        ['DISABLED', 'PROJECT', 900],
        ['DISABLED', 'CLUSTER', 500],
      ])
      const forGood = switchOf({ disabled: true })
      expect(admit([retry('a')], [soon, forGood]).held[0]!.waitMs).toBe(HELD_RECHECK_MS)
    })

    it('take no tokens, nor does a parent that may be alive', () => {
      const bucket = limited(5)
      expect(admit([retry('a', 70)], [bucket])).toMatchObject({
        held: [{ reason: 'PARENT_ALIVE', waitMs: 70 }],
        left: new Map([[bucket, 5]]),
      })
      const off = limited(5, { disabled: true })
      expect(admit(many(1), [off]).left.get(off)).toBe(5)
    })
  })

  describe('rate limits', () => {
    it('let go as many as there are whole tokens; the rest wait for those that come', () => {
      const bucket = limited(2.5)
      const { go, held, left } = admit(many(4), [bucket])
      expect(go).toHaveLength(2)
      expect(held.map(({ reason, waitMs }) => [reason, waitMs])).toEqual([
        ['RATE_LIMITED', 250],
        ['RATE_LIMITED', 750],
      ])
      expect(left.get(bucket)).toBe(0.5)
    })

    it('take a token of each scope or of none', () => {
      const cluster = limited(3)
      const project = limited(1, { scope: 'PROJECT', projectIds: ['a'] })
      const { go, left } = admit([...many(2, 'a'), ...many(3, 'b')], [cluster, project])
      expect(go).toEqual([...many(1, 'a'), ...many(2, 'b')])
      expect([left.get(cluster), left.get(project)]).toEqual([0, 0])
    })

    it('never let more go than there are tokens, and never keep one for which there is a token everywhere', () => {
      const scopes = fc.record({
        cluster: fc.double({ min: 0, max: 20, noNaN: true }),
        a: fc.double({ min: 0, max: 20, noNaN: true }),
      })
      checkProperty(
        fc.property(scopes, fc.array(fc.constantFrom('a', 'b'), { maxLength: 60 }), (tokens, projects) => {
          const cluster = limited(tokens.cluster)
          const project = limited(tokens.a, { scope: 'PROJECT', projectIds: ['a'] })
          const { go, held, left } = admit(
            projects.map((id) => retry(id)),
            [cluster, project],
          )
          expect(go.length + held.length).toBe(projects.length)
          expect(go.length).toBeLessThanOrEqual(tokens.cluster)
          expect(go.filter(({ projectId }) => projectId === 'a').length).toBeLessThanOrEqual(tokens.a)
          const more = (projectId: string) => left.get(cluster)! >= 1 && (projectId === 'b' || left.get(project)! >= 1)
          expect(held.filter((hold) => more(hold.retry.projectId))).toEqual([])
        }),
      )
    })
  })

  it('a bucket fills up to its burst, and a clock that was set back takes nothing out', () => {
    expect(refill({ perSecond: 2, burst: 10 }, 1, 3)).toBe(7)
    expect(refill({ perSecond: 2, burst: 10 }, 1, 30)).toBe(10)
    expect(refill({ perSecond: 2, burst: 10 }, 4, -30)).toBe(4)
  })

  describe('limits on pending sessions', () => {
    const limitOf = (fields: Partial<PendingLimit>): PendingLimit => ({
      scope: 'PROJECT',
      scopeId: 'a',
      name: 'a',
      projectIds: ['a'],
      maxPending: 5,
      pending: 3,
      ...fields,
    })

    it('let through as many as have a place, and no token is taken for the others', () => {
      const bucket = limited(10)
      const { go, held, left } = admit([...many(4), retry('b')], [bucket], [limitOf({})])
      expect(go).toEqual([...many(2), retry('b')])
      expect(held).toMatchObject([
        { reason: 'QUOTA', scope: 'PROJECT', waitMs: HELD_RECHECK_MS },
        { reason: 'QUOTA', scope: 'PROJECT' },
      ])
      expect(left.get(bucket)).toBe(7)
    })

    it('act together: a place of each is taken, or of none', () => {
      const own = limitOf({ scope: 'USER', scopeId: 'u', projectIds: [], maxPending: 1, pending: 0 })
      const ofUser = { ...retry('a'), userId: 'u' }
      const { go, held } = admit([ofUser, ofUser, retry('a'), retry('a')], [], [limitOf({}), own])
      expect(go).toEqual([ofUser, retry('a')])
      expect(held.map(({ scope }) => scope)).toEqual(['USER', 'PROJECT'])
    })

    it('that were lowered below the present use admit nothing', () => {
      expect(admit(many(2), [], [limitOf({ maxPending: 0, pending: 3 })]).go).toEqual([])
    })

    it('give no place to a retry that a rate limit holds', () => {
      expect(admit([...many(3)], [limited(1)], [limitOf({ pending: 4 })])).toMatchObject({
        held: [{ reason: 'QUOTA' }, { reason: 'QUOTA' }],
      })
      const empty = limited(0, { projectIds: ['a'] })
      const domain = limitOf({ scope: 'DOMAIN', scopeId: 'd', projectIds: PROJECTS, pending: 4 })
      expect(admit([retry('a'), retry('b')], [empty], [domain])).toMatchObject({
        go: [retry('b')],
        held: [{ reason: 'RATE_LIMITED' }],
      })
    })
  })
})

describe('the pace of held retries', () => {
  function held(count: number, fields: Partial<Hold<Waiting>> = {}, retry: Partial<Waiting> = {}): Hold<Waiting>[] {
    const rateLimit = { perSecond: 100, burst: 50 }
    return Array.from({ length: count }, () => ({
      retry: { projectId: 'a', holdReason: null, ...retry },
      reason: 'RATE_LIMITED',
      scope: 'PROJECT',
      heldBy: null,
      waitMs: 0,
      rateLimit,
      limitForMs: null,
      ...fields,
    }))
  }

  const places = (holds: readonly Hold<Waiting>[], ends: [string, number][] = []) =>
    paceHeldRetries(holds, new Map(ends)).map(({ againInMs }) => againInMs)

  it('retries that wait for tokens are spaced at their rate, and move forward in ticks', () => {
    const line = places(held(1_000))
    expect(line.at(-1)).toBe(10_000)
    const shared = [...Map.groupBy(line, (place) => place).values()].map((tick) => tick.length)
    expect(Math.max(...shared)).toBe(10)
  })

  it('a small bucket has ticks so short that nothing overflows meanwhile', () => {
    expect(places(held(3, { rateLimit: { perSecond: 100, burst: 1 } }))).toEqual([10, 20, 30])
  })

  it('the next batch follows the first', () => {
    expect(places(held(1), [[lineKey('a', 'RATE_LIMITED'), 5_000]])).toEqual([5_100])
    expect(places(held(1), [[lineKey('b', 'RATE_LIMITED'), 5_000]])).toEqual([100])
  })

  it('one that has stood in line does not go to its end for the sake of a moment', () => {
    const ends: [string, number][] = [[lineKey('a', 'RATE_LIMITED'), 60_000]]
    const waited = { holdReason: 'RATE_LIMITED' } as const
    expect(places(held(1, { waitMs: 7 }, waited), ends)).toEqual([7])
    expect(places(held(1, { waitMs: DISPATCH_INTERVAL_MS + 1 }, waited), ends)[0]).toBeGreaterThan(60_000)
  })

  it('retries of a kill switch return in a ramp when its time is over', () => {
    const line = places(held(3 * HELD_RELEASE_RETRIES_MAX, { reason: 'DISABLED', rateLimit: null, waitMs: 9_500 }))
    expect(line[0]).toBe(10_000)
    const shared = [...Map.groupBy(line, (place) => place).values()].map((tick) => tick.length)
    expect(Math.max(...shared)).toBeLessThanOrEqual(HELD_RELEASE_RETRIES_MAX + 1)
  })

  it('a line is no longer than its limit lasts', () => {
    const slow = { rateLimit: { perSecond: 0.1, burst: 1 }, limitForMs: 25_000 }
    expect(places(held(4, slow))).toEqual([10_000, 20_000, 25_100, 25_100])
  })

  it('an agent that is silent may confirm at any moment', () => {
    expect(places(held(1, { reason: 'PARENT_ALIVE', rateLimit: null, waitMs: 90_000 }))).toEqual([DISPATCH_INTERVAL_MS])
  })
})

describe('the order of dependents', () => {
  const one = (id: string, ...dependsOn: string[]) => ({ id, chainId: id, dependsOn })
  const steps = (...all: ReturnType<typeof one>[]) => dependentsInSteps(all).map((step) => step.map(({ id }) => id))

  test('each follows its dependencies, the oldest first; others do not count', () => {
    expect(steps()).toEqual([])
    expect(steps(one('d', 'b', 'c'), one('c', 'a'), one('b', 'a', 'x'), one('e', 'd', 'a'))).toEqual([
      ['b', 'c'],
      ['d'],
      ['e'],
    ])
  })

  test('a circle is an error, not an endless search', () => {
    expect(() => steps(one('a', 'b'), one('b', 'a'))).toThrow('depend on each other')
  })
})

describe('the choice of a resource group', () => {
  const SEEKER: GroupSeeker = {
    resourceGroup: 'home',
    avoidGroups: ['home'],
    avoidAgents: [],
    allowAgents: [],
    excludeAgents: [],
    agentLabels: {},
    volumeNeed: null,
    gpuNeed: null,
    resourceSlots: { cpu: '2' },
    clusterMode: 'SINGLE_NODE',
    clusterSize: 1,
  }

  const VOLUME = { name: 'data', readOnly: true, projects: ['beta'] }

  /** `<group>/<name>`, each with 4 cpu where nothing is said. */
  function agents(...ids: (string | [id: string, given: Partial<GroupAgent>])[]): GroupAgent[] {
    return ids.map((one) => {
      const [id, given] = typeof one === 'string' ? [one, {}] : one
      return {
        id,
        resourceGroup: id.split('/')[0]!,
        labels: {},
        capacity: { cpu: '4' },
        perKernel: null,
        volumes: null,
        gpus: null,
        gpuSharing: null,
        ...given,
      }
    })
  }

  it.each<[string, Partial<GroupSeeker>, GroupAgent[], string]>([
    ['the first by name', {}, agents('home/1', 'c/1', 'b/1'), 'b'],
    ['its own where there is no other', {}, agents('home/1'), 'home'],
    ['its own where it does not avoid it', { avoidGroups: ['b'] }, agents('home/1', 'c/1'), 'home'],
    [
      'one that has its volumes for its project',
      { volumeNeed: { project: 'alpha', mounts: [{ volume: 'data', path: '/data', readOnly: true }] } },
      agents('home/1', ['b/1', { volumes: [VOLUME] }], ['c/1', { volumes: [{ ...VOLUME, projects: ['alpha'] }] }]),
      'c',
    ],
    [
      'one with a machine that is large enough',
      {},
      agents('home/1', ['b/1', { capacity: { cpu: '64' }, perKernel: { cpu: '1' } }], 'c/1'),
      'c',
    ],
    ['one that it does not avoid', { avoidGroups: ['b', 'home'] }, agents('home/1', 'b/1', 'c/1'), 'c'],
    ['the one avoided for the longest', { avoidGroups: ['c', 'b', 'home'] }, agents('home/1', 'b/1', 'c/1'), 'c'],
    ['never the one that failed last', { avoidGroups: ['home', 'b'] }, agents('home/1', 'b/1'), 'b'],
    ['one whose agents it does not avoid', { avoidAgents: ['b/1'] }, agents('b/1', 'c/1'), 'c'],
    ['one with avoided agents where there is no other', { avoidAgents: ['b/1'] }, agents('home/1', 'b/1'), 'b'],
    ['one with an agent that is not excluded', { excludeAgents: ['b/1'] }, agents('b/1', 'c/1'), 'c'],
    ['its own where all others are excluded', { excludeAgents: ['b/1'] }, agents('home/1', 'b/1'), 'home'],
    ['one with an allowed agent', { allowAgents: ['c/1'] }, agents('b/1', 'c/1'), 'c'],
    ['one with the labels', { agentLabels: { gpu: 'a' } }, agents('b/1', ['c/1', { labels: { gpu: 'a' } }]), 'c'],
    ['one with the slots', { resourceSlots: { cpu: '6' } }, agents('b/1', ['c/1', { capacity: { cpu: '6' } }]), 'c'],
    [
      'one with capacity for all kernels on an agent',
      { clusterSize: 3 },
      agents('b/1', 'b/2', ['c/1', { capacity: { cpu: '6' } }]),
      'c',
    ],
    [
      'one with agents enough for kernels that spread',
      { clusterSize: 3, clusterMode: 'MULTI_NODE' },
      agents('b/1', 'c/1', 'c/2'),
      'c',
    ],
  ])('chooses %s', (_what, given, those, group) => {
    expect(chooseGroup({ ...SEEKER, ...given }, those)).toBe(group)
  })
})
