/** Presets, exit codes of rules, sources of a policy, and previews of retries. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SHIPPED_POLICY } from '../../../src/domain/retry/policy/policy.ts'
import { PRESETS } from '../../../src/domain/retry/policy/resolve-policy.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const PLAIN_FIELDS = Object.keys(SHIPPED_POLICY).filter((field) => field !== 'rules')
const POLICY = `${PLAIN_FIELDS.join(' ')}
  rules { action delay avoid match { causes exitCodes exitCodesNotIn reason } scaleResources { slot factor max } scaleTimeout { factor max } }
  sources { field source }`

const CREATE = `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
  ... on CreateSessionPayload { session { sessionId retryPolicy { ${POLICY} } } }
  ... on ValidationError { issues { path } } } }`

async function create(retryPolicy: object) {
  const resourceSlots = [{ slot: 'mem', amount: '2000m' }]
  const { data, errors } = await server.query(CREATE, {
    input: { name: 'x', command: ['true'], resourceSlots, retryPolicy },
  })
  expect(errors).toBeUndefined()
  return data.createSession
}

function sourcesOf(policy: { sources: { field: string; source: string }[] }): Record<string, string> {
  return Object.fromEntries(policy.sources.map(({ field, source }) => [field, source]))
}

describe('a preset', () => {
  test('becomes the policy of a session, field by field, and what stands beside it wins', async () => {
    const { session } = await create({ preset: 'CMS_EXIT_CODES', maxRetries: 4 })
    expect(session.retryPolicy).toMatchObject({ maxRetries: 4, retryDelay: 900, jitter: 'NONE', maxRetryDelay: 3600 })
    expect(session.retryPolicy.rules).toHaveLength(PRESETS.CMS_EXIT_CODES.rules!.length)
    expect(sourcesOf(session.retryPolicy)).toMatchObject({
      maxRetries: 'SESSION',
      rules: 'SESSION',
      jitter: 'SESSION',
      maxRetryDelay: 'SHIPPED',
    })
    const { rows } = await server.db.query('SELECT retry_policy AS policy FROM sessions WHERE id = $1', [
      session.sessionId,
    ])
    expect(rows[0]!['policy']).toEqual({ ...SHIPPED_POLICY, ...PRESETS.CMS_EXIT_CODES, maxRetries: 4 })
  })

  test('is previewed, with the memory that each retry gets', async () => {
    const { session } = await create({ preset: 'CMS_EXIT_CODES' })
    const text = `query ($policy: RetryPolicyInput!, $sessionId: UUID) {
      retryPolicyPreview(policy: $policy, exitCode: 50115, sessionId: $sessionId) {
        eligible schedule { delaySeconds resourceSlots { slot amount } batchTimeout } } }`
    const policy = { preset: 'CMS_EXIT_CODES', maxRetries: 7 }
    const { data } = await server.query(text, { policy, sessionId: session.sessionId })
    const { schedule } = data.retryPolicyPreview
    expect(schedule.map((retry: any) => retry.delaySeconds)).toEqual(Array.from({ length: 7 }, () => 900))
    const memory = schedule.map((retry: any) => retry.resourceSlots.find(({ slot }: any) => slot === 'mem').amount)
    expect(schedule[0].batchTimeout).toBeNull()
    expect(memory.map((bytes: string) => Math.floor(Number(bytes) / 2 ** 20))).toEqual([
      2600, 3380, 4394, 5712, 7425, 7500, 7500,
    ])
  })
})

describe('exit codes of a rule', () => {
  const rules = [
    { match: { exitCodes: [2, '64-78'] }, action: 'FAIL' },
    { match: { exitCodesNotIn: ['0-9', 75] }, action: 'RETRY' },
  ]

  test('are numbers and ranges, in and out', async () => {
    const { session } = await create({ maxRetries: 2, rules })
    expect(session.retryPolicy.rules).toMatchObject(rules)
    const literal = await server.query(`{ retryPolicyPreview(exitCode: 70, policy: { maxRetries: 1, rules: [
      { action: FAIL, match: { exitCodes: [2, "64-78"] } }] }) { eligible explanation } }`)
    expect(literal.data.retryPolicyPreview).toEqual({
      eligible: false,
      explanation: 'no retry: matched rules[0] (FAIL)',
    })
  })

  test('decide what is previewed', async () => {
    const text = `query ($policy: RetryPolicyInput!, $exitCode: Int) {
      retryPolicyPreview(policy: $policy, exitCode: $exitCode) { explanation } }`
    const explain = async (exitCode: number) => {
      const { data } = await server.query(text, { policy: { maxRetries: 2, rules }, exitCode })
      return data.retryPolicyPreview.explanation
    }
    expect(await explain(2)).toBe('no retry: matched rules[0] (FAIL)')
    expect(await explain(63)).toBe('2 retries by rules[1] (RETRY)')
    for (const code of [64, 75, 78]) expect(await explain(code)).toBe('no retry: matched rules[0] (FAIL)')
    expect(await explain(5)).toBe('2 retries by the eligible causes')
  })

  test('that are none are refused', async () => {
    const { errors } = await server.query(CREATE, {
      input: {
        name: 'x',
        command: ['true'],
        retryPolicy: { rules: [{ match: { exitCodes: ['78-64'] }, action: 'FAIL' }] },
      },
    })
    expect(errors?.[0]?.message).toMatch(/ExitCodes cannot represent "78-64": it is an exit code, or a range/)
  })
})

describe('the policy of a session', () => {
  test('tells the source of each field', async () => {
    const { session } = await create({ retryDelay: 5, maxElapsed: null })
    const sources = sourcesOf(session.retryPolicy)
    expect(Object.keys(sources).toSorted()).toEqual(Object.keys(SHIPPED_POLICY).toSorted())
    expect(Object.keys(sources).filter((field) => sources[field] === 'SESSION')).toEqual(['retryDelay', 'maxElapsed'])
  })

  test('that no longer validates does not hide the session', async () => {
    const { id } = await server.factory.session({ retryPolicy: { maxRetries: 2 } })
    await server.db.query(
      `UPDATE sessions SET retry_policy = '{"maxRetries": 2, "jitter": "SOME"}',
      retry_policy_sources = '{"maxRetries": "DOMAIN", "jitter": "SESSION"}' WHERE id = $1`,
      [id],
    )
    const { data, errors } = await server.query(`{ session(id: "${id}") { maxRetries retryPolicy { ${POLICY} } } }`)
    expect(errors).toBeUndefined()
    expect(data.session).toMatchObject({ maxRetries: 2, retryPolicy: { ...SHIPPED_POLICY, maxRetries: 2 } })
    expect(sourcesOf(data.session.retryPolicy)).toMatchObject({ maxRetries: 'DOMAIN', jitter: 'SHIPPED' })
  })
})

describe('airflowPolicyPreview', () => {
  const text = `query ($settings: AirflowSettingsInput!) { airflowPolicyPreview(settings: $settings) {
    policy { ${POLICY} } explanation { alike differs }
    airflowDelays { retry delaySeconds earliestSeconds latestSeconds elapsedSeconds }
    schedule { retry earliestSeconds latestSeconds } } }`

  async function preview(settings: object) {
    const { data, errors } = await server.query(text, { settings })
    expect(errors).toBeUndefined()
    return data.airflowPolicyPreview
  }

  test('puts both schedules side by side', async () => {
    const { policy, explanation, airflowDelays, schedule } = await preview({
      retries: 3,
      retryDelay: 30,
      retryExponentialBackoff: true,
      maxRetryDelay: 200,
    })
    expect(policy).toMatchObject({ maxRetries: 3, backoff: 'EXPONENTIAL', backoffMultiplier: 2, maxRetryDelay: 200 })
    expect(sourcesOf(policy)).toMatchObject({ maxRetries: 'SESSION', maxElapsed: 'SHIPPED' })
    expect(airflowDelays).toEqual([
      { retry: 1, delaySeconds: 30, earliestSeconds: 30, latestSeconds: 59, elapsedSeconds: 30 },
      { retry: 2, delaySeconds: 60, earliestSeconds: 60, latestSeconds: 119, elapsedSeconds: 90 },
      { retry: 3, delaySeconds: 120, earliestSeconds: 120, latestSeconds: 200, elapsedSeconds: 210 },
    ])
    expect(schedule).toEqual([
      { retry: 1, earliestSeconds: 30, latestSeconds: 60 },
      { retry: 2, earliestSeconds: 60, latestSeconds: 120 },
      { retry: 3, earliestSeconds: 120, latestSeconds: 200 },
    ])
    expect(explanation.alike.join(' ')).toContain('4 attempts')
    expect(explanation.differs.length).toBeGreaterThan(0)
  })

  test('computes the jitter of a task that it is told', async () => {
    const task = { dagId: 'd', taskId: 't', logicalDate: '2016-01-01 00:00:00+00:00' }
    const { airflowDelays } = await preview({ ...task, retries: 3, retryDelay: 60, retryExponentialBackoff: 1.5 })
    expect(airflowDelays.map((retry: any) => retry.delaySeconds)).toEqual([81, expect.any(Number), 243])
  })

  test('takes what Airflow takes by default', async () => {
    expect(await preview({})).toMatchObject({ policy: { maxRetries: 0, retryDelay: 300 }, airflowDelays: [] })
  })

  test('tells what is wrong', async () => {
    const answer = await server.query(text, { settings: { retries: -1, taskId: 't' } })
    expect(answer.errors?.[0]?.extensions).toMatchObject({ code: 'VALIDATION_FAILED' })
    const issues = answer.errors?.[0]?.extensions['issues'].map(({ path }: any) => path)
    expect(issues).toEqual(['settings.retries', 'settings.taskId'])
    const wrongType = await server.query(text, { settings: { retryExponentialBackoff: 'yes' } })
    expect(wrongType.errors?.[0]?.message).toMatch(/AirflowBackoff cannot represent "yes"/)
  })
})
