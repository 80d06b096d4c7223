/** What a server does in one write is, event by event, what its handlers do one by one. */
import { describe, expect, it } from 'vitest'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import {
  decisionRow,
  events,
  history,
  kernelRows,
  misbookedSlots,
  sessionRow,
  statuses,
} from '../../support/database/session-rows.ts'

const given = useScheduling()

/** Everything that is stored of a session but its ids and times. */
async function storedOf(id: string) {
  const { db, sql } = given
  const [row] = await sql(
    `SELECT started_at IS NOT NULL AS started, times_out_at - started_at AS timeout, terminated_at IS NOT NULL AS over,
       status_data #- '{error,agentId}' AS data, tries, next_try_at, retry_decided FROM sessions WHERE id = $1`,
    [id],
  )
  const reasons = await sql(
    `SELECT data ->> 'reason' AS reason FROM session_events WHERE session_id = $1 ORDER BY id`,
    [id],
  )
  const messages = await sql(`SELECT message, error_code FROM scheduling_history WHERE entity_id = $1 ORDER BY id`, [
    id,
  ])
  const { id: _, ...session } = await sessionRow(db, id)
  return {
    row,
    session,
    kernels: (await kernelRows(db, id)).map(({ id: _id, ...kernel }) => kernel),
    events: await events(db, id),
    reasons,
    history: await history(db, id),
    messages,
    decision: await decisionRow(db, id),
  }
}

async function stepByStep(exitCode: number, input: Partial<CreateSessionInput>) {
  const { server, agent } = given
  const id = await sessionIn(server, agent, 'RUNNING', input)
  await failWith(server, agent, exitCode)
  return storedOf(id)
}

async function fused(exitCode: number, input: Partial<CreateSessionInput>) {
  const { server, agent, db } = given
  const id = await server.create(input)
  await server.runFused('schedule-sessions')
  expect(await statuses(db, id)).toMatch(/^PREPARING:( PREPARING)+$/)
  await agent.comply()
  await server.runFused('promote-to-prepared')
  expect(await statuses(db, id)).toMatch(/^CREATING:( CREATING)+$/)
  agent.obey(await agent.sync())
  agent.exitAll(exitCode)
  await agent.sync()
  await server.runFused('promote-to-running')
  await server.run('decide-retries')
  return storedOf(id)
}

describe.each([
  ['succeeds', 0, {}],
  ['fails', 3, {}],
  ['fails with a timeout set', 4, { batchTimeout: 60 }],
  ['succeeds with all of its kernels', 0, { clusterSize: 3 }],
])('a session that %s', (_, exitCode, input) => {
  it('leaves the same behind as step by step', async () => {
    const expected = await stepByStep(exitCode, input)
    expect(await fused(exitCode, input)).toEqual(expected)
    expect(expected.history).toHaveLength(7)
    expect(await misbookedSlots(given.db)).toEqual([])
  })
})

it('ends from RUNNING with a single write, too', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'RUNNING')
  agent.exitAll(3)
  await agent.sync()
  await server.runFused('detect-termination')
  expect(await sessionRow(db, id)).toMatchObject({
    status: 'ERROR',
    result: 'FAILURE',
    exitCode: 3,
    reason: 'exited with 3',
  })
  expect((await events(db, id)).slice(-2)).toEqual([
    'session.status_changed RUNNING→TERMINATING',
    'session.error TERMINATING→ERROR',
  ])
})

it('stays TERMINATING while another of its kernels is there', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'CREATING', { clusterSize: 2 })
  await agent.comply()
  const [main] = await kernelRows(db, id)
  agent.observe(main!.id, { status: 'EXITED', exitCode: 0 })
  await agent.sync()
  await server.runFused('promote-to-running')
  expect(await statuses(db, id)).toBe('TERMINATING: TERMINATED RUNNING')
  await server.runFused('terminate-sessions')
  await agent.comply()
  await server.runFused('promote-to-terminated')
  expect(await statuses(db, id)).toBe('TERMINATED: TERMINATED TERMINATED')
})

it('runs on where a kernel of it has ended well that does not decide', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'CREATING', { clusterSize: 2 })
  await agent.comply()
  agent.observe((await kernelRows(db, id))[1]!.id, { status: 'EXITED', exitCode: 0 })
  await agent.sync()
  await server.runFused('promote-to-running', 'detect-termination')
  expect(await statuses(db, id)).toBe('RUNNING: RUNNING TERMINATED')
})

it('does not start what is on a lost agent', async () => {
  const { server, agent, db, sql } = given
  const id = await sessionIn(server, agent, 'PREPARING')
  await agent.comply()
  await sql(`UPDATE agents SET status = 'LOST'`)
  await server.runFused('promote-to-prepared')
  expect(await statuses(db, id)).toBe('PREPARED: PREPARED')
  expect((await events(db, id)).at(-1)).toBe('session.status_changed PREPARING→PREPARED')
  await sql(`UPDATE kernels SET error = '{"name": "agent-lost", "message": "it is lost"}'`)
  await server.runFused('start-sessions')
  expect((await sessionRow(db, id)).status).not.toBe('CREATING')
})

it('tells the agents of what it gives them', async () => {
  const { server, agent } = given
  await server.create()
  const rung: string[] = []
  server.hub.onAgent(agent.id, () => rung.push('agent'))
  await server.runFused('schedule-sessions')
  expect(rung).toHaveLength(1)
  await agent.comply()
  await server.runFused('promote-to-prepared')
  expect(rung).toHaveLength(2)
})

it('waits for nobody who is given to an agent just as that is lost: what is left there is swept', async () => {
  const { server, agent, db, sql } = given
  const id = await server.create()
  await server.runFused('schedule-sessions')
  await sql(`UPDATE agents SET status = 'LOST'`)
  await passTime(db, 41, { silentAgents: [agent.id] })
  await server.runFused('sweep-leftovers', 'prepare-sessions')
  expect(await statuses(db, id)).toBe('PENDING: PENDING')
})
