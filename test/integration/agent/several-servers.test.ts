/** One agent and several servers: what arrives late or twice changes nothing. */
import { expect, it } from 'vitest'
import type { LogPiece, ObservedKernel } from '../../../src/domain/agent/protocol.ts'
import type { Database } from '../../../src/store/database.ts'
import { sessionIn } from '../../support/sessions/drive-session.ts'
import { observed, playedAgent, type PlayedAgent } from '../../support/agents/played-agent.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { testServer, type TestServer } from '../../support/servers/test-server.ts'

const given = useScheduling()

const kernelOf = async (id: string) => (await kernelRows(given.db, id))[0]!

/** What an agent says to one server, by number. */
function tell(server: TestServer, agent: PlayedAgent, sequence: number, kernels: ObservedKernel[]) {
  const { id: agentId, instanceId } = agent
  const request = { agentId, instanceId, sequence, observed: kernels, logs: [], waitMs: 0 }
  return server.gateway.sync(request, new AbortController().signal)
}

it('what an agent said before reaches another server after what it said since: it changes nothing', async () => {
  const { server, agent, db } = given
  const other = testServer(db)
  const id = await sessionIn(server, agent, 'CREATING')
  const { id: kernelId } = await kernelOf(id)
  await tell(server, agent, 101, [observed(kernelId, 1, { status: 'RUNNING', startedAt: 'now' })])
  expect(await kernelOf(id)).toMatchObject({ status: 'RUNNING' })
  // Sent when it had not yet been told to start the kernel.
  expect(await tell(other, agent, 100, [])).toEqual({ orders: [], forget: [] })
  expect(await kernelOf(id)).toMatchObject({ status: 'RUNNING', error: null })
  await tell(other, agent, 102, [])
  expect(await kernelOf(id)).toMatchObject({ status: 'ERROR', error: 'kernel-vanished' })
})

it('of two that are booked at once, the older never comes behind the newer', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'CREATING')
  const { id: kernelId } = await kernelOf(id)
  const slow = testServer(
    beforeBooking(db, () => tell(server, agent, 101, [observed(kernelId, 1, { status: 'RUNNING', startedAt: 'now' })])),
  )
  await tell(slow, agent, 100, [observed(kernelId, 1, { status: 'EXITED', startedAt: 'then', exitCode: 9 })])
  expect(await kernelOf(id)).toMatchObject({ status: 'RUNNING', exitCode: null })
})

it('the numbers begin anew with another instance of the agent, and those of the one before count no more', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'CREATING')
  const { id: kernelId } = await kernelOf(id)
  await tell(server, agent, 500, [observed(kernelId, 1, { status: 'RUNNING', startedAt: 'now' })])
  const next = playedAgent(server.gateway, { id: agent.id })
  const late = testServer(beforeBooking(db, () => next.register()))
  await tell(late, agent, 501, [])
  expect(await kernelOf(id)).toMatchObject({ status: 'RUNNING' })
  await next.sync()
  expect(await kernelOf(id)).toMatchObject({ status: 'ERROR', error: 'kernel-vanished' })
})

it('an end that another server keeps from being booked is looked at again, and forgotten only when it is', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'CREATING')
  const { id: kernelId } = await kernelOf(id)
  const busy = testServer(
    beforeBooking(db, () => tell(server, agent, 100, [observed(kernelId, 1, { status: 'RUNNING', startedAt: 'now' })])),
  )
  const answer = await tell(busy, agent, 101, [
    observed(kernelId, 1, { status: 'EXITED', startedAt: 'then', exitCode: 9 }),
  ])
  expect(await kernelOf(id)).toMatchObject({ status: 'ERROR', exitCode: 9 })
  expect(answer.forget).toEqual([{ kernelId, assignment: 1 }])
})

it('an end wakes also those who only wait for the kernels of a session that somebody ends in the same instant', async () => {
  const { server, agent } = given
  await sessionIn(server, agent, 'RUNNING')
  const woken: string[] = []
  for (const topic of ['detect-termination', 'promote-to-terminated'] as const)
    server.hub.on(topic, () => woken.push(topic))
  agent.exitAll(0)
  await agent.sync()
  expect(woken.toSorted()).toEqual(['detect-termination', 'promote-to-terminated'])
})

it('a kernel that its agent fenced is AGENT_TRANSIENT, also where it left with 0', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 1 } })
  const error = { name: 'agent-fenced', message: 'fenced' }
  agent.observe((await kernelOf(id)).id, { status: 'EXITED', exitCode: 0, error })
  await agent.sync()
  await server.settle()
  expect(await sessionRow(db, id)).toMatchObject({ status: 'ERROR', cause: 'AGENT_TRANSIENT', exitCode: 0 })
})

it('each assignment of a kernel has a log of its own', async () => {
  const { server, agent, db, sql } = given
  const id = await sessionIn(server, agent, 'CREATING')
  const { id: kernelId } = await kernelOf(id)
  const piece = (assignment: number, text: string): LogPiece => ({
    kernelId,
    assignment,
    stream: 'STDOUT',
    offset: 0,
    bytes: text.length,
    text,
    at: '2026-11-21T00:00:00.000Z',
  })
  agent.observe(kernelId, { status: 'FAILED', error: { name: 'executor-failed', message: 'no fork' } })
  await agent.sync([piece(1, 'first')])
  await server.run('start-sessions')
  await sql('UPDATE sessions SET next_try_at = NULL')
  await server.run('start-sessions')
  expect(await kernelOf(id)).toMatchObject({ assignment: 2, status: 'CREATING' })
  await agent.sync([piece(2, 'the second')])
  await agent.sync([piece(1, 'first'), piece(2, 'the second'), piece(3, 'not given yet')])
  expect(await sql('SELECT assignment, text FROM kernel_logs ORDER BY id')).toEqual([
    { assignment: 1, text: 'first' },
    { assignment: 2, text: 'the second' },
  ])
  expect((await agent.register()).logOffsets).toEqual([{ kernelId, assignment: 2, stream: 'STDOUT', offset: 10 }])
  expect(await kernelRows(db, id)).toHaveLength(1)
})

/** A database on which something else comes to pass once, just before a report is booked. */
function beforeBooking(db: Database, meanwhile: () => Promise<unknown>): Database {
  let pending: (() => Promise<unknown>) | null = meanwhile
  return {
    ...db,
    async query(text, values) {
      const run = text.includes('last_sequence <= ') ? pending : null
      if (run !== null) pending = null
      await run?.()
      return db.query(text, values)
    },
  }
}
