/** Retries that avoid the resource group of their failure. */
import { beforeEach, expect, it } from 'vitest'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { playedAgent } from '../../support/agents/played-agent.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()
const ELSEWHERE = {
  maxRetries: 3,
  retryDelay: 1,
  rules: [{ match: {}, action: 'RETRY', avoid: 'RESOURCE_GROUP' }],
} as const

beforeEach(() => given.sql(`INSERT INTO resource_groups (name) VALUES ('b'), ('a')`))

async function agentIn(resourceGroup: string, cpu = '4') {
  const agent = playedAgent(given.server.gateway, { resourceGroup, slots: { cpu } })
  await agent.register()
  return agent
}

/** The groups of the chain's attempts, after the first has failed and its retry was dispatched. */
async function groupsAfterFailure(input: object = {}): Promise<unknown[]> {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: ELSEWHERE, ...input })
  await failWith(server, agent, 1)
  await passTime(db, 5)
  await server.run('dispatch-retries')
  return given.sql(
    'SELECT resource_group AS group, avoid_groups AS avoids FROM sessions WHERE chain_id = $1 ORDER BY attempt',
    [id],
  )
}

it('the child goes to another group that has an agent', async () => {
  await agentIn('b')
  expect(await groupsAfterFailure()).toEqual([
    { group: 'default', avoids: [] },
    { group: 'b', avoids: ['default'] },
  ])
  const said = await given.sql(
    `SELECT data ->> 'reason' AS reason FROM session_events WHERE type = 'session.retry_dispatched'`,
  )
  expect(said).toEqual([{ reason: 'retried as attempt 2 of 4 in resource group b' }])
})

it('stays where no other group has an agent', async () => {
  expect(await groupsAfterFailure()).toEqual([
    { group: 'default', avoids: [] },
    { group: 'default', avoids: ['default'] },
  ])
})

it('an agent that is not alive, or could never take it, is none', async () => {
  await agentIn('a', '0.5')
  const silent = await agentIn('b')
  await given.sql(`UPDATE agents SET status = 'SUSPECT' WHERE id = $1`, [silent.id])
  expect((await groupsAfterFailure())[1]).toMatchObject({ group: 'default' })
})

it('when all have failed it goes where it has not been for the longest, never where it failed last', async () => {
  const { server, db } = given
  const others = { a: await agentIn('a'), b: await agentIn('b') }
  await groupsAfterFailure({ retryPolicy: { ...ELSEWHERE, maxRetries: 5 } })
  for (const agent of [others.a, others.b, given.agent, others.a]) {
    await server.run('schedule-sessions')
    await agent.comply()
    await server.run('promote-to-prepared')
    await agent.comply()
    await server.run('promote-to-running')
    await failWith(server, agent, 1)
    await passTime(db, 5)
    await server.run('dispatch-retries')
  }
  expect(
    await given.sql('SELECT resource_group AS group, avoid_groups AS avoids FROM sessions ORDER BY attempt'),
  ).toEqual([
    { group: 'default', avoids: [] },
    { group: 'a', avoids: ['default'] },
    { group: 'b', avoids: ['default', 'a'] },
    { group: 'default', avoids: ['default', 'a', 'b'] },
    { group: 'a', avoids: ['a', 'b', 'default'] },
    { group: 'b', avoids: ['b', 'default', 'a'] },
  ])
})
