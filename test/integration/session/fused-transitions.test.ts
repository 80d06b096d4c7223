/** Steps that nothing can interrupt are one write, with an event and a row of history for each. */
import { expect, it } from 'vitest'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { sessionIn } from '../../support/sessions/drive-session.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import {
  events,
  history,
  kernelRows,
  misbookedSlots,
  sessionRow,
  statuses,
} from '../../support/database/session-rows.ts'

const given = useScheduling()

const SUCCESS = { status: 'TERMINATED', result: 'SUCCESS', exitCode: 0, reason: null }
const FAILURE = { status: 'ERROR', result: 'FAILURE', error: 'kernel-exited' }

it.each<[string, number, Partial<CreateSessionInput>, object]>([
  ['succeeds', 0, {}, SUCCESS],
  ['fails', 3, {}, { ...FAILURE, exitCode: 3, reason: 'exited with 3' }],
  ['fails with a timeout set', 4, { batchTimeout: 60 }, { ...FAILURE, exitCode: 4 }],
  ['succeeds with all of its kernels', 0, { clusterSize: 3 }, SUCCESS],
])('a session that %s before it is seen to run has passed every status', async (_, exitCode, input, expected) => {
  const { server, agent, db, sql } = given
  const id = await server.create(input)
  await server.run('schedule-sessions')
  expect(await statuses(db, id)).toMatch(/^PREPARING:( PREPARING)+$/)
  await agent.comply()
  await server.run('promote-to-prepared')
  expect(await statuses(db, id)).toMatch(/^CREATING:( CREATING)+$/)
  agent.obey(await agent.sync())
  agent.exitAll(exitCode)
  await agent.sync()
  await server.run('promote-to-running')
  expect(await sessionRow(db, id)).toMatchObject(expected)
  const end = exitCode === 0 ? 'TERMINATED' : 'ERROR'
  const steps = [
    'schedule-sessions PENDING→SCHEDULED',
    'prepare-sessions SCHEDULED→PREPARING',
    'promote-to-prepared PREPARING→PREPARED',
    'start-sessions PREPARED→CREATING',
    'promote-to-running CREATING→RUNNING',
    'detect-termination RUNNING→TERMINATING',
    `promote-to-terminated TERMINATING→${end}`,
  ]
  expect(await history(db, id)).toEqual(steps.map((step) => `${step} SUCCESS ×1`))
  expect((await events(db, id)).map((event) => event.split(' ')[1])).toEqual([
    '→PENDING',
    ...steps.map((step) => step.split(' ')[1]),
  ])
  expect((await events(db, id)).at(-1)).toContain(`session.${end.toLowerCase()} `)
  const [row] = await sql(
    `SELECT started_at IS NOT NULL AS started, times_out_at IS NOT NULL AS timed, terminated_at IS NOT NULL AS ended,
       tries, next_try_at AS next, (SELECT array_agg(data ->> 'reason') FROM (
         SELECT data FROM session_events WHERE session_id = s.id ORDER BY id DESC LIMIT 2)) AS reasons,
       (SELECT array_agg(message) FROM (
         SELECT message FROM scheduling_history WHERE entity_id = s.id ORDER BY id DESC LIMIT 2)) AS messages
     FROM sessions s WHERE id = $1`,
    [id],
  )
  const { reason } = await sessionRow(db, id)
  expect(row).toEqual({
    started: true,
    timed: input.batchTimeout !== undefined,
    ended: true,
    tries: 0,
    next: null,
    reasons: [reason, reason],
    messages: [reason, reason],
  })
  expect(await misbookedSlots(db)).toEqual([])
})

it('ends from RUNNING with a single write, too', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'RUNNING')
  agent.exitAll(3)
  await agent.sync()
  await server.run('detect-termination')
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
  await server.run('promote-to-running')
  expect(await statuses(db, id)).toBe('TERMINATING: TERMINATED RUNNING')
  await server.run('terminate-sessions')
  await agent.comply()
  await server.run('promote-to-terminated')
  expect(await statuses(db, id)).toBe('TERMINATED: TERMINATED TERMINATED')
})

it('runs on where a kernel of it has ended well that does not decide', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'CREATING', { clusterSize: 2 })
  await agent.comply()
  agent.observe((await kernelRows(db, id))[1]!.id, { status: 'EXITED', exitCode: 0 })
  await agent.sync()
  await server.run('promote-to-running', 'detect-termination')
  expect(await statuses(db, id)).toBe('RUNNING: RUNNING TERMINATED')
})

it('does not start what is on a lost agent', async () => {
  const { server, agent, db, sql } = given
  const id = await sessionIn(server, agent, 'PREPARING')
  await agent.comply()
  await sql(`UPDATE agents SET status = 'LOST'`)
  await server.run('promote-to-prepared')
  expect(await statuses(db, id)).toBe('PREPARED: PREPARED')
  expect((await events(db, id)).at(-1)).toBe('session.status_changed PREPARING→PREPARED')
  await sql(`UPDATE kernels SET error = '{"name": "agent-lost", "message": "it is lost"}'`)
  await server.run('start-sessions')
  expect((await sessionRow(db, id)).status).not.toBe('CREATING')
})

it('tells the agents of what it gives them', async () => {
  const { server, agent } = given
  await server.create()
  const rung: string[] = []
  server.hub.onAgent(agent.id, () => rung.push('agent'))
  await server.run('schedule-sessions')
  expect(rung).toHaveLength(1)
  await agent.comply()
  await server.run('promote-to-prepared')
  expect(rung).toHaveLength(2)
})

it('waits for nobody who is given to an agent just as that is lost: what is left there is swept', async () => {
  const { server, agent, db, sql } = given
  const id = await server.create()
  await server.run('schedule-sessions')
  await sql(`UPDATE agents SET status = 'LOST'`)
  await passTime(db, 41, { silentAgents: [agent.id] })
  await server.run('sweep-leftovers', 'prepare-sessions')
  expect(await statuses(db, id)).toBe('PENDING: PENDING')
})
