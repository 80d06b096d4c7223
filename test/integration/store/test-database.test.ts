/** A fresh test database, statements on tables analysed while empty, and the migration that repairs damaged rows. */
import pg from 'pg'
import { pino } from 'pino'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { emptyDatabase, testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { migrateUpTo } from '../../support/database/migrate-up-to.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { dueRetries, exhaustedSessions } from '../../support/sessions/due-retries.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'

describe('the test database', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await testDatabase()
  })
  afterAll(() => database.close())

  async function count(table: string): Promise<number> {
    const { rows } = await database.db.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)
    return rows[0]!.n
  }

  test('fresh() leaves the rows of the migrations and nothing else', async () => {
    const settings = await count('settings')
    await database.db.query(`INSERT INTO settings (key, value) VALUES ('a', '1')`)
    await database.db.query(`DELETE FROM projects`)
    await database.fresh()
    expect(await count('settings')).toBe(settings)
    expect(await count('projects')).toBe(1)
    expect(await count('resource_groups')).toBe(1)
  })

  test('time passes for all connections at once, and is right again in a fresh database', async () => {
    const AHEAD = `SELECT extract(epoch FROM reprise_now() - now())::int AS now,
    round(extract(epoch FROM reprise_clock() - clock_timestamp()))::int AS clock`
    const other = await database.connect()
    const ahead = async () => [(await database.db.query(AHEAD)).rows[0], (await other.query(AHEAD)).rows[0]]
    expect(await ahead()).toEqual([
      { now: 0, clock: 0 },
      { now: 0, clock: 0 },
    ])
    await advanceClock(database.db, 60)
    await Promise.all([
      advanceClock(database.db, 3_600),
      advanceClock(database.db, 0.5),
      advanceClock(database.db, 0.5),
    ])
    expect(await ahead()).toEqual([
      { now: 3_661, clock: 3_661 },
      { now: 3_661, clock: 3_661 },
    ])
    await database.fresh()
    expect(await ahead()).toEqual([
      { now: 0, clock: 0 },
      { now: 0, clock: 0 },
    ])
    await other.end()
  })
})

/** If autovacuum analyses a table while it is empty, plans are made for no rows until it comes again. */
describe('stale statistics', () => {
  /** Comparing all pairs of rows takes seconds, all triples hours. */
  const ROWS = 3_000
  const CHILDREN = 300

  const TABLES = `FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`

  let database: TestDatabase

  beforeAll(async () => {
    database = await testDatabase()
  })
  beforeAll(async () => {
    const { db } = database
    const { rows } = await db.query<{ name: string }>(`SELECT relname AS name ${TABLES}`)
    for (const { name } of rows) await db.query(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`)
    await db.query(`SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', relname::text,
    'relpages', 50, 'reltuples', 0::real) ${TABLES}`)
  })
  afterAll(() => database?.close())

  async function chainStates(): Promise<Record<string, number>> {
    const states = await database.db.query<{ state: string; count: number }>(
      'SELECT state, count(*)::int AS count FROM chains GROUP BY state',
    )
    return Object.fromEntries(states.rows.map(({ state, count }) => [state, count]))
  }

  test('chains follow large batches of sessions that the planner believes to be none', async () => {
    const server = testServer(database.db)
    await exhaustedSessions(server.context, { count: ROWS })
    expect(await chainStates()).toEqual({ FAILED: ROWS })

    await dueRetries(server.context, { count: CHILDREN })
    expect(await chainStates()).toEqual({ FAILED: ROWS, WAITING_RETRY: CHILDREN })
    while ((await server.run('dispatch-retries'))[0]! > 0);
    expect(await chainStates()).toEqual({ FAILED: ROWS, LIVE: CHILDREN })

    await database.db.query(`DELETE FROM sessions WHERE attempt = 2`)
    await database.db.query(`SELECT refresh_chains(ARRAY(SELECT chain_id FROM chains))`)
    expect(await chainStates()).toEqual({ FAILED: ROWS + CHILDREN })
  })
})

describe('damaged rows', () => {
  const log = pino({ enabled: false })
  const AGENT = uuidv7()

  async function insertSession(client: pg.Client, avoidAgents: string): Promise<string> {
    const id = uuidv7()
    await client.query(
      `INSERT INTO sessions (id, chain_id, project_id, resource_group, creation_id, name, session_type, command,
       cluster_mode, cluster_size, priority, attempt, retry_policy, avoid_agents)
     SELECT $1::uuid, $1::uuid, p.id, 'default', $1::text, 'a session', 'BATCH', '{true}', 'SINGLE_NODE', 1, 10, 1, '{}', $2::uuid[]
     FROM projects p`,
      [id, avoidAgents],
    )
    return id
  }

  test('a NULL among the agents to avoid is removed from any position, and none can return', async () => {
    const database = await emptyDatabase()
    const client = new pg.Client({ connectionString: database.connectionString })
    await client.connect()
    try {
      await migrateUpTo(client, '20261122181900_lists_without_nulls')
      const lists = ['{NULL}', `{NULL,${AGENT},NULL}`, `{${AGENT}}`, '{}']
      const ids: string[] = []
      for (const list of lists) ids.push(await insertSession(client, list))

      expect(await migrate(database.connectionString, log)).toContain('20261122181900_lists_without_nulls')

      const { rows } = await client.query<{ avoid: string[] }>(
        'SELECT avoid_agents AS avoid FROM sessions ORDER BY array_position($1::uuid[], id)',
        [ids],
      )
      expect(rows.map(({ avoid }) => avoid)).toEqual([[], [AGENT], [AGENT], []])
      for (const column of ['avoid_agents', 'allow_agents', 'avoid_groups', 'command']) {
        const damage = client.query(`UPDATE sessions SET ${column} = array_append(${column}, NULL) WHERE id = $1`, [
          ids[2],
        ])
        await expect(damage, column).rejects.toThrow('sessions_lists')
      }
    } finally {
      await client.end()
      await database.drop()
    }
  })
})
