/** The choice of the next session and its agent, and the reasons to be pending. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { CREATE_SESSIONS_MAX, HEAD_OF_LINE_SKIPS_MAX } from '../../../src/domain/limits.ts'
import { CAPACITY_IS_RESERVED } from '../../../src/domain/scheduling/explain-pending.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { explainPendingSessions } from '../../../src/services/session/explain-pending.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { chainRows, history, kernelRows, misbookedSlots, sessionRow } from '../../support/database/session-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { DEFAULT_PROJECT_ID, testServer } from '../../support/servers/test-server.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { DEFAULT_DOMAIN_ID } from '../../support/sessions/factories.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()
const cpu = (amount: string) => [{ slot: 'cpu', amount }]

describe('placing', () => {
  /** A letter for each: P for what is PENDING, S for what was scheduled. */
  async function statusesOf(ids: readonly string[]): Promise<string> {
    const rows = await Promise.all(ids.map((id) => sessionRow(given.db, id)))
    return rows.map(({ status }) => (status === 'PENDING' ? 'P' : 'S')).join('')
  }

  async function agentOf(id: string): Promise<string | null> {
    return (await kernelRows(given.db, id))[0]!.agent
  }

  describe('the sequencer of a group', () => {
    it('LIFO starts the youngest first, DRF who has the least', async () => {
      const { server, sql } = given
      await insertRows(given.db, 'projects', [{ id: randomUUID(), domain_id: DEFAULT_DOMAIN_ID, name: 'other' }])
      await sql(`UPDATE resource_groups SET sequencer = 'LIFO'`)
      const ids = []
      for (let n = 0; n < 3; n++) ids.push(await server.create({ resourceSlots: cpu('30') }))
      await server.run('schedule-sessions')
      expect(await statusesOf(ids)).toBe('PSS')
      await sql(`UPDATE kernels SET slots_held = false WHERE slots_held AND session_id = $1`, [ids[1]])
      await sql(`UPDATE resource_groups SET sequencer = 'DRF'`)
      const other = await server.create({ resourceSlots: cpu('30'), project: 'other' })
      await server.run('schedule-sessions')
      expect(await statusesOf([ids[0]!, other])).toBe('PS')
    })

    it('DRF sees who has the least behind a thousand of another', async () => {
      const { server, sql } = given
      await insertRows(given.db, 'projects', [{ id: randomUUID(), domain_id: DEFAULT_DOMAIN_ID, name: 'other' }])
      await sql(`UPDATE resource_groups SET sequencer = 'DRF'`)
      const hog = Array.from({ length: 1_000 }, () => ({ name: 'hog', command: ['true'] }))
      await createSessions(server.context, hog)
      const others = []
      for (let n = 0; n < 32; n++) others.push(await server.create({ project: 'other' }))
      await server.run('schedule-sessions')
      expect(await statusesOf(others)).toBe('S'.repeat(32))
      const [count] = await sql(`SELECT count(*) AS placed FROM sessions WHERE status = 'PREPARING'`)
      expect(count!['placed']).toBe(64)
    })
  })

  it('ROUND_ROBIN continues where it stopped, on any server', async () => {
    const { server, agent, sql, db } = given
    const others = [
      fakeAgent(server.gateway, { slots: { cpu: '64' } }),
      fakeAgent(server.gateway, { slots: { cpu: '64' } }),
    ]
    for (const one of others) await one.register()
    await sql(`UPDATE resource_groups SET selector = 'ROUND_ROBIN'`)
    const taken = []
    for (let n = 0; n < 6; n++) {
      const id = await server.create()
      await testServer(db).run('schedule-sessions')
      taken.push(await agentOf(id))
    }
    const inTurn = [agent.id, ...others.map(({ id }) => id)].toSorted()
    expect(taken).toEqual([...inTurn, ...inTurn])
  })

  describe('agents that a session names', () => {
    it('are allowed, avoided, or selected by labels, also for its retries', async () => {
      const { server, agent, db, sql } = given
      const second = fakeAgent(server.gateway, { slots: { cpu: '64' } })
      await second.register()
      await sql(`UPDATE agents SET labels = '{"zone": "x", "disk": "ssd"}' WHERE id = $1`, [second.id])
      const allowed = await server.create({ allowAgents: [second.id, second.id.toUpperCase()] })
      const avoiding = await server.create({ avoidAgents: [agent.id] })
      const labelled = await server.create({
        agentLabels: [{ key: 'zone', value: 'x' }],
        retryPolicy: { maxRetries: 1, retryDelay: 1 },
      })
      const nowhere = await server.create({ allowAgents: [second.id], agentLabels: [{ key: 'zone', value: 'y' }] })
      await server.run('schedule-sessions')
      for (const id of [allowed, avoiding, labelled]) expect(await agentOf(id)).toBe(second.id)
      expect(await statusesOf([nowhere])).toBe('P')
      await driveAll(server, second, 'RUNNING')
      await failWith(server, second, 1)
      await advanceClock(db, 5)
      await server.run('dispatch-retries')
      const [, child] = await chainRows(db, labelled)
      const [row] = await sql('SELECT agent_labels FROM sessions WHERE id = $1', [child!.id])
      expect(row!['agent_labels']).toEqual({ zone: 'x' })
    })
  })

  describe('quotas', () => {
    it('two servers that schedule two groups at once do not give the same rest out twice', async () => {
      const { server, db, sql } = given
      await sql(`INSERT INTO resource_groups (name) VALUES ('gpu')`)
      await fakeAgent(server.gateway, { slots: { cpu: '64' }, resourceGroup: 'gpu' }).register()
      await insertRows(db, 'resource_policies', [
        { scope: 'DOMAIN', scope_id: DEFAULT_DOMAIN_ID, slots: { cpu: '10' } },
        { scope: 'PROJECT', scope_id: DEFAULT_PROJECT_ID, slots: {}, max_running: 100 },
      ])
      const ids = []
      for (const resourceGroup of ['default', 'gpu', 'default', 'gpu']) {
        ids.push(await server.create({ resourceGroup, resourceSlots: cpu('6') }))
      }
      const { sync, gates } = syncGates('schedule:after-quotas')
      const first = testServer(db, sync).run('schedule-sessions')
      await gates['schedule:after-quotas']!.reached
      const second = testServer(db).run('schedule-sessions')
      const waits = eventually(async () => {
        const [waiting] = await sql('SELECT count(*) AS n FROM pg_locks WHERE NOT granted')
        return waiting!['n'] === 1
      })
      await Promise.race([second, waits])
      gates['schedule:after-quotas']!.open()
      await Promise.all([first, second])
      expect([...(await statusesOf(ids))].toSorted().join('')).toBe('PPPS')
      const [held] = await sql(
        `SELECT sum((resource_slots ->> 'cpu')::numeric)::text AS cpu FROM kernels WHERE slots_held`,
      )
      expect(held!['cpu']).toBe('6')
    })

    it('servers that look at many groups at once never give out more than a quota', async () => {
      const { server, db, sql } = given
      const groups = ['default', 'g1', 'g2', 'g3']
      await sql(`INSERT INTO resource_groups (name) VALUES ('g1'), ('g2'), ('g3')`)
      for (const resourceGroup of groups.slice(1)) {
        await fakeAgent(server.gateway, { slots: { cpu: '64' }, resourceGroup }).register()
      }
      await insertRows(db, 'resource_policies', [
        { scope: 'PROJECT', scope_id: DEFAULT_PROJECT_ID, slots: { cpu: '25' }, max_running: 20 },
      ])
      for (let n = 0; n < 40; n++)
        await server.create({ resourceGroup: groups[n % 4]!, resourceSlots: cpu(n % 3 ? '1.5' : '0.1') })
      const servers = Array.from({ length: 4 }, () => testServer(db))
      for (let round = 0; round < 3; round++) await Promise.all(servers.map((one) => one.run('schedule-sessions')))
      const [used] = await sql(
        `SELECT count(*) AS running, sum((resource_slots ->> 'cpu')::numeric)::float8 AS cpu FROM kernels WHERE slots_held`,
      )
      expect(used!['running']).toBe(20)
      expect(used!['cpu']).toBeLessThanOrEqual(25)
      expect(await misbookedSlots(db)).toEqual([])
    })

    it('who waits for one is passed without end, costs no try and holds up nobody', async () => {
      const { server, db, sql } = given
      await insertRows(db, 'projects', [{ id: randomUUID(), domain_id: DEFAULT_DOMAIN_ID, name: 'other' }])
      await insertRows(db, 'resource_policies', [
        { scope: 'PROJECT', scope_id: DEFAULT_PROJECT_ID, slots: {}, max_running: 0 },
      ])
      const waiting = await server.create()
      await sql('UPDATE sessions SET skips = $1', [HEAD_OF_LINE_SKIPS_MAX])
      const passing = await server.create({ project: 'other', resourceSlots: cpu('64') })
      await server.run('schedule-sessions')
      expect(await statusesOf([waiting, passing])).toBe('PS')
      expect(await sessionRow(db, waiting)).toMatchObject({ tries: 0, skips: HEAD_OF_LINE_SKIPS_MAX })
    })
  })

  it('a session that waits for its start time or its dependencies is passed without being counted', async () => {
    const { server, db } = given
    const later = await server.create({ startsAt: new Date(Date.now() + 60_000) })
    const dependent = await server.create({ dependsOn: [later] })
    for (let n = 0; n < 3; n++) {
      await server.create()
      await server.run('schedule-sessions')
    }
    for (const id of [later, dependent]) expect(await sessionRow(db, id)).toMatchObject({ status: 'PENDING', skips: 0 })
  })

  it('a session expires anywhere in the queue, and while it rests', async () => {
    const { server, db, sql } = given
    await sql('UPDATE resource_groups SET pending_timeout_ms = 60000')
    const rests = await server.create({ startsAt: new Date(Date.now() + 3_600_000) })
    await server.run('schedule-sessions')
    const wide = Array.from({ length: 600 }, () => ({ name: 'wide', command: ['true'], resourceSlots: cpu('100') }))
    await createSessions(server.context, wide)
    await advanceClock(db, 61)
    for (let look = 0; look < 8; look++) await testServer(db).run('schedule-sessions')
    const [left] = await sql(`SELECT count(*) AS left FROM sessions WHERE status = 'PENDING'`)
    expect(left!['left']).toBe(0)
    expect(await sessionRow(db, rests)).toMatchObject({ status: 'CANCELLED' })
  })

  it('the number in the index of overdue sessions is the limit', async () => {
    const [index] = await given.sql(`SELECT indexdef FROM pg_indexes WHERE indexname = 'sessions_holding_line'`)
    expect(index!['indexdef']).toContain(`(skips >= ${HEAD_OF_LINE_SKIPS_MAX})`)
  })
})

describe('reasons to be pending', () => {
  async function reasonOf(id: string): Promise<string | undefined> {
    return (await explainPendingSessions(given.server.context, [id])).get(id)?.text
  }

  describe('the reason of a pending session is that', () => {
    it('nobody or how many are before it, though the scheduler has not looked at it', async () => {
      const { server } = given
      const first = await server.create()
      const second = await server.create()
      const high = await server.create({ priority: 90 })
      expect(await reasonOf(high)).toBe('is the next in the line of resource group default')
      expect(await reasonOf(first)).toBe(
        'waits for its turn, 1 session before it in the line of resource group default',
      )
      expect(await reasonOf(second)).toBe(
        'waits for its turn, 2 sessions before it in the line of resource group default',
      )
      await given.sql(`UPDATE resource_groups SET sequencer = 'LIFO'`)
      expect(await reasonOf(first)).toBe(
        'waits for its turn, 2 sessions before it in the line of resource group default',
      )
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
      const tooLarge = 'no agent of resource group default has more than cpu 64, it asks for 65'
      expect(await reasonOf(large)).toBe(`impossible: ${tooLarge}; the nearest is agent-${given.agent.id} with cpu 64`)
      // It is so at once, whatever else the session waits for.
      const later = await server.create({ resourceSlots: cpu('65'), startsAt: new Date(Date.now() + 3_600_000) })
      expect(await reasonOf(later)).toBe(await reasonOf(large))
      const absent = fakeAgent(server.gateway, { slots: { cpu: '128' } })
      await absent.register()
      await given.sql(`UPDATE agents SET status = 'LOST' WHERE id = $1`, [absent.id])
      expect(await reasonOf(large)).toBe(tooLarge)
      await given.sql(`UPDATE agents SET status = 'TERMINATED' WHERE id = $1`, [absent.id])
      expect(await reasonOf(large)).toContain('impossible')
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
      expect(await reasonOf(holder)).toBe(
        'needs cpu 60, the most that an agent of resource group default has free is 54',
      )
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
      expect(await reasonOf(never)).toBe(`impossible: ${limit}, it asks for 9: more than it ever allows`)
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

  it('a waiting session keeps one line of history while the numbers in its reason change', async () => {
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
})
