/** The server's answer to an agent that reports for which chains it keeps a directory. */
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import type { ChainReport } from '../../../src/domain/agent/protocol.ts'
import { REPORTED_CHAINS_MAX } from '../../../src/domain/limits.ts'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { type PlayedAgent, playedAgent } from '../../support/agents/played-agent.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

let sequence = 1_000

async function report(agent: PlayedAgent, chainIds: string[], bounds: Partial<ChainReport> = {}) {
  const chains = { after: null, upTo: null, ...bounds, chainIds }
  const { id: agentId, instanceId } = agent
  const request = { agentId, instanceId, sequence: ++sequence, observed: [], logs: [], waitMs: 0, chains }
  const { dropChains = [] } = await given.server.gateway.sync(request, new AbortController().signal)
  return dropChains
}

/** In the order of their ids; each has failed for good on the agent. */
async function endedChains(count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) {
    ids.push(await sessionIn(given.server, given.agent, 'RUNNING'))
    await failWith(given.server, given.agent, 1)
  }
  return ids.toSorted()
}

const remove = (...ids: string[]) => given.sql('DELETE FROM sessions WHERE chain_id = ANY($1)', [ids])

async function remembered(): Promise<unknown[]> {
  return (await given.sql('SELECT chain_id FROM chain_directories ORDER BY chain_id')).map((row) => row['chain_id'])
}

test('a chain is dropped where it ran, was known to have a directory, and has been removed since', async () => {
  const [removed, unreported, kept] = (await endedChains(3)) as [string, string, string]
  expect(await report(given.agent, [removed, kept])).toEqual([])
  await remove(removed, unreported)
  // Restored from a dump, or another database: what is not there may be there again.
  expect(await report(given.agent, [removed, unreported, kept, uuidv7()])).toEqual([removed])
  expect(await report(given.agent, [removed, unreported, kept])).toEqual([removed])
  expect(await report(given.agent, [kept])).toEqual([])
  expect(await remembered()).toEqual([kept])
})

test('an agent learns nothing of chains that ran elsewhere', async () => {
  const [chain] = (await endedChains(1)) as [string]
  const other = playedAgent(given.server.gateway)
  await other.register()
  const answers = [await report(other, [chain])]
  await remove(chain)
  answers.push(await report(other, [chain]))
  expect(answers).toEqual([[], []])
  expect(await remembered()).toEqual([])
})

test('a report in parts says nothing of the others', async () => {
  const [a, b, c, d] = (await endedChains(4)) as [string, string, string, string]
  await report(given.agent, [a, b, c, d])
  await report(given.agent, [], { after: a, upTo: c })
  expect(await remembered()).toEqual([a, d])
  await report(given.agent, [], { upTo: a })
  expect(await remembered()).toEqual([d])
})

test.each([
  ['no ids', ['../..']],
  ['too many', Array.from({ length: REPORTED_CHAINS_MAX + 1 }, () => uuidv7())],
])('%s are refused', async (_, chainIds) => {
  await expect(report(given.agent, chainIds)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
})
