/** Retry defaults of cluster, domain and project: which wins, and who may set them. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { RetryPolicy } from '../../../src/domain/retry/policy/policy.ts'
import { createSession } from '../../../src/services/session/create-sessions.ts'
import {
  readRetryDefaults,
  setRetryDefaults,
  type SetRetryDefaultsInput,
} from '../../../src/services/retry/retry-defaults.ts'
import type { ServiceContext, Viewer } from '../../../src/services/service-context.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

const given = useScheduling()

const set = (input: SetRetryDefaultsInput, viewer: Partial<Viewer> = {}) => setRetryDefaults(as(viewer), input)

function as(viewer: Partial<Viewer>): ServiceContext {
  return { ...given.server.context, viewer: { ...given.server.context.viewer, ...viewer } }
}

async function policyOf(id: string): Promise<{ policy: RetryPolicy; sources: Record<string, string> }> {
  const rows = await given.sql(
    'SELECT retry_policy AS policy, retry_policy_sources AS sources FROM sessions WHERE id = $1',
    [id],
  )
  return rows[0] as unknown as { policy: RetryPolicy; sources: Record<string, string> }
}

async function newSession(retryPolicy: object = {}, project = 'default') {
  const { sessionId } = await createSession(given.server.context, {
    name: 'x',
    command: ['true'],
    project,
    retryPolicy,
  })
  return policyOf(sessionId)
}

it('the narrowest scope that says something wins, field by field; 0, false and the empty list say something', async () => {
  await set({
    scope: 'CLUSTER',
    policy: { maxRetries: 5, retryDelay: 7, backoff: 'EXPONENTIAL', emitRetryEvents: true },
  })
  await set({
    scope: 'DOMAIN',
    name: 'default',
    policy: { maxRetries: 4, maxRetryDelay: null, emitRetryEvents: false },
  })
  await set({ scope: 'PROJECT', name: 'default', policy: { maxRetries: 3, eligibleCauses: [] } })
  const { policy, sources } = await newSession({ maxRetries: 0 })
  expect(policy).toMatchObject({
    maxRetries: 0,
    retryDelay: 7,
    backoff: 'EXPONENTIAL',
    maxRetryDelay: null,
    emitRetryEvents: false,
    eligibleCauses: [],
  })
  expect(sources).toMatchObject({
    maxRetries: 'SESSION',
    retryDelay: 'CLUSTER',
    maxRetryDelay: 'DOMAIN',
    emitRetryEvents: 'DOMAIN',
    eligibleCauses: 'PROJECT',
  })
  expect(sources).not.toHaveProperty('jitter')
  expect((await newSession()).policy.maxRetries).toBe(3)
})

it.each([{ scope: 'CLUSTER' }, { scope: 'DOMAIN', name: 'default' }, { scope: 'PROJECT', name: 'default' }] as const)(
  'a default of $scope replaces the one before, null clears it, and sessions that exist keep what they have',
  async (scope) => {
    await set({ ...scope, policy: { maxRetries: 2, retryDelay: 9 } })
    const id = await given.server.create()
    await set({ ...scope, policy: { maxRetries: 1 } })
    expect((await newSession()).policy).toMatchObject({ maxRetries: 1, retryDelay: 60 })
    await set({ ...scope, policy: null })
    expect((await newSession()).policy.maxRetries).toBe(0)
    await set({ ...scope })
    expect((await policyOf(id)).policy).toMatchObject({ maxRetries: 2, retryDelay: 9 })
    const details = await given.sql(
      `SELECT actor, project_id, details FROM audit_log WHERE action = 'retry.set_defaults' ORDER BY id`,
    )
    const name = 'name' in scope ? scope.name : null
    const said = (before: object | null, after: object | null) => ({
      actor: 'ada',
      project_id: scope.scope === 'PROJECT' ? DEFAULT_PROJECT_ID : null,
      details: { scope: scope.scope, name, before, after },
    })
    expect(details).toEqual([
      said(null, { maxRetries: 2, retryDelay: 9 }),
      said({ maxRetries: 2, retryDelay: 9 }, { maxRetries: 1 }),
      said({ maxRetries: 1 }, null),
      said(null, null),
    ])
  },
)

it('all faults are told at once, and nothing is changed', async () => {
  const policy = { maxRetries: -1, rules: [{ match: {}, action: 'FAIL', delay: 1 }], colour: 'red' }
  await expect(set({ scope: 'PROJECT', policy })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    issues: expect.arrayContaining(
      ['name', 'policy.maxRetries', 'policy.rules.0.delay', 'policy.colour'].map((path) =>
        expect.objectContaining({ path }),
      ),
    ),
  })
  await expect(set({ scope: 'CLUSTER', name: 'x', policy: {} })).rejects.toMatchObject({ issues: [{ path: 'name' }] })
  expect(await given.sql('SELECT FROM audit_log')).toEqual([])
})

describe('who may', () => {
  it('is an administrator', async () => {
    for (const role of ['MEMBER', 'VIEWER', 'AGENT'] as const) {
      await expect(set({ scope: 'CLUSTER', policy: {} }, { role })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
  })

  it('an administrator of one project sets only that', async () => {
    const mine = { projectId: DEFAULT_PROJECT_ID }
    await given.sql(`INSERT INTO projects (id, domain_id, name) SELECT $1, id, 'other' FROM domains`, [randomUUID()])
    await set({ scope: 'PROJECT', name: 'default', policy: { maxRetries: 1 } }, mine)
    await expect(set({ scope: 'PROJECT', name: 'other' }, mine)).rejects.toMatchObject({ code: 'PROJECT_NOT_FOUND' })
    await expect(set({ scope: 'DOMAIN', name: 'default' }, mine)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(set({ scope: 'CLUSTER' }, mine)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  it('what does not exist is told', async () => {
    await expect(set({ scope: 'DOMAIN', name: 'nope' })).rejects.toMatchObject({ code: 'DOMAIN_NOT_FOUND' })
    await expect(set({ scope: 'PROJECT', name: 'a\0b' })).rejects.toMatchObject({ code: 'PROJECT_NOT_FOUND' })
  })

  it('a viewer of one project reads what its sessions fall back on, and no more', async () => {
    await given.sql(`INSERT INTO projects (id, domain_id, name) SELECT $1, id, 'other' FROM domains`, [randomUUID()])
    await given.sql(`INSERT INTO domains (id, name) VALUES ($1, 'far')`, [randomUUID()])
    await set({ scope: 'CLUSTER', policy: { maxRetries: 1 } })
    for (const name of ['default', 'far']) await set({ scope: 'DOMAIN', name, policy: { maxRetries: 2 } })
    for (const name of ['default', 'other']) await set({ scope: 'PROJECT', name, policy: { maxRetries: 3 } })
    expect(await readRetryDefaults(as({ projectId: DEFAULT_PROJECT_ID, role: 'VIEWER' }))).toEqual([
      { scope: 'CLUSTER', name: null, policy: { maxRetries: 1 } },
      { scope: 'DOMAIN', name: 'default', policy: { maxRetries: 2 } },
      { scope: 'PROJECT', name: 'default', policy: { maxRetries: 3 } },
    ])
    expect(await readRetryDefaults(given.server.context)).toHaveLength(5)
  })
})
