/** A hundred agents, some of which lie, die or are cut off. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLogger } from '../../../src/observability/log.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { startSwarm } from '../../support/agents/agent-swarm.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { observed } from '../../support/agents/played-agent.ts'
import { misbookedSlots } from '../../support/database/session-rows.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { testServer } from '../../support/servers/test-server.ts'

const AGENTS = 100
const SESSIONS = 350

/** How each ends, and after how many attempts. */
const KINDS = [
  { command: ['noop'], ends: 'TERMINATED SUCCEEDED 1' },
  { command: ['noop', 'exit', '3'], ends: 'ERROR EXHAUSTED 2' },
  { command: ['noop', 'succeed-at', '2'], ends: 'TERMINATED SUCCEEDED 2' },
  { command: ['noop', 'slow-start', '200'], ends: 'TERMINATED SUCCEEDED 1' },
  { command: ['noop', 'vanish'], ends: 'ERROR EXHAUSTED 2' },
  { command: ['noop', 'oom'], ends: 'ERROR EXHAUSTED 2' },
  { command: ['noop', 'hang'], ends: 'ERROR EXHAUSTED 2', batchTimeout: 0.3 },
] as const

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())

it('a hundred agents, some of which lie, die and are cut off, bring every session to its end', async () => {
  const { db } = database
  const server = testServer(db)
  await using resources = new AsyncDisposableStack()
  const swarm = await startSwarm({
    size: AGENTS,
    gateway: server.gateway,
    directory: await temporaryDirectory('swarm'),
    log: await createLogger({ level: 'silent', format: 'json' }),
  })
  resources.use(swarm)
  await server.run('watch-agents')
  resources.use(server.start())
  const count = async (statement: string) => (await db.query<{ count: number }>(statement)).rows[0]!.count
  await eventually(async () => (await count('SELECT count(*) FROM agents')) === AGENTS)

  const kindOf = (index: number) => KINDS[index % KINDS.length]!
  const inputs = Array.from({ length: SESSIONS }, (_, index) => {
    const { command, ...kind } = kindOf(index)
    const batchTimeout = 'batchTimeout' in kind ? kind.batchTimeout : undefined
    const retryPolicy = { maxRetries: 1, retryDelay: 0.1, jitter: 'NONE' as const }
    return { name: 'work', command: [...command], batchTimeout, retryPolicy }
  })
  const results = await createSessions(server.context, inputs)
  const ids = results.map((result) => ('sessionId' in result ? result.sessionId : ''))

  const { rows: kernels } = await db.query<{ id: string }>('SELECT id FROM kernels')
  for (const [index, { line }] of swarm.members.slice(0, 20).entries()) {
    line.alter((request) => {
      const known = new Set(request.observed.map(({ kernelId }) => kernelId))
      const anothers = kernels.map(({ id }) => id).filter((id) => !known.has(id))
      const id = index % 2 === 0 ? anothers[request.sequence % anothers.length]! : randomUUID()
      const lie = observed(id, request.sequence % 3, { status: 'EXITED', exitCode: 0, startedAt: 'now' })
      return { ...request, observed: [...request.observed, lie] }
    })
  }
  // Nothing of theirs hangs longer than a session: what was there is gone without a trace when they are back.
  const unsteady = swarm.members.slice(20, 24)
  for (const member of unsteady) await member.die()
  for (const { line } of swarm.members.slice(24, 28)) line.cut()
  for (const member of unsteady) await member.revive()
  for (const { line } of swarm.members.slice(24, 28)) line.heal()

  // In one statement: between two, what is decided becomes a session.
  const open = `SELECT (SELECT count(*) FROM sessions WHERE NOT retry_decided OR status NOT IN ('TERMINATED', 'ERROR'))
    + (SELECT count(*) FROM retry_decisions WHERE phase IN ('SCHEDULED', 'HELD')) AS count`
  await eventually(async () => (await count(open)) === 0, { withinMs: 180_000 })
  const { rows } = await db.query<{ id: string; ends: string; causes: string[] }>(
    `SELECT sessions.chain_id AS id, (array_agg(status || ' ' || phase ORDER BY attempt DESC))[1] || ' ' || count(*) AS ends,
      array_agg(coalesce(failure_cause::text, '') ORDER BY attempt) AS causes
    FROM sessions JOIN retry_decisions d ON d.session_id = sessions.id GROUP BY sessions.chain_id`,
  )
  const ends = new Map(rows.map((row) => [row.id, row]))
  // Those that were on an agent that died, or was too busy to be heard, have used up an attempt for it.
  const hit = new Set(rows.filter(({ causes }) => causes[0] === 'AGENT_TRANSIENT').map(({ id }) => id))
  expect(ids.filter((id, index) => !hit.has(id) && ends.get(id)?.ends !== kindOf(index).ends)).toEqual([])
  const silent = await db.query<{ id: string }>(
    `SELECT DISTINCT s.chain_id AS id FROM sessions s JOIN kernels k ON k.session_id = s.id JOIN agents a ON a.id = k.agent_id
    WHERE s.attempt = 1 AND (a.name = ANY ($1) OR a.id IN (
      SELECT entity_id FROM scheduling_history WHERE entity = 'AGENT' AND to_status = 'LOST'))`,
    [swarm.members.slice(20, 28).map(({ name }) => name)],
  )
  const excused = new Set(silent.rows.map(({ id }) => id))
  const unexcused = ids.filter((id, index) => hit.has(id) && !excused.has(id) && kindOf(index).command[1] !== 'vanish')
  expect(unexcused).toEqual([])
  expect(await misbookedSlots(db)).toEqual([])
  const left = 'SELECT count(*) FROM kernels WHERE slots_held OR NOT confirmed_gone'
  await eventually(async () => (await count(left)) === 0)
})
