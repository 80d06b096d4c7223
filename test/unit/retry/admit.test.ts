import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { HELD_RECHECK_MS } from '../../../src/domain/limits.ts'
import { type PendingLimit, pendingPlaces } from '../../../src/domain/quota.ts'
import { type Admissible, admit as admitUnder, refill, type RetrySwitch } from '../../../src/domain/retry/admit.ts'
import { checkProperty } from '../../support/seeds.ts'

const PROJECTS = ['a', 'b']
const retry = (projectId: string, parentAliveMs = 0) => ({ projectId, parentAliveMs, userId: null as string | null })
const admit = <Switch extends RetrySwitch>(retries: Admissible[], switches: Switch[], limits: PendingLimit[] = []) =>
  admitUnder(retries, switches, pendingPlaces(limits))
const many = (count: number, projectId = 'a') => Array.from({ length: count }, () => retry(projectId))

function switchOf(fields: Partial<RetrySwitch>): RetrySwitch {
  return {
    scope: 'CLUSTER',
    projectIds: PROJECTS,
    disabled: false,
    disabledForMs: null,
    rateLimit: null,
    limitForMs: null,
    tokens: 0,
    ...fields,
  }
}

const limited = (tokens: number, fields: Partial<RetrySwitch> = {}) =>
  switchOf({ rateLimit: { perSecond: 2, burst: 10 }, tokens, ...fields })

it('without switches everything goes', () => {
  expect(admit(many(3), [])).toEqual({ go: many(3), held: [], left: new Map() })
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

  it('that were lowered below what is there let nothing through', () => {
    expect(admit(many(2), [], [limitOf({ maxPending: 0, pending: 3 })]).go).toEqual([])
  })

  it('give no place to what a rate limit holds', () => {
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
