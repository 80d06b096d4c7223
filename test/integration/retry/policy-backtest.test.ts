/** Policies replayed on chains that the scheduler itself has made. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { RetryPolicyInput } from '../../../src/client/schema-types.generated.ts'
import { BACKTESTS_PER_PERSON_MAX, BACKTESTS_WAITING_MAX } from '../../../src/domain/limits.ts'
import { backtestRetryPolicy, followBacktest } from '../../../src/services/insight/backtest.ts'
import type { FakeAgent } from '../../support/agents/fake-agent.ts'
import { eventually } from '../../support/eventually.ts'
import { useFakeAgentApi } from '../../support/servers/fake-agent-api.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { createFactories } from '../../support/sessions/factories.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'

const given = useFakeAgentApi()
let agent: FakeAgent

beforeEach(async () => {
  agent = await given.registered({ slots: { cpu: '64', mem: String(256 * 1024 ** 3) } })
})

/** Creates a session by GraphQL, and lets it fail. */
async function failed(retryPolicy: RetryPolicyInput, name: string): Promise<string> {
  const text = `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
    ... on CreateSessionPayload { session { sessionId } } } }`
  const { createSession } = await query(text, { input: { name, command: ['true'], retryPolicy } })
  await end(1)
  return createSession.session.sessionId as string
}

async function end(exitCode: number): Promise<void> {
  await driveAll(given.server, agent, 'RUNNING')
  await failWith(given.server, agent, exitCode)
}

async function query(text: string, variables: object = {}, token = given.api.adminToken) {
  const { data, errors } = await given.api.query(text, variables, token)
  expect(errors).toBeUndefined()
  return data
}

describe('a policy replayed on finished chains', () => {
  const OUTCOMES = `same { chains laterSeconds } longer { chains attempts expected { chains } }
    earlier { chains attempts slotSeconds seconds successesLost lost { name project successes } } unknown { reason chains }`
  const ARGUMENTS = `policy: $policy, base: $base, airflow: $airflow, filter: $filter, window: $window`
  const VARIABLES = `$policy: RetryPolicyInput!, $base: BacktestBase, $airflow: AirflowSettingsInput,
    $filter: SessionFilter, $window: TimeWindow`
  const RESULT = `isComplete recorded { chains attempts slotSeconds succeeded } outcomes { ${OUTCOMES} }
    airflow { outcomes { ${OUTCOMES} } explanation { alike } }`
  const BACKTEST = `query (${VARIABLES}) { backtestRetryPolicy(${ARGUMENTS}) { ${RESULT} } }`
  const replayed = async (variables: object, token?: string) =>
    (await query(BACKTEST, { policy: {}, ...variables }, token)).backtestRetryPolicy

  /** A chain that fails so many times, and then succeeds if it may. */
  async function chain(retryPolicy: RetryPolicyInput, failures: number, name = 'train'): Promise<string> {
    const id = await failed({ jitter: 'NONE', retryDelay: 60, ...retryPolicy }, name)
    for (let attempt = 2; attempt <= failures + 1; attempt++) {
      await advanceClock(given.api.db, 61)
      await given.server.run('dispatch-retries')
      await end(attempt <= failures ? 1 : 0)
    }
    return id
  }

  it('ends as recorded under the policies that the chains had, with random jitter, too', async () => {
    await chain({ maxRetries: 3 }, 2)
    await chain({ maxRetries: 1 }, 2)
    await chain({ maxRetries: 2, jitter: 'FULL', retryDelay: 20 }, 2)
    await chain({ maxRetries: 2, rules: [{ match: { exitCodes: [1] }, action: 'RETRY', delay: 5 }] }, 1)
    const { recorded, outcomes, airflow, isComplete } = await replayed({ base: 'OWN_POLICY' })
    expect(recorded).toMatchObject({ chains: 4, attempts: 10, succeeded: 3 })
    expect(outcomes).toMatchObject({
      same: { chains: 4, laterSeconds: 0 },
      earlier: { chains: 0 },
      longer: { chains: 0 },
      unknown: [],
    })
    expect({ airflow, isComplete }).toEqual({ airflow: null, isComplete: true })
  })

  it('names the successes that it loses, beside what Airflow would have done, and changes nothing', async () => {
    const sessions = async () => (await given.api.db.query('SELECT * FROM sessions ORDER BY id')).rows
    await chain({ maxRetries: 3 }, 2)
    await chain({ maxRetries: 3 }, 1, 'eval')
    const before = await sessions()
    const airflow = { retries: 3, retryDelay: 100 }
    const found = await replayed({ policy: { maxRetries: 1, retryDelay: 60, jitter: 'NONE' }, airflow })
    expect(found.outcomes).toMatchObject({
      same: { chains: 1, laterSeconds: 0 },
      earlier: { chains: 1, attempts: 1, successesLost: 1 },
    })
    expect(found.outcomes.earlier.lost).toEqual([{ name: 'train', project: 'default', successes: 1 }])
    // Three retries, each 40 s later than those of the record.
    expect(found.airflow.outcomes).toMatchObject({ same: { chains: 2, laterSeconds: 120 } })
    expect(found.airflow.explanation.alike).toContain('There are at most 4 attempts.')
    expect(await sessions()).toEqual(before)
  })

  it('puts a given rule before the own rules of each chain', async () => {
    await chain({ maxRetries: 2 }, 2)
    await chain({ maxRetries: 2, rules: [{ match: {}, action: 'RETRY' }] }, 1)
    const rules = [{ match: { exitCodes: [1] }, action: 'FAIL' }]
    const { outcomes } = await replayed({ base: 'OWN_POLICY', policy: { rules } })
    expect(outcomes.earlier).toMatchObject({ chains: 2, attempts: 3, successesLost: 2 })
  })

  it('reads chains once, of which an attempt matches that ended within the window', async () => {
    const { api } = given
    const { db } = api
    await chain({ maxRetries: 2 }, 2)
    await advanceClock(db, 31 * 86_400)
    await chain({ maxRetries: 2 }, 1, 'eval')
    await failed({ maxRetries: 2 }, 'waits')
    const chains = async (variables: object, token?: string) => (await replayed(variables, token)).recorded.chains
    expect(await chains({})).toBe(1)
    expect(await chains({ window: { from: '2020-01-01T00:00:00Z' } })).toBe(2)
    expect(await chains({ filter: { exitCode: [1] }, window: { from: '2020-01-01T00:00:00Z' } })).toBe(2)
    expect(await chains({ filter: { exitCode: [3] } })).toBe(0)
    expect(await chains({ filter: { name: { equals: 'eval' } } })).toBe(1)
    const projectId = await api.factory.project()
    expect(await chains({}, await api.factory.token({ role: 'VIEWER', projectId }))).toBe(0)
  })

  it.each([
    ['an empty window', { window: { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' } }],
    ['a faulty policy', { policy: { delays: ['never'] } }],
    ['faulty settings of Airflow', { airflow: { retries: -1 } }],
  ])('refuses %s', async (_, variables) => {
    const { errors } = await given.api.query(BACKTEST, { policy: {}, ...variables }, given.api.adminToken)
    expect(errors?.[0]?.extensions['code']).toBe('VALIDATION_FAILED')
  })

  it('stops when its client leaves, and gives its turn to the next one', async () => {
    const { api, server } = given
    await chain({ maxRetries: 2 }, 1)
    const context = { ...server.context, db: api.db, prisma: api.prisma }
    const left = AbortSignal.abort(new Error('the client has left'))
    await expect(backtestRetryPolicy(context, { policy: {} }, left)).rejects.toThrow('the client has left')
    const waiting = await followBacktest(context, { policy: {} })
    const next = backtestRetryPolicy(context, { policy: {} })
    expect((await waiting.next()).value).toMatchObject({ share: 1, chains: 1 })
    await waiting.return()
    expect((await next).backtest.recorded.chains).toBe(1)
  })

  it('is the same in a subscription, which ends with the result, and over REST', async () => {
    const { api } = given
    await chain({ maxRetries: 2 }, 1)
    const variables = { policy: { maxRetries: 0 } }
    const connection = connect(api.url, api.adminToken)
    const stream = connection.subscribe(
      `subscription (${VARIABLES}) { retryBacktestProgress(${ARGUMENTS}) { share chains backtest { ${RESULT} } } }`,
      variables,
    )
    const [{ retryBacktestProgress: last }] = await stream.take(1)
    expect(last).toEqual({ share: 1, chains: 1, backtest: await replayed(variables) })
    await connection.close()
    const response = await fetch(`${api.url}/v2/retry-policy/backtest`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ policy: { max_retries: 0 }, filter: { exit_code: '1' } }),
    })
    expect(await response.json()).toMatchObject({
      is_complete: true,
      recorded: { chains: 1, attempts: 2, succeeded: 1 },
      outcomes: { earlier: { chains: 1, successes_lost: 1, lost: [{ name: 'train', successes: 1 }] } },
    })
    expect(response.status).toBe(200)
  })
})

describe('a backtest over HTTP', () => {
  interface Asked {
    filter?: object
    token?: string
    signal?: AbortSignal
  }

  async function post(path: string, body: object, { token = given.api.adminToken, signal }: Asked): Promise<any> {
    const response = await fetch(`${given.api.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
    return response.json()
  }

  const GRAPHQL = `query ($filter: SessionFilter) { backtestRetryPolicy(policy: {}, filter: $filter) { isComplete } }`
  /** Each returns the code of the error, or `complete`. */
  const APIS = {
    REST: async ({ filter, ...asked }: Asked) => {
      const { is_complete: isComplete, code } = await post('/v2/retry-policy/backtest', { policy: {}, filter }, asked)
      return isComplete ? 'complete' : code
    },
    GraphQL: async ({ filter, ...asked }: Asked) => {
      const { data, errors } = await post('/graphql', { query: GRAPHQL, variables: { filter } }, asked)
      return data?.backtestRetryPolicy.isComplete ? 'complete' : errors[0].extensions.code
    },
  }
  /** Nothing has this name: the decisions of no chain are read. */
  const NOTHING = { name: 'nothing' }
  const nothing = (api: keyof typeof APIS) => ({ filter: api === 'REST' ? NOTHING : { name: { equals: 'nothing' } } })

  /** Makes backtests wait where they read the decisions of chains, until it is released. */
  async function holdReads() {
    const client = await given.api.database.connect()
    await client.query('BEGIN')
    const held = client.query('LOCK TABLE retry_decisions IN ACCESS EXCLUSIVE MODE')
    return {
      held,
      async release() {
        await client.query('COMMIT')
        await client.end()
      },
    }
  }

  const waiting = (count: number) =>
    eventually(async () => {
      const { rows } = await given.api.db.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted AND relation = 'retry_decisions'::regclass
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      )
      return rows[0]!.count === count
    })

  async function failedChains(projects: number): Promise<void> {
    const factory = createFactories(given.api.db)
    for (let made = 0; made < projects; made++)
      await factory.session({
        projectId: await factory.project(),
        status: 'ERROR',
        phase: 'EXHAUSTED',
        createdAt: new Date(Date.now() - 3_600_000),
      })
  }

  it.each(['REST', 'GraphQL'] as const)('stops when the connection is closed: %s', async (api) => {
    await failedChains(2)
    const first = await holdReads()
    await first.held
    const leaving = new AbortController()
    const left = APIS[api]({ signal: leaving.signal }).catch((error: Error) => error.name)
    await waiting(1)
    // It comes before the second project's chains would be read.
    const second = await holdReads()
    await waiting(2)
    leaving.abort()
    expect(await left).toBe('AbortError')
    // The server notices in the meantime.
    for (let asked = 0; asked < 3; asked++) expect((await fetch(`${given.api.url}/healthz`)).status).toBe(200)
    await first.release()
    await second.held
    // The person's turn is over, although the second project's chains can still not be read.
    expect(await APIS[api](nothing(api))).toBe('complete')
    await waiting(0)
    await second.release()
  })

  it.each(['REST', 'GraphQL'] as const)('is refused to a person whose others wait already: %s', async (api) => {
    const { factory, db } = given.api
    await failedChains(1)
    // One token may not have as many requests at the same time.
    const tokens = await Promise.all([1, 2].map(() => factory.token({ role: 'ADMIN', name: 'hurried' })))
    await db.query(`INSERT INTO users (id, name) VALUES (gen_random_uuid(), 'hurried')`)
    await db.query(
      `UPDATE api_tokens SET user_id = (SELECT id FROM users WHERE name = 'hurried') WHERE name = 'hurried'`,
    )
    const reads = await holdReads()
    await reads.held
    const asked = Array.from({ length: BACKTESTS_PER_PERSON_MAX + BACKTESTS_WAITING_MAX + 1 }, (_, index) =>
      APIS[api]({ token: tokens[index % 2]! }),
    )
    expect(await Promise.race(asked)).toBe('TOO_MANY_REQUESTS')
    expect(await APIS[api](nothing(api))).toBe('complete')
    await reads.release()
    const answers = await Promise.all(asked)
    expect(answers.filter((answer) => answer !== 'complete')).toEqual(['TOO_MANY_REQUESTS'])
  })
})
