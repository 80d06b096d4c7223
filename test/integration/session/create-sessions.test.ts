/** Creating sessions: creation ids, many at once, faults, and who may. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { RepriseError } from '../../../src/domain/errors.ts'
import { ARGUMENT_BYTES_MAX, CREATE_SESSIONS_MAX } from '../../../src/domain/limits.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { createSession, createSessions } from '../../../src/services/session/create-sessions.ts'
import type { ServiceContext } from '../../../src/services/service-context.ts'
import { newId } from '../../../src/store/new-id.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { events, sessionRow, statuses } from '../../support/database/session-rows.ts'
import { ADMIN, DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

const given = useScheduling()

const WORK: CreateSessionInput = { name: 'work', command: ['true'] }

async function countSessions(): Promise<unknown> {
  return (await given.sql('SELECT count(*) AS n FROM sessions'))[0]!['n']
}

async function otherProject(): Promise<string> {
  const id = randomUUID()
  await given.sql(`INSERT INTO projects (id, domain_id, name) SELECT $1, id, 'other' FROM domains`, [id])
  return id
}

function as(viewer: Partial<ServiceContext['viewer']>): ServiceContext {
  return { ...given.server.context, viewer: { ...ADMIN, ...viewer } }
}

/** Inputs that share some fields, and leave out others. */
const MIXED: CreateSessionInput[] = [
  { ...WORK, labels: [{ key: 'team', value: 'a' }], retryPolicy: { maxRetries: 2 } },
  { ...WORK, image: 'python:3', environ: [{ name: 'A', value: '1' }], retryPolicy: { maxRetries: 2 } },
  { name: 'other', command: ['false'], batchTimeout: 60, maxPending: 30, clusterSize: 2 },
  { ...WORK, project: 'other', priority: 3, concurrencyKey: 'k', concurrencyLimit: 2 },
  { ...WORK, neverRunTwice: true, stopGrace: 5 },
]

it('sessions that are made together are as if each had been made alone', async () => {
  await otherProject()
  const { context } = given.server
  const own = new Set(['id', 'chain_id', 'creation_id', 'event_position', 'created_at', 'epoch_started_at'])
  const rowOf = async (result: unknown) => {
    const [row] = await given.sql('SELECT * FROM sessions WHERE id = $1', [(result as { sessionId: string }).sessionId])
    return Object.entries(row!).filter(([column, value]) => !own.has(column) && !(value instanceof Date))
  }
  const together = await createSessions(context, MIXED)
  for (const [index, input] of MIXED.entries()) {
    const alone = await createSession(context, input)
    expect(await rowOf(together[index])).toEqual(await rowOf(alone))
  }
})

it('ids are larger than all before them', () => {
  const ids = Array.from({ length: 2_000 }, newId)
  expect(ids).toEqual([...new Set(ids)].toSorted())
})

describe('a creation id', () => {
  it('makes one session, however often and however many ask at once', async () => {
    const { server, db } = given
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => createSession(server.context, { ...WORK, creationId: 'once', clusterSize: 2 })),
    )
    expect(answers.filter(({ created }) => created)).toHaveLength(1)
    expect(new Set(answers.map(({ sessionId }) => sessionId)).size).toBe(1)
    const again = await createSession(server.context, { ...WORK, creationId: 'once', clusterSize: 2 })
    expect(again).toEqual({ sessionId: answers[0]!.sessionId, created: false })
    expect(await statuses(db, again.sessionId)).toBe('PENDING: PENDING PENDING')
    expect(await events(db, again.sessionId)).toEqual(['session.created →PENDING'])
    expect(await countSessions()).toBe(1)
  })

  it('counts within its project and within one call', async () => {
    await otherProject()
    const results = await createSessions(given.server.context, [
      { ...WORK, creationId: 'a' },
      { ...WORK, creationId: 'a' },
      { ...WORK, creationId: 'a', project: 'other' },
    ])
    const [first, second, third] = results as { sessionId: string; created: boolean }[]
    expect(second).toEqual({ sessionId: first!.sessionId, created: false })
    expect(third!.created).toBe(true)
    expect(third!.sessionId).not.toBe(first!.sessionId)
  })

  it('that two calls for many share in part is made once', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `job-${n}`)
    const [up, down] = await Promise.all(
      [names, names.toReversed()].map((ids) =>
        createSessions(
          given.server.context,
          ids.map((creationId) => ({ ...WORK, creationId })),
        ),
      ),
    )
    expect([...up!, ...down!].some((result) => result instanceof RepriseError)).toBe(false)
    expect(await countSessions()).toBe(50)
    const idsOf = (results: typeof up) => results!.map((result) => (result as { sessionId: string }).sessionId)
    expect(idsOf(down).toReversed()).toEqual(idsOf(up))
  })
})

describe('createSessions', () => {
  it('answers in the order of the inputs, each for itself', async () => {
    const results = await createSessions(given.server.context, [
      WORK,
      { ...WORK, name: '' },
      { ...WORK, project: 'nowhere' },
      { ...WORK, resourceGroup: 'nowhere' },
      { ...WORK, dependsOn: [randomUUID()] },
      WORK,
    ])
    expect(results.map((result) => (result instanceof RepriseError ? result.code : result.created))).toEqual([
      true,
      'VALIDATION_FAILED',
      'PROJECT_NOT_FOUND',
      'RESOURCE_GROUP_NOT_FOUND',
      'DEPENDENCY_NOT_FOUND',
      true,
    ])
    expect(await countSessions()).toBe(2)
  })

  it('takes 1000 at once and no more', async () => {
    const many = Array.from({ length: CREATE_SESSIONS_MAX }, () => WORK)
    expect(await createSessions(given.server.context, many)).toHaveLength(CREATE_SESSIONS_MAX)
    const refused = createSessions(given.server.context, [...many, WORK])
    await expect(refused).rejects.toMatchObject({ code: 'VALIDATION_FAILED', issues: [{ path: 'sessions' }] })
    expect(await createSessions(given.server.context, [])).toEqual([])
    expect(await countSessions()).toBe(CREATE_SESSIONS_MAX)
  })
})

const variables = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `V${n}`, value: 'x'.repeat(bytes) }))

describe('faults', () => {
  it('are reported all at once, each with its path', async () => {
    const creating = createSession(given.server.context, {
      name: '',
      command: [],
      priority: 101,
      clusterSize: 0,
      batchTimeout: -1,
      environ: [
        { name: '1A', value: '' },
        { name: 'REPRISE_X', value: '' },
      ],
      resourceSlots: [{ slot: 'cpu', amount: 'much' }],
      retryPolicy: { maxRetries: -1, rules: [{ match: {}, action: 'PANIC' }] },
    })
    const error = (await creating.catch((reason: unknown) => reason)) as RepriseError
    expect(error.code).toBe('VALIDATION_FAILED')
    expect(error.issues.map(({ path }) => path).toSorted()).toEqual([
      'batchTimeout',
      'clusterSize',
      'command',
      'environ.0.name',
      'environ.1.name',
      'name',
      'priority',
      'resourceSlots.0.amount',
      'retryPolicy.maxRetries',
      'retryPolicy.rules.0.action',
    ])
  })

  const rule = (fields: object) => ({ retryPolicy: { rules: [{ match: {}, action: 'RETRY', ...fields }] } })
  const hostile: Record<string, unknown>[] = [
    { name: 'a\0b' },
    { name: '\ud800' },
    { name: 7 },
    { name: 'n'.repeat(257) },
    { command: 'rm -rf' },
    { command: ['\0'] },
    { command: ['\udfff'] },
    { command: ['x'.repeat(131_072)] },
    { image: 'a\0' },
    { project: 'a\0' },
    { project: {} },
    { resourceGroup: '\0' },
    { resourceGroup: '\ud800' },
    { creationId: '\0' },
    { creationId: '' },
    { labels: [{ key: 'k', value: '\ud800' }] },
    {
      labels: [
        { key: 'k', value: 'v' },
        { key: 'k', value: 'w' },
      ],
    },
    { environ: [{ name: 'A', value: '\0' }] },
    { environ: [{ name: 'A', value: 'x'.repeat(ARGUMENT_BYTES_MAX - 1) }] },
    { environ: variables(9, 128_000) },
    { command: Array.from({ length: 7 }, () => 'x'.repeat(128_000)) },
    { environ: [{ name: '__proto__', value: 1 }] },
    { resourceSlots: [{ slot: 'cpu', amount: 1e300 }] },
    { resourceSlots: [{ slot: 'cpu', amount: -1 }] },
    { resourceSlots: [{ slot: 'cpu', amount: Number.NaN }] },
    { resourceSlots: [{ slot: 'cpu', amount: '0.0000000001' }] },
    { resourceSlots: [{ slot: 'mem', amount: `1${'0'.repeat(31)}` }] },
    { resourceSlots: [{ slot: '', amount: 1 }] },
    { clusterSize: 1e300 },
    { clusterSize: 1.5 },
    { batchTimeout: Number.POSITIVE_INFINITY },
    { batchTimeout: 1e300 },
    { priority: 2 ** 31 },
    { startsAt: 'tomorrow' },
    { startsAt: new Date(Number.NaN) },
    { startsAt: new Date(8.64e15) },
    { startsAt: new Date(-8.64e15) },
    { dependsOn: ['me'] },
    { dependsOn: 'me' },
    { sessionType: 'SERVICE' },
    { retryPolicy: 'often' },
    { retryPolicy: { maxRetries: 1e300 } },
    { retryPolicy: { retryDelay: 'soon' } },
    { retryPolicy: { retryDelay: Number.POSITIVE_INFINITY } },
    { retryPolicy: { more: true } },
    rule({ match: { reason: '\0' } }),
    rule({ match: { reason: '\ud800' } }),
    rule({ scaleResources: [{ slot: '\0', factor: 2 }] }),
    rule({ scaleResources: [{ slot: 'cpu', factor: 2, max: '1.0000000001' }] }),
    { more: true },
  ]
  it.each(hostile)('%j is refused in words', async (fault) => {
    const creating = createSession(given.server.context, { ...WORK, ...fault })
    await expect(creating).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    expect(await countSessions()).toBe(0)
  })

  it.each([null, undefined, 7, 'work', []])('an input that is no object (%j) is refused in words', async (input) => {
    await expect(createSession(given.server.context, input as never)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    })
  })

  const extremes: Partial<CreateSessionInput>[] = [
    { batchTimeout: 31_536_000 },
    { resourceSlots: [{ slot: 'cpu', amount: '9'.repeat(30) }] },
    { startsAt: new Date('9999-12-31T23:59:59Z') },
    { startsAt: new Date('0001-01-01T00:00:00Z') },
    { retryPolicy: { retryDelay: 1e300, backoffMultiplier: 1e300, maxRetries: 100, backoff: 'EXPONENTIAL' } },
    { retryPolicy: { retryDelay: 1e-300, maxRetries: 1 } },
    { retryPolicy: { maxElapsed: 1e300, maxRetries: 1 } },
    { name: '💥'.repeat(64), command: ['é'.repeat(60_000)] },
  ]
  it.each(extremes)('the utmost that is allowed (%#) does not stop the scheduler', async (input) => {
    const { server, db } = given
    const { sessionId } = await createSession(server.context, { ...WORK, ...input })
    await given.sql(
      `UPDATE sessions SET status = 'CANCELLED', result = 'FAILURE', terminated_at = reprise_now(),
      status_data = '{"error": {"name": "scheduler-timeout", "message": "m"}}' WHERE id = $1`,
      [sessionId],
    )
    await server.run('decide-retries')
    await advanceClock(db, 100_000)
    await server.run('schedule-sessions', 'dispatch-retries', 'schedule-sessions')
    expect((await sessionRow(db, sessionId)).cause).toBe('SCHEDULER_TIMEOUT')
  })
})

describe('who may', () => {
  it.each(['VIEWER', 'AGENT'] as const)('a %s creates nothing', async (role) => {
    await expect(createSession(as({ role }), WORK)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await countSessions()).toBe(0)
  })

  it("a member sees no project but its own, and no session of another's", async () => {
    const projectId = await otherProject()
    const foreign = await given.server.create()
    const member = as({ role: 'MEMBER', projectId })
    await expect(createSession(member, { ...WORK, project: 'default' })).rejects.toMatchObject({
      code: 'PROJECT_NOT_FOUND',
      message: 'no project default; yours is other',
    })
    const depending = createSession(member, { ...WORK, project: 'other', dependsOn: [foreign] })
    await expect(depending).rejects.toMatchObject({ code: 'DEPENDENCY_NOT_FOUND' })
    const { sessionId } = await createSession(member, { ...WORK, project: 'other' })
    expect(await given.sql('SELECT project_id FROM sessions WHERE id = $1', [sessionId])).toEqual([
      { project_id: projectId },
    ])
  })

  it('an input without a project is for the only project of its token or user', async () => {
    const projectId = await otherProject()
    const [ada, bob] = [randomUUID(), randomUUID()]
    await given.sql(`INSERT INTO users (id, name) VALUES ($1, 'ada'), ($2, 'bob')`, [ada, bob])
    await given.sql(`INSERT INTO project_members VALUES ($1, $3, 'MEMBER'), ($2, $3, 'VIEWER'), ($1, $4, 'ADMIN')`, [
      projectId,
      DEFAULT_PROJECT_ID,
      ada,
      bob,
    ])
    const projectOf = async (context: ServiceContext) => {
      const { sessionId } = await createSession(context, WORK)
      return (await given.sql('SELECT project_id FROM sessions WHERE id = $1', [sessionId]))[0]!['project_id']
    }
    expect(await projectOf(as({ role: 'MEMBER', projectId, userId: ada }))).toBe(projectId)
    expect(await projectOf(as({ role: 'ADMIN', projectId: null, userId: bob }))).toBe(projectId)
    expect(await projectOf(as({ role: 'ADMIN', projectId: null, userId: null }))).toBe(DEFAULT_PROJECT_ID)

    const several = as({ role: 'ADMIN', projectId: null, userId: ada })
    const results = await createSessions(several, [WORK, { ...WORK, project: 'other' }])
    expect(results).toMatchObject([
      { code: 'VALIDATION_FAILED', message: 'project: must be given: you are a member of default, other' },
      { created: true },
    ])
  })

  it('a creation id is the same with the project and without it', async () => {
    const member = as({ role: 'MEMBER', projectId: await otherProject() })
    const first = await createSession(member, { ...WORK, creationId: 'own' })
    expect(await createSession(member, { ...WORK, creationId: 'own', project: 'other' })).toEqual({
      sessionId: first.sessionId,
      created: false,
    })
  })

  it('is in the audit log with the created sessions', async () => {
    const results = await createSessions(given.server.context, [WORK, WORK])
    const sessionIds = results.map((result) => (result as { sessionId: string }).sessionId)
    const entries = await given.sql('SELECT actor, action, project_id, details FROM audit_log')
    expect(entries).toMatchObject([{ actor: 'ada', action: 'session.create', project_id: DEFAULT_PROJECT_ID }])
    expect((entries[0]!['details'] as { sessionIds: string[] }).sessionIds.toSorted()).toEqual(sessionIds.toSorted())
  })
})

describe('the policy', () => {
  const policyOf = async (sessionId: string) =>
    (
      await given.sql('SELECT retry_policy, retry_policy_sources, max_retries FROM sessions WHERE id = $1', [sessionId])
    )[0]! as Record<string, any>

  async function defaults(): Promise<void> {
    const { sql } = given
    await sql(`UPDATE projects SET retry_defaults = '{"maxRetries": 5, "retryDelay": 7}'`)
    await sql(`UPDATE domains SET retry_defaults = '{"retryDelay": 8, "backoff": "EXPONENTIAL"}'`)
    await sql(
      `INSERT INTO settings (key, value) VALUES ('retry-defaults', '{"backoff": "FIXED", "jitterRatio": 0, "maxElapsed": 60}')`,
    )
  }

  it('is resolved field by field, with the source of each', async () => {
    await defaults()
    const row = await policyOf(await given.server.create({ retryPolicy: { jitter: 'NONE', maxElapsed: null } }))
    expect(row).toMatchObject({
      max_retries: 5,
      retry_policy: {
        maxRetries: 5,
        retryDelay: 7,
        backoff: 'EXPONENTIAL',
        jitterRatio: 0,
        jitter: 'NONE',
        maxElapsed: null,
      },
      retry_policy_sources: {
        maxRetries: 'PROJECT',
        retryDelay: 'PROJECT',
        backoff: 'DOMAIN',
        jitterRatio: 'CLUSTER',
        jitter: 'SESSION',
        maxElapsed: 'SESSION',
      },
    })
    // A missing field has its shipped default.
    expect(row['retry_policy']).not.toHaveProperty('backoffMultiplier')
    expect(row['retry_policy_sources']).not.toHaveProperty('backoffMultiplier')
  })

  it('0 is a value: it beats every default', async () => {
    await defaults()
    expect(await policyOf(await given.server.create({ retryPolicy: { maxRetries: 0 } }))).toMatchObject({
      max_retries: 0,
      retry_policy: { maxRetries: 0 },
      retry_policy_sources: { maxRetries: 'SESSION' },
    })
  })

  it('null is not given', async () => {
    await defaults()
    expect(await policyOf(await given.server.create({ retryPolicy: { maxRetries: null } }))).toMatchObject({
      max_retries: 5,
    })
    expect(await policyOf(await given.server.create({ retryPolicy: null }))).toMatchObject({ max_retries: 5 })
  })

  it('of a session stays the same when a default changes', async () => {
    await defaults()
    const id = await given.server.create()
    await given.sql(`UPDATE projects SET retry_defaults = '{"maxRetries": 9}'`)
    expect(await policyOf(id)).toMatchObject({ max_retries: 5 })
  })
})
