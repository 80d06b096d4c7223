/** The migration that mends damaged rows. */
import { v7 as uuidv7 } from 'uuid'
import pg from 'pg'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { emptyDatabase } from '../../support/database/database.ts'
import { migrateUpTo } from '../../support/database/migrate-up-to.ts'

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

test('a NULL among the agents to avoid is removed, wherever it stands, and none can come back', async () => {
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
