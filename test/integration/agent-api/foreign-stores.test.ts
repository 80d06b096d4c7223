/** Agents that claim to have stored checkpoints of chains of another group. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { removeOldStores } from '../../../src/store/sql/retention.sql.ts'
import { setQuota } from '../../../src/services/quota.ts'
import { emptyDatabase } from '../../support/database/database.ts'
import { migrateUpTo } from '../../support/database/migrate-up-to.ts'
import { kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import type { FakeAgent } from '../../support/agents/fake-agent.ts'
import { sessionIn } from '../../support/sessions/drive-session.ts'
import { PATHS, useAgentApi } from './agent-api-fixture.ts'

const given = useAgentApi()

const STORE = randomUUID()
let victim: FakeAgent
let chainId: string
let tokens: Record<'victim' | 'attacker' | 'both' | 'all', string>

beforeEach(async () => {
  const { api, server } = given
  await api.db.query(`UPDATE agents SET status = 'DRAINING', drained_at = reprise_now()`)
  await api.db.query(`INSERT INTO resource_groups (name) VALUES ('victims'), ('attackers')`)
  const tokenFor = (resourceGroups: string[] | null) => api.factory.token({ role: 'AGENT', resourceGroups })
  tokens = {
    victim: await tokenFor(['victims']),
    attacker: await tokenFor(['attackers']),
    both: await tokenFor(['attackers', 'victims']),
    all: await tokenFor(null),
  }
  victim = given.played(tokens.victim, { resourceGroup: 'victims', says: { chainStore: STORE } })
  await victim.register()
  chainId = await sessionIn(server, victim, 'RUNNING', { resourceGroup: 'victims' })
  const [kernel] = await kernelRows(api.db, chainId)
  const leftCheckpoint = { generation: 0, files: 1, bytes: 100, newestAt: null }
  victim.observe(kernel!.id, { status: 'EXITED', exitCode: 3, leftCheckpoint })
  await victim.sync()
})

async function checkpoint() {
  const { rows } = await given.api.db.query<{ store: string; bytes: number }>(
    'SELECT store, bytes::float8 AS bytes FROM checkpoints WHERE chain_id = $1',
    [chainId],
  )
  return rows[0]
}

const registering = (
  token: string,
  resourceGroup: string,
  chainStore: string = STORE,
  agentId: string = randomUUID(),
) =>
  given.post(
    PATHS.register,
    {
      agentId,
      instanceId: randomUUID(),
      name: 'any',
      resourceGroup,
      address: '',
      version: '1',
      slots: { cpu: '4' },
      labels: {},
      chainStore,
    },
    { token },
  )

async function groupsOf(store: string): Promise<string[]> {
  const statement = 'SELECT resource_group AS name FROM chain_store_groups WHERE store = $1 ORDER BY 1'
  return (await given.api.db.query<{ name: string }>(statement, [store])).rows.map(({ name }) => name)
}

describe('a store of another group', () => {
  test('is refused to an agent whose token is not for that group, which changes nothing', async () => {
    const { api, server } = given
    expect(await checkpoint()).toEqual({ store: STORE, bytes: 100 })
    await setQuota(server.context, { scope: 'PROJECT', name: 'default', maxCheckpointBytes: '50k' })
    const before = await given.world()
    const agentId = randomUUID()
    const told = await registering(tokens.attacker, 'attackers', STORE, agentId)
    expect(told).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
    expect(told.body.message).toMatch(/REPRISE_CHAINS_DIR.*another resource group.*its own directory/s)
    expect(told.body.message).not.toContain('victims')
    expect(await given.world()).toEqual(before)

    // It comes with one that is its own, and says how much is in the other.
    const attacker = given.played(tokens.attacker, { resourceGroup: 'attackers', says: { chainStore: randomUUID() } })
    await attacker.register()
    const [row] = (
      await api.db.query<{ id: string }>('SELECT instance_id AS id FROM agents WHERE id = $1', [attacker.id])
    ).rows
    const forged = { chainId, generation: 0, bytes: 1e12 }
    const sync = { agentId: attacker.id, instanceId: row!.id, sequence: 10, observed: [], logs: [], waitMs: 0 }
    const chains = { after: null, upTo: null, chainIds: [chainId], generations: { [chainId]: 0 } }
    expect(
      await given.post(PATHS.sync, { ...sync, chainSizes: [forged], chains }, { token: tokens.attacker }),
    ).toMatchObject({ status: 200 })
    expect(await checkpoint()).toEqual({ store: STORE, bytes: 100 })
    const { rows } = await api.db.query('SELECT FROM chain_directories WHERE agent_id = $1', [attacker.id])
    expect(rows).toEqual([])

    // New chains of the project start.
    const next = await sessionIn(server, victim, 'RUNNING', { resourceGroup: 'victims' })
    expect(await sessionRow(api.db, next)).toMatchObject({ status: 'RUNNING' })
  })

  test('the database refuses it, too', async () => {
    const moved = `UPDATE agents SET resource_group = 'attackers' WHERE id = $1`
    await expect(given.api.db.query(moved, [victim.id])).rejects.toThrow(/agents_chain_store_resource_group_fkey/)
  })

  test('is refused to the second of two groups that come with it at once', async () => {
    const store = randomUUID()
    const answers = await Promise.all([
      registering(tokens.victim, 'victims', store),
      registering(tokens.attacker, 'attackers', store),
    ])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403])
    expect(await groupsOf(store)).toHaveLength(1)
  })
})

describe('a store of its own group', () => {
  test('stays with an agent that comes with a new token for the group', async () => {
    const { api } = given
    await api.db.query(
      `UPDATE api_tokens SET revoked_at = reprise_now() WHERE id =
      (SELECT token_id FROM agents WHERE id = $1)`,
      [victim.id],
    )
    const fresh = await api.factory.token({ role: 'AGENT', resourceGroups: ['victims'] })
    expect(await registering(fresh, 'victims', STORE, victim.id)).toMatchObject({ status: 200 })
    expect(await groupsOf(STORE)).toEqual(['victims'])
  })

  test.each(['victim', 'both', 'all'] as const)(
    'is shared with other agents of the group, with the token %s',
    async (who) => {
      expect(await registering(tokens[who], 'victims')).toMatchObject({ status: 200 })
      expect(await groupsOf(STORE)).toEqual(['victims'])
    },
  )

  test.each(['both', 'all'] as const)('is shared with another group by a token for both: %s', async (who) => {
    expect(await registering(tokens[who], 'attackers')).toMatchObject({ status: 200 })
    expect(await groupsOf(STORE)).toEqual(['attackers', 'victims'])
    // From then on the group has it.
    expect(await registering(tokens.attacker, 'attackers')).toMatchObject({ status: 200 })
  })
})

test('stores that no agent has, and no checkpoint is in, are forgotten', async () => {
  const { db } = given.api
  const [unused, abandoned] = [randomUUID(), randomUUID()]
  for (const store of [unused, abandoned])
    await db.query(`INSERT INTO chain_store_groups (store, resource_group) VALUES ($1, 'victims')`, [store])
  await db.query('UPDATE checkpoints SET store = $1 WHERE chain_id = $2', [abandoned, chainId])
  expect(await removeOldStores(db, 100)).toBe(1)
  expect([await groupsOf(unused), await groupsOf(abandoned), await groupsOf(STORE)]).toEqual([
    [],
    ['victims'],
    ['victims'],
  ])
})

test('a database from before stores had groups is migrated', async () => {
  const old = await emptyDatabase()
  const client = new pg.Client({ connectionString: old.connectionString })
  await client.connect()
  try {
    await migrateUpTo(client, '20261128043000_chain_store_groups')
    const [kept, left] = [randomUUID(), randomUUID()]
    await client.query(`INSERT INTO resource_groups (name) VALUES ('one'), ('two')`)
    await client.query(
      `INSERT INTO agents (id, name, resource_group, address, version, status, instance_id, chain_store)
       SELECT gen_random_uuid(), 'any', name, '', '1', 'ALIVE'::agent_status, gen_random_uuid(), $1::uuid
       FROM unnest('{one,one,two}'::text[]) AS name
       UNION ALL SELECT gen_random_uuid(), 'old', 'one', '', '0', 'ALIVE', gen_random_uuid(), NULL`,
      [kept],
    )
    await client.query(
      `INSERT INTO domains (id, name) SELECT gen_random_uuid(), 'default' WHERE NOT EXISTS (SELECT FROM domains);
       INSERT INTO projects (id, domain_id, name) SELECT gen_random_uuid(), id, 'old' FROM domains LIMIT 1;
       INSERT INTO sessions (id, project_id, resource_group, creation_id, name, session_type, command, environ,
         resource_slots, cluster_mode, cluster_size, priority, labels, chain_id, attempt, retry_policy, status, result,
         terminated_at, retry_decided)
       SELECT s.id, p.id, 'two', 'old', 'old', 'BATCH', '{true}', '[]', '{}', 'SINGLE_NODE', 1, 10, '{}', s.id, 1,
         '{"maxRetries": 0}', 'ERROR', 'FAILURE', now(), true
       FROM projects p, (SELECT gen_random_uuid() AS id) AS s WHERE p.name = 'old'`,
    )
    await client.query(
      `INSERT INTO checkpoints (chain_id, project_id, generation, attempt, store, files, bytes, published_at)
       SELECT chain_id, project_id, 0, 1, $1::uuid, 1, 1, now() FROM sessions`,
      [left],
    )
    await migrate(old.connectionString, pino({ enabled: false }))
    const { rows } = await client.query(
      'SELECT store, array_agg(resource_group ORDER BY resource_group) AS groups FROM chain_store_groups GROUP BY store',
    )
    expect(new Map(rows.map(({ store, groups }) => [store, groups]))).toEqual(
      new Map([
        [kept, ['one', 'two']],
        [left, ['two']],
      ]),
    )
  } finally {
    await client.end()
    await old.drop()
  }
})
