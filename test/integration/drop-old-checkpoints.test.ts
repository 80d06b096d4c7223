/** Retention drops old checkpoints, and none of a chain that continues, whatever happens at once. */
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import type { ChainReport, SyncAnswer, SyncRequest } from '../../src/domain/agent/protocol.ts'
import { dropOldCheckpoints } from '../../src/store/sql/retention.sql.ts'
import { fakeAgent, type FakeAgent } from '../support/agents/fake-agent.ts'
import { driveAll, failWith, sessionIn } from '../support/sessions/drive-session.ts'
import { eventually, pause } from '../support/eventually.ts'
import { advanceClock } from '../support/sessions/advance-clock.ts'
import { useResubmission } from '../support/sessions/resubmission.ts'
import { useScheduling } from '../support/sessions/scheduling-fixture.ts'
import { checkProperty } from '../support/seeds.ts'

const given = useScheduling()
const resubmit = useResubmission(given)

const DAY = { ageSeconds: 86_400, count: null }
const AT_ONCE = { ageSeconds: 0, count: null }
const FAILED = ['FAILED', 'CANCELLED'] as const

let agent: FakeAgent
/** The generation that each attempt was told of, by chain and attempt. */
let told: Map<string, number>
/** The chains that the server asked to drop. */
let dropped: { chainId: string; before: number }[]
let sequence: number

/** Chains that have left something, as the agent tells the server with its next report. */
let directories: string[]

beforeEach(async () => {
  ;[told, dropped, directories, sequence] = [new Map(), [], [], 0]
  const { gateway } = given.server
  const sync = async (request: SyncRequest, signal: AbortSignal): Promise<SyncAnswer> => {
    const chains: ChainReport = { after: null, upTo: null, chainIds: directories }
    const answer = await gateway.sync({ ...request, sequence: ++sequence, chains }, signal)
    for (const order of answer.orders) {
      if (order.want === 'STOP') continue
      const { chainId, attempt, checkpoint } = order.spec
      const generation = checkpoint?.generation ?? 0
      expect(told.get(`${chainId} ${attempt}`) ?? generation).toBe(generation)
      told.set(`${chainId} ${attempt}`, generation)
    }
    dropped.push(...(answer.dropGenerations ?? []))
    return answer
  }
  agent = fakeAgent({ ...gateway, sync }, { slots: { cpu: '64' } })
  await given.sql(`DELETE FROM agents`)
  await agent.register()
  await given.server.run('watch-agents')
})

async function endedChain(exitCode: number, retryPolicy: object = { maxRetries: 0 }): Promise<string> {
  const chainId = await sessionIn(given.server, agent, 'RUNNING', { retryPolicy })
  directories = [...directories, chainId].toSorted()
  await failWith(given.server, agent, exitCode)
  return chainId
}

const generationOf = async (chainId: string) =>
  (await given.sql('SELECT generation FROM checkpoints WHERE chain_id = $1', [chainId]))[0]?.['generation'] ?? 0

const endedDaysAgo = (chainId: string, days: number) =>
  given.sql('UPDATE chains SET ended_at = reprise_now() - make_interval(days => $2) WHERE chain_id = $1', [
    chainId,
    days,
  ])

test('by outcome and age; a chain that continues, or whose kernels may still run, keeps its checkpoint', async () => {
  const old = await endedChain(1)
  const young = await endedChain(1)
  const succeeded = await endedChain(0)
  const waiting = await endedChain(1, { maxRetries: 1, retryDelay: 3600 })
  const alive = await endedChain(1)
  await agent.sync()
  for (const chainId of [old, succeeded, alive]) await endedDaysAgo(chainId, 2)
  await given.sql(
    `UPDATE kernels SET confirmed_gone = false FROM sessions s WHERE s.id = session_id AND s.chain_id = $1`,
    [alive],
  )
  const drop = () => dropOldCheckpoints(given.db, FAILED, DAY, 10)
  expect(await drop()).toBe(1)
  expect(await drop()).toBe(0)
  await agent.sync()
  expect(dropped).toEqual([{ chainId: old, before: 1 }])
  expect(await dropOldCheckpoints(given.db, ['SUCCEEDED'], DAY, 10)).toBe(1)
  const chains = [old, young, succeeded, waiting, alive]
  expect(await Promise.all(chains.map(generationOf))).toEqual([1, 0, 1, 0, 0])
  // A chain that continued since, and has ended again.
  await resubmit({ sessionIds: [old] })
  await driveAll(given.server, agent, 'RUNNING')
  await failWith(given.server, agent, 1)
  await given.sql(`UPDATE checkpoints SET dropped_at = reprise_now() - interval '3 days'`)
  // The agent has said meanwhile that nothing of it runs.
  expect(await drop()).toBe(1)
  expect(await generationOf(alive)).toBe(1)
  await endedDaysAgo(old, 2)
  expect(await drop()).toBe(1)
  expect(await generationOf(old)).toBe(2)
})

test('an agent learns of chains that ran on it, or whose checkpoint is in its store, and of no others', async () => {
  const chainId = await endedChain(1)
  await agent.sync()
  expect(await dropOldCheckpoints(given.db, FAILED, AT_ONCE, 10)).toBe(1)
  const other = fakeAgent(given.server.gateway)
  await other.register()
  const request = { agentId: other.id, instanceId: other.instanceId, sequence: 1, observed: [], logs: [], waitMs: 0 }
  const chains = { after: null, upTo: null, chainIds: [chainId] }
  const answer = await given.server.gateway.sync({ ...request, chains }, new AbortController().signal)
  expect(answer.dropGenerations).toBeUndefined()
  await agent.sync()
  expect(dropped).toEqual([{ chainId, before: 1 }])
  // Once only the directory of the new generation is there.
  dropped = []
  const later = { ...chains, generations: { [chainId]: 1 } }
  const again = { ...request, agentId: agent.id, instanceId: agent.instanceId, sequence: 1_000, chains: later }
  expect((await given.server.gateway.sync(again, new AbortController().signal)).dropGenerations).toBeUndefined()
})

test('a resubmission waits for a drop that is under way, and its attempt gets the directory that follows', async () => {
  const chainId = await endedChain(1)
  await agent.sync()
  const [count, go] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()]
  const dropping = given.db.transaction(async (tx) => {
    count.resolve(await dropOldCheckpoints(tx, FAILED, AT_ONCE, 10))
    await go.promise
  })
  expect(await count.promise).toBe(1)
  let isOver = false
  const resubmitting = resubmit({ sessionIds: [chainId] }).then(() => (isOver = true))
  const waits = async () => (await given.sql('SELECT FROM pg_locks WHERE NOT granted')).length > 0
  await eventually(async () => isOver || (await waits()))
  expect(isOver).toBe(false)
  go.resolve()
  await Promise.all([dropping, resubmitting])
  await driveAll(given.server, agent, 'RUNNING')
  expect([told.get(`${chainId} 2`), await generationOf(chainId)]).toEqual([1, 1])
})

const STEPS = {
  drop: () => dropOldCheckpoints(given.db, ['SUCCEEDED', ...FAILED], AT_ONCE, 10),
  resubmit: async () => {
    const ended = await given.sql(`SELECT tail_id AS id FROM chains`)
    await resubmit({ sessionIds: ended.map(({ id }) => id as string) })
  },
  start: async () => {
    await given.server.run('dispatch-retries')
    await driveAll(given.server, agent, 'RUNNING')
  },
  fail: () => failWith(given.server, agent, 3),
  succeed: () => failWith(given.server, agent, 0),
  report: async () => void (await agent.sync()),
}
/** The actions of the server and of users, and those that only one can do at a time, because there is one agent. */
const [anyones, agents] = [['drop', 'resubmit'] as const, ['start', 'fail', 'succeed', 'report'] as const]

test('whatever happens at once, the directory of a chain that continues is never dropped', async () => {
  let [drops, lives] = [0, 0]
  const moment = fc.record({
    anyone: fc.uniqueArray(fc.constantFrom(...anyones), { maxLength: 2 }),
    agent: fc.constantFrom(...agents),
    later: fc.nat({ max: 5 }),
  })
  await checkProperty(
    fc.asyncProperty(fc.array(moment, { minLength: 4, maxLength: 8 }), async (moments) => {
      const policy = { maxRetries: 1, retryDelay: 1, jitter: 'NONE' }
      const chains = [await endedChain(1, policy), await endedChain(1)]
      await agent.sync()
      for (const { anyone, agent: name, later } of moments) {
        await advanceClock(given.db, 5)
        await Promise.all([...anyone.map((each) => STEPS[each]()), pause(later).then(STEPS[name])])
        for (const chainId of chains) {
          const [row] = await given.sql(
            `SELECT c.state, c.attempts, coalesce(p.generation, 0) AS generation
              FROM chains c LEFT JOIN checkpoints p USING (chain_id) WHERE chain_id = $1`,
            [chainId],
          )
          const { state, attempts, generation } = row as { state: string; attempts: number; generation: number }
          drops = Math.max(drops, generation)
          const known = told.get(`${chainId} ${attempts}`)
          if (known === undefined || !['LIVE', 'WAITING_RETRY', 'HELD'].includes(state)) continue
          lives += 1
          expect(generation).toBe(known)
        }
      }
    }),
    { numRuns: 15 },
  )
  expect([drops > 0, lives > 0]).toEqual([true, true])
})
