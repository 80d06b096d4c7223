/** Mutations on sessions and their retries. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const CREATE = `mutation ($input: CreateSessionInput!) { createSession(input: $input) { __typename
  ... on CreateSessionPayload { created session { sessionId creationId name sessionType status result command environ { name value }
    resourceSlots { slot amount } labels { key value } priority clusterSize clusterMode batchTimeout startsAt maxRetries
    retryCount attempt epoch origin project { name } resourceGroup { name } kernels { role index status agent { name } }
    retryPolicy { maxRetries retryDelay backoff maxRetryDelay jitter eligibleCauses rules { action match { exitCodes } } }
    retryState { phase attempt maxAttempts label } parentSession { sessionId } rootSession { name } retryChain { name } } }
  ... on ValidationError { code message issues { path message } }
  ... on Error { code message } } }`

async function create(input: object) {
  const { data, errors } = await server.query(CREATE, { input })
  expect(errors).toBeUndefined()
  return data.createSession
}

describe('createSession', () => {
  test('returns the session with the input, and defaults for the rest', async () => {
    const result = await create({
      name: 'full',
      command: ['sh', '-c', 'exit 3'],
      environ: [{ name: 'A', value: '1' }],
      resourceSlots: [{ slot: 'mem', amount: '2g' }],
      labels: [{ key: 'team', value: 'red' }],
      clusterSize: 2,
      batchTimeout: 1.5,
      startsAt: '2030-01-01T00:00:00+02:00',
      retryPolicy: { maxRetries: 3, maxRetryDelay: null, rules: [{ match: { exitCodes: [3] }, action: 'RETRY' }] },
    })
    expect(result).toMatchObject({
      __typename: 'CreateSessionPayload',
      created: true,
      session: {
        name: 'full',
        sessionType: 'BATCH',
        status: 'PENDING',
        result: 'UNDEFINED',
        environ: [{ name: 'A', value: '1' }],
        labels: [{ key: 'team', value: 'red' }],
        priority: 10,
        batchTimeout: 1.5,
        startsAt: '2029-12-31T22:00:00.000Z',
        maxRetries: 3,
        origin: 'INITIAL',
        project: { name: 'default' },
        kernels: [
          { role: 'main', index: 1, agent: null },
          { role: 'sub', index: 1, agent: null },
        ],
        retryPolicy: {
          maxRetries: 3,
          maxRetryDelay: null,
          jitter: 'DETERMINISTIC',
          rules: [{ action: 'RETRY', match: { exitCodes: [3] } }],
        },
        retryState: { phase: 'UNDECIDED', attempt: 1, maxAttempts: 4, label: 'attempt 1 of 4' },
        parentSession: null,
        rootSession: { name: 'full' },
        retryChain: [{ name: 'full' }],
      },
    })
    expect(result.session.resourceSlots).toContainEqual({ slot: 'mem', amount: '2147483648' })
  })

  test('repeated with its creationId gives the first session', async () => {
    const input = { name: 'once', command: ['true'], creationId: randomUUID() }
    const first = await create(input)
    const again = await create(input)
    expect(again).toMatchObject({ created: false, session: { sessionId: first.session.sessionId, name: 'once' } })
  })

  test('reports all faults at once', async () => {
    const result = await create({ name: '', command: [], priority: 101, retryPolicy: { maxRetries: -1 } })
    expect(result).toMatchObject({ __typename: 'ValidationError', code: 'VALIDATION_FAILED' })
    expect(result.issues.map(({ path }: any) => path).toSorted()).toEqual([
      'command',
      'name',
      'priority',
      'retryPolicy.maxRetries',
    ])
  })

  test('reports what does not exist', async () => {
    const missing = await create({ name: 'x', command: ['true'], resourceGroup: 'nowhere' })
    expect(missing).toMatchObject({ __typename: 'NotFoundError', code: 'RESOURCE_GROUP_NOT_FOUND' })
  })
})

describe('an object in the way', () => {
  const EXISTING = `... on Error { code } ... on ConflictError { existing { __typename id
    ... on Session { name } ... on Deployment { name } ... on Schedule { name } ... on User { name } ... on Domain { name }
    ... on Project { name } ... on ResourceGroup { name } ... on BulkAction { clientKey } } }`
  const mutate = async (name: string, input: object) => {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
    const text = `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename ${EXISTING} } }`
    const { data, errors } = await server.query(text, { input })
    expect(errors).toBeUndefined()
    return data[name]
  }

  test.each([
    ['createSession', { name: 'first', command: ['true'], creationId: 'mine' }, 'Session', 'CREATION_ID_REUSED'],
    [
      'createSchedule',
      { name: 'first', every: 3600, session: { name: 'x', command: ['true'] } },
      'Schedule',
      'NAME_TAKEN',
    ],
    ['createDeployment', { name: 'first', command: ['true'], replicas: 1 }, 'Deployment', 'NAME_TAKEN'],
    ['createUser', { name: 'first' }, 'User', 'NAME_TAKEN'],
    ['createDomain', { name: 'first' }, 'Domain', 'NAME_TAKEN'],
    ['createProject', { name: 'first' }, 'Project', 'NAME_TAKEN'],
    ['createResourceGroup', { name: 'first' }, 'ResourceGroup', 'NAME_TAKEN'],
  ])('comes with the conflict of %s', async (name, input, type, code) => {
    await mutate(name, input)
    const other = name === 'createSession' ? { ...input, command: ['false'] } : input
    const answer = await mutate(name, other)
    expect(answer).toMatchObject({ __typename: 'ConflictError', code, existing: { __typename: type, name: 'first' } })
    const { data } = await server.query('query ($id: ID!) { node(id: $id) { __typename } }', { id: answer.existing.id })
    expect(data.node).toEqual({ __typename: type })
  })

  test('comes with a client key that was used for something else', async () => {
    const { id } = await server.factory.session({ status: 'ERROR' })
    await mutate('resubmitSessions', { sessionIds: [id], clientKey: 'again' })
    const answer = await mutate('resubmitSessions', { sessionIds: [id], clientKey: 'again', includeSucceeded: true })
    expect(answer).toMatchObject({
      code: 'CLIENT_KEY_REUSED',
      existing: { __typename: 'BulkAction', clientKey: 'again' },
    })
  })

  test('is the next attempt, with a retry that was dispatched and with a refused resubmission', async () => {
    const [parent, child] = await server.factory.chain(2, { status: 'RUNNING' })
    const text = `mutation ($id: UUID!) {
      retryNow(input: { sessionId: $id }) { ... on Error { code } ... on InvalidStateError { childSession { sessionId } } }
      resubmitSessions(input: { sessionIds: [$id] }) { ... on ResubmitSessionsPayload {
        refused { code childSession { sessionId status } } } } }`
    const { data, errors } = await server.query(text, { id: parent!.id })
    expect(errors).toBeUndefined()
    expect(data.retryNow).toEqual({ code: 'NO_PENDING_RETRY', childSession: { sessionId: child!.id } })
    expect(data.resubmitSessions.refused).toEqual([
      { code: 'SESSION_HAS_CHILD', childSession: { sessionId: child!.id, status: 'RUNNING' } },
    ])
  })

  test('is null for other obstacles', async () => {
    const { id } = await server.factory.session({ status: 'RUNNING' })
    const text = `mutation ($id: UUID!) { retryNow(input: { sessionId: $id }) {
      ... on InvalidStateError { code childSession { sessionId } } } }`
    const { data } = await server.query(text, { id })
    expect(data.retryNow).toEqual({ code: 'NO_PENDING_RETRY', childSession: null })
  })
})

describe('createSessions', () => {
  const text = `mutation ($input: CreateSessionsInput!) { createSessions(input: $input) { __typename
    ... on CreateSessionsPayload { results { __typename ... on CreateSessionPayload { session { name } } ... on Error { code } } }
    ... on Error { code message } } }`

  test('creates the valid ones, in order', async () => {
    const good = (name: string) => ({ name, command: ['true'] })
    const { data } = await server.query(text, {
      input: { sessions: [good('a'), { ...good('b'), priority: -1 }, good('c')] },
    })
    expect(data.createSessions.results).toEqual([
      { __typename: 'CreateSessionPayload', session: { name: 'a' } },
      { __typename: 'ValidationError', code: 'VALIDATION_FAILED' },
      { __typename: 'CreateSessionPayload', session: { name: 'c' } },
    ])
  })

  test('refuses more than a thousand', async () => {
    const sessions = Array.from({ length: 1_001 }, () => ({ name: 'x', command: ['true'] }))
    const { data } = await server.query(text, { input: { sessions } })
    expect(data.createSessions).toMatchObject({ __typename: 'ValidationError', code: 'VALIDATION_FAILED' })
  })
})

describe('a session', () => {
  const change = async (mutation: string, sessionId: string) => {
    const payload = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}Payload`
    const text = `mutation ($id: UUID!) { ${mutation}(input: { sessionId: $id }) { __typename
      ... on Error { code message } ... on ${payload} { session { sessionId status retryState { phase dueAt scheduledAt } } } } }`
    const { data, errors } = await server.query(text, { id: sessionId })
    expect(errors).toBeUndefined()
    return data[mutation]
  }

  test('that waits is cancelled when it is terminated, and cannot be terminated again', async () => {
    const { session } = await create({ name: 'x', command: ['true'] })
    expect(await change('terminateSession', session.sessionId)).toMatchObject({ session: { status: 'CANCELLED' } })
    expect(await change('terminateSession', session.sessionId)).toMatchObject({ code: 'SESSION_ALREADY_FINISHED' })
  })

  test('that failed has a retry that can be cancelled, once', async () => {
    const { id } = await server.factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 } })
    expect(await change('cancelRetry', id)).toMatchObject({ session: { retryState: { phase: 'CANCELLED' } } })
    expect(await change('cancelRetry', id)).toMatchObject({ __typename: 'InvalidStateError', code: 'NO_PENDING_RETRY' })
    expect(await change('retryNow', id)).toMatchObject({ code: 'NO_PENDING_RETRY' })
  })

  test('that failed has a retry that can be hurried', async () => {
    const createdAt = new Date(Date.now() + 3_600_000)
    const { id } = await server.factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 }, createdAt })
    const { session } = await change('retryNow', id)
    expect(Date.parse(session.retryState.dueAt)).toBeLessThan(Date.now() + 60_000)
    expect(session.retryState.scheduledAt).toBe(session.retryState.dueAt)
  })

  test('that failed has a retry whose policy can be changed', async () => {
    const { id } = await server.factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 } })
    const text = `mutation ($input: UpdateRetryInput!) { updateRetry(input: $input) { __typename
      ... on UpdateRetryPayload { session { maxRetries retryPolicy { retryDelay sources { field source } }
        retryState { phase label delaySeconds reason } retryDecision { explanation } } }
      ... on Error { code message } ... on ValidationError { issues { path } } } }`
    const update = async (policy: object) => (await server.query(text, { input: { sessionId: id, policy } })).data
    const { updateRetry } = await update({ retryDelay: 7, jitter: 'NONE', maxRetries: 4 })
    expect(updateRetry).toMatchObject({
      session: {
        maxRetries: 4,
        retryPolicy: { retryDelay: 7 },
        retryState: { phase: 'SCHEDULED', label: 'attempt 1 of 5', delaySeconds: 7 },
        retryDecision: {
          explanation: expect.stringMatching(/^retry 1 of 4: .* waits 7 s; policy changed by ADMIN-token$/),
        },
      },
    })
    expect((await update({})).updateRetry).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: 'policy' }],
    })
    await change('cancelRetry', id)
    expect((await update({ retryDelay: 1 })).updateRetry).toMatchObject({
      __typename: 'InvalidStateError',
      code: 'NO_PENDING_RETRY',
    })
  })

  test('names its chain: the retry of the newest attempt is changed, hurried and cancelled, and is in the payload', async () => {
    const [first, , last] = await server.factory.chain(3, { status: 'ERROR', phase: 'HELD' })
    const sessionId = last!.id
    const text = `mutation ($input: UpdateRetryInput!) { updateRetry(input: $input) {
      ... on UpdateRetryPayload { session { sessionId retryPolicy { retryDelay } } } ... on Error { message } } }`
    const input = { sessionId: first!.id, policy: { retryDelay: 7 } }
    expect((await server.query(text, { input })).data.updateRetry).toEqual({
      session: { sessionId, retryPolicy: { retryDelay: 7 } },
    })
    expect(await change('retryNow', first!.id)).toMatchObject({
      session: { sessionId, retryState: { phase: 'SCHEDULED' } },
    })
    expect(await change('cancelRetry', first!.id)).toMatchObject({
      session: { sessionId, retryState: { phase: 'CANCELLED' } },
    })
    expect(await change('retryNow', first!.id)).toMatchObject({
      code: 'NO_PENDING_RETRY',
      message: `the newest attempt ${sessionId} of the chain of session ${first!.id} has a retry that is CANCELLED, none that is scheduled or held`,
    })
  })

  test('that waits for its retry is ended by terminateSession', async () => {
    const { id } = await server.factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 } })
    expect(await change('terminateSession', id)).toMatchObject({ session: { retryState: { phase: 'CANCELLED' } } })
    expect(await change('terminateSession', id)).toMatchObject({ code: 'SESSION_ALREADY_FINISHED' })
  })

  describe('changed with a key of the client', () => {
    const ONCE = `mutation ($input: CancelRetryInput!) { cancelRetry(input: $input) { __typename
      ... on Error { code } ... on CancelRetryPayload { session { sessionId retryState { phase } } } } }`
    const cancel = async (input: object, token = server.adminToken) =>
      (await server.query(ONCE, { input }, token)).data.cancelRetry
    const failed = () => server.factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 } })

    test('is changed once; a repeated request has the same answer, and another one is refused', async () => {
      const [{ id: sessionId }, other] = [await failed(), await failed()]
      const clientKey = randomUUID()
      const answers = await Promise.all(Array.from({ length: 4 }, () => cancel({ sessionId, clientKey })))
      const done = { __typename: 'CancelRetryPayload', session: { sessionId, retryState: { phase: 'CANCELLED' } } }
      expect(answers).toEqual([done, done, done, done])
      expect(await cancel({ sessionId: other.id, clientKey })).toMatchObject({ code: 'CLIENT_KEY_REUSED' })
      const { rows } = await server.db.query(
        `SELECT FROM audit_log WHERE action = 'retry.cancel' AND session_id = $1`,
        [sessionId],
      )
      expect(rows).toHaveLength(1)
    })

    test('is changed by a repeated request if the first one failed', async () => {
      const [clientKey, { id: sessionId }] = [randomUUID(), await failed()]
      const { rows } = await server.db.query<{ id: string }>(`SELECT id FROM projects WHERE name = 'default'`)
      const projectId = rows[0]!.id
      const [viewer, member] = [
        await server.factory.token({ role: 'VIEWER', projectId }),
        await server.factory.token({ role: 'ADMIN', projectId }),
      ]
      expect(await cancel({ sessionId, clientKey }, viewer)).toMatchObject({ code: 'FORBIDDEN' })
      expect(await cancel({ sessionId, clientKey }, member)).toMatchObject({ __typename: 'CancelRetryPayload' })
    })

    test('or a reason has the reason in the audit log', async () => {
      const { id: sessionId } = await failed()
      await cancel({ sessionId, reason: 'the data is wrong' })
      const { data } = await server.query(
        `query ($id: UUID) { auditLog(filter: { sessionId: $id }, first: 1) { edges { node { action reason } } } }`,
        { id: sessionId },
      )
      expect(data.auditLog.edges).toEqual([{ node: { action: 'retry.cancel', reason: 'the data is wrong' } }])
      expect(await cancel({ sessionId, reason: 'x'.repeat(2_000) })).toMatchObject({ code: 'VALIDATION_FAILED' })
    })

    test('is selected among many by exactly one condition', async () => {
      const { id } = await failed()
      const text = `mutation ($input: CancelRetriesInput!) { cancelRetries(input: $input) { __typename
        ... on Error { message } ... on DryRun { total count } } }`
      const select = async (selection: object, more: object = {}) =>
        server.query(text, { input: { select: selection, dryRun: true, ...more } })
      expect((await select({ sessionIds: [id] })).data.cancelRetries).toMatchObject({ total: 1, count: 1 })
      expect((await select({ chainFilter: { ids: [id] } })).data.cancelRetries).toMatchObject({ total: 1, count: 1 })
      expect((await select({ sessionIds: [id], filter: {} })).errors?.[0]?.message).toContain('Exactly one key')
      expect((await select({ filter: { labels: [] } })).data.cancelRetries.message).toContain('empty filter')
      expect((await select({ chainFilter: { labels: [] } })).data.cancelRetries.message).toContain('empty filter')
      expect((await select({ sessionIds: [id] }, { sessionIds: [id] })).data.cancelRetries.message).toContain(
        '`select`',
      )
    })
  })

  test('that is not there', async () => {
    for (const mutation of ['terminateSession', 'cancelRetry', 'retryNow']) {
      expect(await change(mutation, randomUUID())).toMatchObject({
        __typename: 'NotFoundError',
        code: 'SESSION_NOT_FOUND',
      })
    }
  })
})

test('retryPolicyPreview plans without creating', async () => {
  const text = `query ($policy: RetryPolicyInput!) { retryPolicyPreview(policy: $policy, cause: OOM_KILLED) {
    eligible explanation schedule { retry delaySeconds earliestSeconds latestSeconds elapsedSeconds resourceSlots { slot } } } }`
  const policy = { maxRetries: 3, retryDelay: 1, backoff: 'EXPONENTIAL', jitter: 'NONE' }
  const { data } = await server.query(text, { policy })
  expect(data.retryPolicyPreview.schedule.map(({ delaySeconds }: any) => delaySeconds)).toEqual([1, 2, 4])
  const wrong = await server.query(text, { policy: { jitterRatio: 2 } })
  expect(wrong.errors?.[0]?.extensions).toMatchObject({
    code: 'VALIDATION_FAILED',
    issues: [{ path: 'policy.jitterRatio' }],
  })
})

describe('the preview of a first attempt', () => {
  const TEXT = `query ($policy: RetryPolicyInput!, $project: String) {
    retryPolicyPreview(policy: $policy, project: $project, exitCode: 3) { eligible schedule { delaySeconds }
      policy { maxRetries retryDelay } sources { field source } } }`
  const SET = `mutation ($input: SetRetryDefaultsInput!) { setRetryDefaults(input: $input) { __typename } }`
  const preview = async (variables: object, token?: string) => {
    const { data, errors } = await server.query(TEXT, variables, token)
    return errors ? errors[0]!.extensions : data.retryPolicyPreview
  }

  test('has the defaults that a session of the project would get, and their sources', async () => {
    const projectId = await server.factory.project('forgiving')
    const policy = { maxRetries: 2, jitter: 'NONE' }
    await server.query(SET, { input: { scope: 'PROJECT', name: 'forgiving', policy } })
    await server.query(SET, { input: { scope: 'CLUSTER', policy: { maxRetries: 9, retryDelay: 7 } } })
    const shown = await preview({ policy: { backoff: 'FIXED' }, project: 'forgiving' })
    expect(shown).toMatchObject({
      eligible: true,
      schedule: [{ delaySeconds: 7 }, { delaySeconds: 7 }],
      policy: { maxRetries: 2, retryDelay: 7 },
    })
    const sources = Object.fromEntries(shown.sources.map(({ field, source }: any) => [field, source]))
    expect(sources).toMatchObject({
      backoff: 'SESSION',
      maxRetries: 'PROJECT',
      jitter: 'PROJECT',
      retryDelay: 'CLUSTER',
      maxElapsed: 'SHIPPED',
    })
    const member = await server.factory.token({ role: 'MEMBER', projectId })
    expect((await preview({ policy: {} }, member)).policy.maxRetries).toBe(2)
    expect((await preview({ policy: {} })).policy.maxRetries).toBe(9)
    expect(await preview({ policy: {}, project: 'default' }, member)).toMatchObject({ code: 'PROJECT_NOT_FOUND' })
    await server.query(SET, { input: { scope: 'CLUSTER', policy: null } })
    expect((await preview({ policy: {} })).policy.maxRetries).toBe(0)
  })
})
