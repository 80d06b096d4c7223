/** Long polls of agents: when they are answered, and when they wait on. */
import { expect, it } from 'vitest'
import type { SyncAnswer, SyncRequest } from '../../../src/domain/agent/protocol.ts'
import { sessionIn } from '../../support/sessions/drive-session.ts'
import { observed, playedAgent } from '../../support/agents/played-agent.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { kernelRows } from '../../support/database/session-rows.ts'

/** A poll that nothing answers outlasts its test. */
const POLL_MS = 3_600_000

const given = useScheduling({ syncWaitMaxMs: POLL_MS })

interface Poll {
  answer: Promise<SyncAnswer>
  abort: AbortController
  /** When the gateway has looked and found nothing: it listens, and the database is idle. */
  waiting(): Promise<void>
}

async function poll(request: Partial<SyncRequest> = {}): Promise<Poll> {
  const instanceId = (await given.sql('SELECT instance_id FROM agents WHERE id = $1', [given.agent.id]))[0]![
    'instance_id'
  ] as string
  const abort = new AbortController()
  const full = {
    agentId: given.agent.id,
    instanceId,
    sequence: 100,
    observed: [],
    logs: [],
    waitMs: POLL_MS,
    ...request,
  }
  const answer = given.server.gateway.sync(full, abort.signal)
  return {
    answer,
    abort,
    async waiting() {
      const still = Symbol('still waiting')
      expect(await Promise.race([answer, given.sql('SELECT pg_sleep(0.05)').then(() => still)])).toBe(still)
    },
  }
}

it('answers at once when there is something to do', async () => {
  const { server } = given
  const { answer, waiting } = await poll()
  await waiting()
  await sessionIn(server, given.agent, 'PREPARING')
  expect((await answer).orders).toMatchObject([{ want: 'PREPARE' }])
})

it('waits on when it was woken for nothing', async () => {
  const { server, agent } = given
  const { answer, abort, waiting } = await poll()
  await waiting()
  server.hub.wakeAgents([agent.id])
  await waiting()
  abort.abort()
  expect(await answer).toEqual({ orders: [], forget: [] })
})

it('answers at once when the agent hangs up', async () => {
  const { answer, abort, waiting } = await poll()
  await waiting()
  abort.abort()
  expect(await answer).toEqual({ orders: [], forget: [] })
})

it('does not wait where there is an order already, nor for a signal to another agent', async () => {
  const { server, agent } = given
  const other = playedAgent(server.gateway)
  await other.register({ cpu: '0' })
  const { waiting, abort } = await poll()
  await waiting()
  server.hub.wakeAgents([other.id])
  await waiting()
  abort.abort()
  await sessionIn(server, agent, 'PREPARING')
  const second = await poll()
  expect((await second.answer).orders).toMatchObject([{ want: 'PREPARE' }])
})

it('stores the logs of a poll that waits, once', async () => {
  const { server, agent, sql } = given
  const id = await sessionIn(server, agent, 'RUNNING')
  const [kernel] = await kernelRows(given.db, id)
  const piece = {
    kernelId: kernel!.id,
    assignment: 1,
    stream: 'STDOUT' as const,
    offset: 0,
    bytes: 2,
    text: 'hi',
    at: '2026-11-21T00:00:00Z',
  }
  const report = observed(kernel!.id, 1, { status: 'RUNNING', startedAt: 'now' })
  const { answer, abort, waiting } = await poll({ logs: [piece], observed: [report] })
  await waiting()
  server.hub.wakeAgents([agent.id])
  await waiting()
  abort.abort()
  await answer
  expect(await sql('SELECT text FROM kernel_logs')).toEqual([{ text: 'hi' }])
})

it('is told that it was superseded while it waited', async () => {
  const { server, agent } = given
  const { answer, waiting } = await poll()
  await waiting()
  await playedAgent(server.gateway, { id: agent.id }).register()
  server.hub.wakeAgents([agent.id])
  await expect(answer).rejects.toMatchObject({ code: 'AGENT_SUPERSEDED' })
})
