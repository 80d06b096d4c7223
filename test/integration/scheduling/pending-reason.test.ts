/** Why a pending session waits, in each case. */
import { describe, expect, it } from 'vitest'
import { CREATE_SESSIONS_MAX, HEAD_OF_LINE_SKIPS_MAX } from '../../../src/domain/limits.ts'
import { CAPACITY_IS_RESERVED } from '../../../src/domain/scheduling/explain-pending.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { explainPendingSessions } from '../../../src/services/session/explain-pending.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { history } from '../../support/database/session-rows.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

const given = useScheduling()
const cpu = (amount: string) => [{ slot: 'cpu', amount }]

async function reasonOf(id: string): Promise<string | undefined> {
  return (await explainPendingSessions(given.server.context, [id])).get(id)
}

describe('a pending session says that', () => {
  it('nobody or how many are before it, though the scheduler has not looked at it', async () => {
    const { server } = given
    const first = await server.create()
    const second = await server.create()
    const high = await server.create({ priority: 90 })
    expect(await reasonOf(high)).toBe('is the next in the line of resource group default')
    expect(await reasonOf(first)).toBe('waits for its turn, 1 session before it in the line of resource group default')
    expect(await reasonOf(second)).toBe(
      'waits for its turn, 2 sessions before it in the line of resource group default',
    )
    await given.sql(`UPDATE resource_groups SET sequencer = 'LIFO'`)
    expect(await reasonOf(first)).toBe('waits for its turn, 2 sessions before it in the line of resource group default')
    await given.sql(`UPDATE resource_groups SET sequencer = 'DRF'`)
    expect(await reasonOf(first)).toBe(
      'waits for its turn by dominant shares, with 2 other sessions of resource group default',
    )
    await server.run('schedule-sessions')
    expect(await reasonOf(first)).toBeUndefined()
  })

  it('its group is drained, and why', async () => {
    const id = await given.server.create()
    await given.sql(`UPDATE resource_groups SET drained_at = now(), drain_reason = 'the machines move'`)
    expect(await reasonOf(id)).toBe('resource group default is being drained: the machines move')
    await given.sql(`UPDATE resource_groups SET drain_reason = NULL`)
    expect(await reasonOf(id)).toBe('resource group default is being drained')
  })

  it('no agent is alive, or may take it', async () => {
    const { server, sql } = given
    const id = await server.create()
    const labelled = await server.create({ agentLabels: [{ key: 'zone', value: 'x' }] })
    expect(await reasonOf(labelled)).toBe('no agent of resource group default that it may go to is alive')
    await sql(`UPDATE agents SET status = 'LOST'`)
    expect(await reasonOf(id)).toBe('no agent of resource group default is alive (1 LOST)')
  })

  it('no agent is large enough, or has enough free now', async () => {
    const { server } = given
    const large = await server.create({ resourceSlots: cpu('65') })
    expect(await reasonOf(large)).toBe('no agent of resource group default has more than cpu 64, it asks for 65')
    await server.create({ resourceSlots: cpu('60') })
    await server.run('schedule-sessions')
    const short = await server.create({ resourceSlots: cpu('5') })
    expect(await reasonOf(short)).toBe('needs cpu 5, the most that an agent of resource group default has free is 4')
  })

  it('its capacity is reserved for another, which itself lacks some', async () => {
    const { server, sql } = given
    await server.create({ resourceSlots: cpu('10') })
    await server.run('schedule-sessions')
    const holder = await server.create({ resourceSlots: cpu('60') })
    await sql('UPDATE sessions SET skips = $2 WHERE id = $1', [holder, HEAD_OF_LINE_SKIPS_MAX])
    const id = await server.create({ resourceSlots: cpu('5') })
    expect(await reasonOf(id)).toBe(CAPACITY_IS_RESERVED)
    expect(await reasonOf(holder)).toBe('needs cpu 60, the most that an agent of resource group default has free is 54')
  })

  it('a quota is used up, and how far', async () => {
    const { server, db } = given
    await insertRows(db, 'resource_policies', [
      { scope: 'PROJECT', scope_id: DEFAULT_PROJECT_ID, slots: { cpu: '8' }, max_running: 2 },
    ])
    await server.create({ resourceSlots: cpu('6') })
    await server.run('schedule-sessions')
    const wide = await server.create({ resourceSlots: cpu('3') })
    const never = await server.create({ resourceSlots: cpu('9') })
    const limit = 'the quota of project default allows cpu 8 in all'
    expect(await reasonOf(wide)).toBe(`${limit}, it asks for 3, 6 is in use`)
    expect(await reasonOf(never)).toBe(`${limit}, it asks for 9: more than it ever allows`)
    await server.create({ resourceSlots: cpu('1') })
    await server.run('schedule-sessions')
    expect(await reasonOf(wide)).toBe('the quota of project default allows 2 running sessions, 2 run')
  })

  it('chains that it depends on are open, or have failed', async () => {
    const { server, agent } = given
    const [a, b] = [await server.create(), await server.create({ resourceSlots: cpu('65') })]
    const id = await server.create({ dependsOn: [a, b] })
    expect(await reasonOf(id)).toBe('waits for 2 of the 2 chains that it depends on')
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 1)
    expect(await reasonOf(id)).toBe(`depends on session ${a}, whose chain has failed; it is about to be cancelled`)
  })

  it('its time has not come', async () => {
    const startsAt = new Date(Date.now() + 3_600_000)
    const id = await given.server.create({ startsAt })
    expect(await reasonOf(id)).toBe(`starts no earlier than ${startsAt.toISOString()}`)
  })

  it('a failure makes it rest, and which', async () => {
    const { server, agent, sql } = given
    const id = await server.create()
    await driveAll(server, agent, 'CREATING')
    await sql(`UPDATE agents SET status = 'LOST'`)
    await sql(`UPDATE kernels SET error = '{"name": "agent-lost", "message": "agent a was silent for 40 s"}'`)
    await server.run('start-sessions')
    expect(await reasonOf(id)).toMatch(/^rests for \d+ s after a failure: agent a was silent for 40 s$/)
  })
})

it('the place in a long line is counted no further than it must, and for a page at the price of one', async () => {
  const { server, db } = given
  for (let n = 0; n < 2; n++) {
    const inputs = Array.from({ length: CREATE_SESSIONS_MAX }, () => ({ name: 'work', command: ['true'] }))
    await createSessions(server.context, inputs)
  }
  const last = await server.create()
  expect(await reasonOf(last)).toBe(
    'waits for its turn, more than 1000 sessions before it in the line of resource group default',
  )
  const page = (await db.query<{ id: string }>('SELECT id FROM sessions ORDER BY created_at DESC, id DESC LIMIT 50'))
    .rows
  const ids = page.map(({ id }) => id)
  const one = await recordStatements(() => explainPendingSessions(server.context, [last]))
  const fifty = await recordStatements(() => explainPendingSessions(server.context, ids))
  expect(fifty.statements.length).toBe(one.statements.length)
})

it('what the scheduler notes of a session stays one line of history while the numbers change', async () => {
  const { server, sql } = given
  await server.create({ resourceSlots: cpu('30') })
  await server.run('schedule-sessions')
  const id = await server.create({ resourceSlots: cpu('40') })
  await server.run('schedule-sessions')
  await server.create({ resourceSlots: cpu('10') })
  await server.run('schedule-sessions', 'schedule-sessions')
  expect(await history(given.db, id)).toEqual(['schedule-sessions PENDING→PENDING SKIPPED ×1'])
  expect(await reasonOf(id)).toBe('needs cpu 40, the most that an agent of resource group default has free is 24')
  await sql(`UPDATE kernels SET slots_held = false WHERE slots_held`)
  expect(await reasonOf(id)).toBe('is the next in the line of resource group default')
})
