/** The queue of pending sessions: which wait, which pass and which block others, with one scheduler and with two. */
import { afterEach, describe, expect, it } from 'vitest'
import { CLAIM_BATCH_SESSIONS_MAX, HEAD_OF_LINE_SKIPS_MAX } from '../../../src/domain/limits.ts'
import { CAPACITY_IS_RESERVED } from '../../../src/domain/scheduling/explain-pending.ts'
import { type CreatedSession, createSessions } from '../../../src/services/session/create-sessions.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import {
  chainRows,
  decisionRow,
  history,
  kernelRows,
  misbookedSlots,
  sessionRow,
} from '../../support/database/session-rows.ts'
import { ALL_SERVICES, testServer } from '../../support/servers/test-server.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

describe('the queue', () => {
  const byText = (a: string, b: string) => (a < b ? -1 : 1)
  const cpu = (amount: string) => [{ slot: 'cpu', amount }]

  describe('a session that cannot start yet', () => {
    it('is reported once, and costs no try', async () => {
      const { server, db } = given
      const id = await server.create({ resourceSlots: cpu('65') })
      await server.run('schedule-sessions', 'schedule-sessions', 'schedule-sessions')
      expect(await sessionRow(db, id)).toMatchObject({
        status: 'PENDING',
        tries: 0,
        skips: 0,
        pendingReason: 'no agent of resource group default has more than cpu 64, it asks for 65',
      })
      expect(await history(db, id)).toEqual(['schedule-sessions PENDING→PENDING SKIPPED ×1'])
    })

    it('waits for its time, looked at no earlier', async () => {
      const { server, db } = given
      const id = await server.create({ startsAt: new Date(Date.now() + 3_600_000) })
      await server.run('schedule-sessions')
      const { restsMs, pendingReason } = await sessionRow(db, id)
      expect(pendingReason).toBe('its start time has not been reached')
      expect(restsMs).toBeGreaterThan(3_500_000)
      await advanceClock(db, 3_601)
      await server.run('schedule-sessions')
      expect(await sessionRow(db, id)).toMatchObject({ status: 'PREPARING', pendingReason: null })
    })
  })

  describe('a session that depends on another', () => {
    it('waits for its chain, retries and all, and starts when that has succeeded', async () => {
      const { server, agent, db } = given
      const first = await server.create({ retryPolicy: { maxRetries: 1, retryDelay: 1 } })
      const dependent = await server.create({ dependsOn: [first] })
      await driveAll(server, agent, 'RUNNING')
      expect(await sessionRow(db, dependent)).toMatchObject({
        status: 'PENDING',
        pendingReason: 'waits for 1 chain(s) that it depends on',
      })
      await failWith(server, agent, 1)
      await advanceClock(db, 5)
      await server.run('schedule-sessions', 'dispatch-retries')
      expect((await sessionRow(db, dependent)).status).toBe('PENDING')
      await driveAll(server, agent, 'RUNNING')
      await failWith(server, agent, 0)
      expect(await chainRows(db, first)).toMatchObject([
        { status: 'ERROR' },
        { status: 'TERMINATED', result: 'SUCCESS' },
      ])
      // At once, whatever its pause.
      await server.run('schedule-sessions')
      expect((await sessionRow(db, dependent)).status).toBe('PREPARING')
    })

    it('is cancelled with a reason when that chain has failed for good, and so are its own dependents', async () => {
      const { server, agent, db } = given
      const first = await server.create({ retryPolicy: { maxRetries: 1, retryDelay: 1 } })
      const second = await server.create({ dependsOn: [first], retryPolicy: { maxRetries: 5 } })
      const third = await server.create({ dependsOn: [second] })
      for (let attempt = 0; attempt < 2; attempt++) {
        await driveAll(server, agent, 'RUNNING')
        await failWith(server, agent, 1)
        await advanceClock(db, 5)
        await server.run('dispatch-retries')
      }
      await server.settle()
      await advanceClock(db, 5)
      await server.settle()
      const [, last] = await chainRows(db, first)
      expect(await sessionRow(db, second)).toMatchObject({
        status: 'CANCELLED',
        reason: `depends on session ${last!.id}, whose chain has failed`,
      })
      expect(await decisionRow(db, second)).toMatchObject({ phase: 'NOT_ELIGIBLE', cause: 'VALIDATION_ERROR' })
      expect(await sessionRow(db, third)).toMatchObject({ status: 'CANCELLED' })
    })
  })

  describe('the line', () => {
    async function passOver(large: string, times: number): Promise<void> {
      const { server, sql } = given
      for (let time = 0; time < times; time++) {
        const small = await server.create({ resourceSlots: cpu('1') })
        await server.run('schedule-sessions')
        expect((await sessionRow(given.db, small)).status).toBe('PREPARING')
        await sql(`UPDATE kernels SET slots_held = false WHERE session_id = $1`, [small])
      }
      expect((await sessionRow(given.db, large)).skips).toBe(times)
    }

    it('lets smaller ones pass a bounded number of times, then holds them up until the large one has started', async () => {
      const { server, db, sql } = given
      const holder = await server.create({ resourceSlots: cpu('10') })
      await server.run('schedule-sessions')
      const large = await server.create({ resourceSlots: cpu('60') })
      await passOver(large, 2)
      await sql(`UPDATE sessions SET skips = $2 WHERE id = $1`, [large, HEAD_OF_LINE_SKIPS_MAX])
      const small = await server.create({ resourceSlots: cpu('1') })
      await server.run('schedule-sessions')
      expect(await sessionRow(db, small)).toMatchObject({
        status: 'PENDING',
        pendingReason: CAPACITY_IS_RESERVED,
      })
      await sql(`UPDATE kernels SET slots_held = false WHERE session_id = $1`, [holder])
      await server.run('schedule-sessions')
      expect(await sessionRow(db, large)).toMatchObject({ status: 'PREPARING' })
      expect(await sessionRow(db, small)).toMatchObject({ status: 'PREPARING' })
    })

    it('is not held by a session that no agent could take even if it were empty', async () => {
      const { server, db, sql } = given
      const impossible = await server.create({ resourceSlots: cpu('1000') })
      await sql(`UPDATE sessions SET skips = $1`, [HEAD_OF_LINE_SKIPS_MAX])
      const small = await server.create()
      await server.run('schedule-sessions')
      expect(await sessionRow(db, small)).toMatchObject({ status: 'PREPARING' })
      expect(await sessionRow(db, impossible)).toMatchObject({ status: 'PENDING' })
    })

    it('is looked through to its end, though a whole batch at its head fits nowhere', async () => {
      const { server, db } = given
      const large = Array.from({ length: CLAIM_BATCH_SESSIONS_MAX }, () => ({
        name: 'large',
        command: ['true'],
        resourceSlots: cpu('100'),
      }))
      await createSessions(server.context, large)
      const small = await server.create()
      await server.run('schedule-sessions')
      expect(await sessionRow(db, small)).toMatchObject({ status: 'PREPARING' })
      const again = await server.create()
      await server.run('schedule-sessions')
      expect(await sessionRow(db, again)).toMatchObject({ status: 'PREPARING' })
    })

    it('goes by priority, then by age', async () => {
      const { server, db } = given
      const ids = []
      for (const priority of [10, 50, 50, 90]) ids.push(await server.create({ priority, resourceSlots: cpu('30') }))
      await server.run('schedule-sessions')
      const rows = await Promise.all(ids.map((id) => sessionRow(db, id)))
      expect(rows.map(({ status }) => status)).toEqual(['PENDING', 'PREPARING', 'PENDING', 'PREPARING'])
    })
  })

  describe('places', () => {
    it('single-node kernels share an agent, multi-node ones spread', async () => {
      const { server, db, agent } = given
      const second = fakeAgent(server.gateway, { slots: { cpu: '64' } })
      await second.register()
      const single = await server.create({ clusterSize: 3, resourceSlots: cpu('16') })
      await server.run('schedule-sessions')
      const agentsOf = async (id: string) =>
        [...new Set((await kernelRows(db, id)).map((kernel) => kernel.agent!))].toSorted(byText)
      expect(await agentsOf(single)).toHaveLength(1)
      const tooLarge = await server.create({ clusterSize: 5, resourceSlots: cpu('16') })
      const multi = await server.create({ clusterSize: 5, clusterMode: 'MULTI_NODE', resourceSlots: cpu('16') })
      await server.run('schedule-sessions')
      expect(await agentsOf(multi)).toEqual([agent.id, second.id].toSorted(byText))
      expect(await sessionRow(db, tooLarge)).toMatchObject({
        pendingReason:
          'no agent of resource group default has more than cpu 64, it asks for 80 for its 5 kernels on one agent',
      })
      expect(await misbookedSlots(db)).toEqual([])
    })

    it('avoided agents go last, and are taken where nothing else fits', async () => {
      const { server, db, agent, sql } = given
      const second = fakeAgent(server.gateway, { slots: { cpu: '2' } })
      await second.register()
      const ids = [await server.create(), await server.create(), await server.create()]
      await sql(`UPDATE sessions SET avoid_agents = ARRAY[$1::uuid]`, [agent.id])
      await server.run('schedule-sessions')
      const agents = (await Promise.all(ids.map((id) => kernelRows(db, id)))).map(([kernel]) => kernel!.agent)
      expect(agents).toEqual([second.id, second.id, agent.id])
    })

    it('count exactly: forty kernels of 0.1 are four', async () => {
      const { server, sql } = given
      const tenths = fakeAgent(server.gateway, { slots: { fpga: '4' } })
      await tenths.register()
      for (let n = 0; n < 41; n++) await server.create({ resourceSlots: [{ slot: 'fpga', amount: 0.1 }] })
      await server.run('schedule-sessions')
      const [count] = await sql(`SELECT count(*) FILTER (WHERE status = 'PREPARING') AS placed FROM sessions`)
      expect(count!['placed']).toBe(40)
      const [slot] = await sql(`SELECT used::text, capacity::text FROM agent_slots WHERE slot = 'fpga'`)
      expect(slot).toEqual({ used: '4.0', capacity: '4' })
    })

    it("only living agents of the session's own group take work", async () => {
      const { server, db, agent, sql } = given
      await sql(`INSERT INTO resource_groups (name) VALUES ('gpu')`)
      const elsewhere = await server.create({ resourceGroup: 'gpu' })
      await sql(`UPDATE agents SET status = 'DRAINING', drained_at = reprise_now() WHERE id = $1`, [agent.id])
      const here = await server.create()
      await server.run('schedule-sessions')
      for (const [id, group] of [
        [elsewhere, 'gpu'],
        [here, 'default'],
      ] as const) {
        expect((await sessionRow(db, id)).pendingReason).toBe(`no agent of resource group ${group} is alive`)
      }
    })
  })
})

describe('two schedulers', () => {
  const pools: Database[] = []
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.close()))
  })

  const SESSIONS = 60

  it('two schedulers on one database do everything once and lose nothing', async () => {
    const { db, sql, server, agent } = given
    const second = openDatabase({
      connectionString: given.database.connectionString,
      connectionsMax: 10,
      onError: () => {},
    })
    pools.push(second)
    const servers = [server, testServer(second)] as const
    const agents = [agent, fakeAgent(servers[1].gateway, { slots: { cpu: '7.5' } })]
    await agents[1]!.register()
    const created = await createSessions(
      server.context,
      Array.from({ length: SESSIONS }, (_, n) => ({
        name: `work-${n}`,
        command: ['true'],
        clusterSize: (n % 3) + 1,
        clusterMode: 'MULTI_NODE' as const,
        resourceSlots: [{ slot: 'cpu', amount: '0.7' }],
        retryPolicy: { maxRetries: n % 4, retryDelay: 1 },
      })),
    )
    const roots = created.map((result) => (result as CreatedSession).sessionId)

    for (let round = 0; round < 60; round++) {
      await Promise.all([
        ...servers.flatMap((one) => ALL_SERVICES.map((name) => one.run(name))),
        ...agents.map(async (one, index) => {
          one.obey(await one.sync())
          if (round % 3 === index) one.exitAll(round % 5 === 0 ? 0 : 1)
        }),
      ])
      await advanceClock(db, 5)
      const [live] = await sql(`SELECT count(*) AS n FROM sessions WHERE NOT retry_decided
      OR id IN (SELECT session_id FROM retry_decisions WHERE phase IN ('SCHEDULED', 'HELD'))`)
      if (live!['n'] === 0) break
    }

    expect(
      await sql(`SELECT id, status, tries FROM sessions WHERE status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')`),
    ).toEqual([])
    expect(await sql(`SELECT id FROM sessions WHERE id NOT IN (SELECT session_id FROM retry_decisions)`)).toEqual([])
    // Every move once: each session has each line of history and each event one time.
    expect(
      await sql(`SELECT entity_id, phase, from_status, to_status FROM scheduling_history
      WHERE entity = 'SESSION' AND result <> 'SKIPPED' GROUP BY 1, 2, 3, 4 HAVING count(*) > 1 OR max(attempts) > 1`),
    ).toEqual([])
    expect(await sql(`SELECT session_id, type, data FROM session_events GROUP BY 1, 2, 3 HAVING count(*) > 1`)).toEqual(
      [],
    )
    const chains = await sql(`SELECT chain_id, count(*) AS attempts, max(attempt) AS last, max(max_retries) + 1 AS most,
    bool_or(result = 'SUCCESS') AS succeeded FROM sessions GROUP BY 1`)
    expect(new Set(chains.map((chain) => chain['chain_id']))).toEqual(new Set(roots))
    for (const { attempts, last, most, succeeded } of chains as Record<string, number>[]) {
      expect(attempts).toBe(last)
      expect(attempts).toBeLessThanOrEqual(most!)
      if (!succeeded) expect(attempts).toBe(most)
    }
    expect(chains.some(({ attempts }) => (attempts as number) > 2)).toBe(true)
    expect(await misbookedSlots(db)).toEqual([])
    expect(await sql(`SELECT sum(used)::float8 AS used FROM agent_slots`)).toEqual([{ used: 0 }])
  })
})

describe('an idle service', () => {
  it.each(ALL_SERVICES)('%s rests where there is nothing to do', async (name) => {
    await given.server.settle()
    const { done, more, againInMs } = await given.server.services[name].runOnce()
    expect({ done, more: more ?? false }).toEqual({ done: 0, more: false })
    expect(againInMs ?? Infinity).toBeGreaterThan(100)
  })
})
