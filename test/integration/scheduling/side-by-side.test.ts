/** Two schedulers on one database do everything once. */
import { afterEach, expect, it } from 'vitest'
import { createSessions, type CreatedSession } from '../../../src/services/session/create-sessions.ts'
import { openDatabase, type Database } from '../../../src/store/database.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { playedAgent } from '../../support/agents/played-agent.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { misbookedSlots } from '../../support/database/session-rows.ts'
import { ALL_SERVICES, testServer } from '../../support/servers/test-server.ts'

const given = useScheduling()
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
  const agents = [agent, playedAgent(servers[1].gateway, { slots: { cpu: '7.5' } })]
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
    await passTime(db, 5)
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
