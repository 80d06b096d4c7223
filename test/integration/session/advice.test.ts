/** Advice from attempts in the database: found once an hour, applied, dismissed, and seen by whom it concerns. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AdvisedAttempt } from '../../../src/domain/insight/advice/attempts.ts'
import { ADVICE_INTERVAL_MS } from '../../../src/domain/limits.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { BAD_AGENT, simulateMonth, storeMonth } from '../../support/sessions/simulated-months.ts'
import { randomOf } from '../../support/seeds.ts'

let server: TestServer
let background: ReturnType<typeof testServer>
let projectId: string
let [admin, owner, member, stranger]: string[] = []
const agents = new Map<string, string>()

const store = (attempts: readonly AdvisedAttempt[]) => storeMonth(server, { projectId, agents }, attempts)

beforeAll(async () => {
  server = await startGraphQLServer()
  background = testServer(server.db)
  const { factory } = server
  projectId = await factory.project('advised')
  admin = await factory.token({ role: 'ADMIN' })
  owner = await factory.token({ role: 'ADMIN', projectId })
  member = await factory.token({ role: 'MEMBER', projectId })
  stranger = await factory.token({ role: 'ADMIN', projectId: await factory.project() })
  await store(simulateMonth(randomOf(3), { uselessExits: 25, modest: 12, badAgent: true }, 400))
})
afterAll(() => server?.close())

const FIELDS = `adviceId kind project { name } finding change canApply state stateBy slotSecondsWasted gibHoursWasted exampleChainIds
  patch { policy { maxRetries rules { action match { causes exitCodes } } } name memoryBytes drainAgentId }`
const advice = async (token: string, args = 'scope: CLUSTER') => {
  const { data, errors } = (await server.query(`{ retryAdvice(${args}) { ${FIELDS} } }`, {}, token)) as any
  expect(errors).toBeUndefined()
  return data.retryAdvice as any[]
}
const kinds = async (token: string, args?: string) => (await advice(token, args)).map(({ kind }) => kind)

async function change(name: 'applyRetryAdvice' | 'dismissRetryAdvice', input: object, token: string): Promise<any> {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`
  const document = `mutation ($input: ${type}!) { ${name}(input: $input) { __typename
    ... on RetryAdvicePayload { advice { state stateBy } } ... on Error { code message } } }`
  return ((await server.query(document, { input }, token)) as any).data[name]
}

describe('advice', () => {
  it('is found once an hour, and seen by whom it concerns', async () => {
    expect(await kinds(admin!)).toEqual([])
    expect(await background.run('find-advice')).toEqual([1])
    expect(await background.run('find-advice')).toEqual([0])
    expect(await kinds(admin!)).toEqual(expect.arrayContaining(['NEVER_SUCCEEDS', 'MEMORY_TOO_HIGH', 'BAD_AGENT']))
    expect(await kinds(member!)).not.toContain('BAD_AGENT')
    expect(await kinds(member!)).toContain('NEVER_SUCCEEDS')
    expect(await kinds(stranger!)).toEqual([])
    expect(await kinds(stranger!, 'scope: PROJECT, name: "advised"')).toEqual([])
    expect(await kinds(admin!, 'scope: PROJECT, name: "advised"')).not.toContain('BAD_AGENT')
    const useless = (await advice(owner!)).find(({ kind }) => kind === 'NEVER_SUCCEEDS')
    expect(useless).toMatchObject({
      project: { name: 'advised' },
      change: 'End chains at exit code 64.',
      patch: { policy: { rules: [{ action: 'FAIL', match: { causes: ['KERNEL_NONZERO_EXIT'], exitCodes: [64] } }] } },
    })
    const before = useless.adviceId as string
    await advanceClock(server.db, ADVICE_INTERVAL_MS / 1_000)
    expect(await background.run('find-advice')).toEqual([1])
    expect((await advice(owner!)).find(({ kind }) => kind === 'NEVER_SUCCEEDS').adviceId).toBe(before)
  })

  it('shows what its change would have made of the past', async () => {
    const found = (await advice(owner!)).find(({ kind }) => kind === 'NEVER_SUCCEEDS')
    const query = `{ retryAdvice(scope: PROJECT, name: "advised") { adviceId backtest { recorded { chains } outcomes { earlier { attempts successesLost } } } } }`
    const { data } = (await server.query(query, {}, owner)) as any
    const tested = data.retryAdvice.find(({ adviceId }: any) => adviceId === found.adviceId)
    const { attempts, successesLost } = tested.backtest.outcomes.earlier
    expect([attempts >= 44, successesLost]).toEqual([true, 0])
    expect(data.retryAdvice.find(({ adviceId }: any) => adviceId !== found.adviceId).backtest).toBeNull()
  })

  it('is applied by administrators, over the rules that sessions have now', async () => {
    const all = await advice(admin!)
    const idOf = (kind: string) => all.find((each) => each.kind === kind).adviceId as string
    const refused = await change('applyRetryAdvice', { adviceId: idOf('NEVER_SUCCEEDS') }, member!)
    expect(refused).toMatchObject({ code: 'FORBIDDEN' })
    const strange = await change('applyRetryAdvice', { adviceId: idOf('NEVER_SUCCEEDS') }, stranger!)
    expect(strange).toMatchObject({ code: 'ADVICE_NOT_FOUND' })
    const { data } = (await server.query(
      `mutation { setRetryDefaults(input: { scope: CLUSTER, policy: { rules: [{ match: { exitCodes: [7] }, action: FAIL }] } }) { __typename } }`,
      {},
      admin,
    )) as any
    expect(data.setRetryDefaults.__typename).toBe('SetRetryDefaultsPayload')
    const applied = await change('applyRetryAdvice', { adviceId: idOf('NEVER_SUCCEEDS') }, owner!)
    expect(applied.advice).toEqual({ state: 'APPLIED', stateBy: 'ADMIN-token' })
    const { rows } = await server.db.query<{ policy: any }>(
      'SELECT retry_defaults AS policy FROM projects WHERE id = $1',
      [projectId],
    )
    expect(rows[0]!.policy.rules.map(({ match }: any) => match.exitCodes)).toEqual([[64], [7]])
    expect(await kinds(owner!)).not.toContain('NEVER_SUCCEEDS')
    const request = await change('applyRetryAdvice', { adviceId: idOf('MEMORY_TOO_HIGH') }, owner!)
    expect(request).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('where they are submitted'),
    })
    const drained = await change('applyRetryAdvice', { adviceId: idOf('BAD_AGENT') }, admin!)
    expect(drained.advice.state).toBe('APPLIED')
    const agent = await server.db.query<{ status: string }>('SELECT status FROM agents WHERE name = $1', [BAD_AGENT])
    expect(agent.rows).toEqual([{ status: 'DRAINING' }])
    const log = await server.db.query<{ action: string }>(
      `SELECT action FROM audit_log WHERE action LIKE 'retry.%advice' OR action LIKE 'agent.%' ORDER BY id`,
    )
    expect(log.rows.map(({ action }) => action)).toEqual(['retry.apply_advice', 'agent.drain', 'retry.apply_advice'])
  })

  it('about a machine is followed at once where the server may do so', async () => {
    const { db } = server
    const acting = testServer(db, undefined, undefined, { quarantines: true })
    const drained = async () => {
      await advanceClock(db, ADVICE_INTERVAL_MS / 1_000)
      await acting.run('find-advice')
      return (await db.query<{ name: string }>('SELECT name FROM agents WHERE drained_at IS NOT NULL')).rows
    }
    await db.query(`UPDATE retry_advice SET state = 'OPEN', state_by = NULL, state_at = NULL, state_count = NULL
      WHERE kind = 'BAD_AGENT'`)
    await db.query(`UPDATE agents SET status = 'DRAINING', drained_at = reprise_now() WHERE name = 'agent-1'`)
    await db.query(`UPDATE agents SET status = 'ALIVE', drained_at = NULL, drain_reason = NULL WHERE name = $1`, [
      BAD_AGENT,
    ])
    // One of eight is drained already.
    expect(await drained()).toEqual([{ name: 'agent-1' }])
    await db.query(`UPDATE agents SET status = 'ALIVE', drained_at = NULL, drain_reason = NULL`)
    expect(await drained()).toEqual([{ name: BAD_AGENT }])
    const { rows } = await db.query<{ actor: string; reason: string }>(
      `SELECT actor, reason FROM audit_log WHERE action = 'agent.drain' ORDER BY id DESC LIMIT 1`,
    )
    expect(rows).toEqual([{ actor: 'find-advice', reason: expect.stringContaining(`${BAD_AGENT} failed`) }])
    await db.query(`UPDATE agents SET status = 'ALIVE', drained_at = NULL, drain_reason = NULL`)
    // A person has brought it back.
    expect(await drained()).toEqual([])
  })

  it('that is dismissed stays so until its evidence has doubled', async () => {
    const id = (await advice(owner!)).find(({ kind }) => kind === 'MEMORY_TOO_HIGH').adviceId as string
    const dismissed = await change('dismissRetryAdvice', { adviceId: id }, owner!)
    expect(dismissed.advice.state).toBe('DISMISSED')
    const again = async () => {
      await advanceClock(server.db, ADVICE_INTERVAL_MS / 1_000)
      await background.run('find-advice')
      return kinds(owner!)
    }
    expect(await again()).not.toContain('MEMORY_TOO_HIGH')
    expect(await kinds(owner!, 'scope: CLUSTER, states: [DISMISSED]')).toEqual(['MEMORY_TOO_HIGH'])
    await store(simulateMonth(randomOf(4), { modest: 14 }, 0))
    expect(await again()).toContain('MEMORY_TOO_HIGH')
  })
})
