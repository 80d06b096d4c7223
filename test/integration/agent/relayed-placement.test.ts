/** Where a retry goes that requires its checkpoint, and whose kernels are on several agents, if servers have a copy. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { waitForAll } from './wait-for-all.ts'
import { ADD, chainsOnMachines } from './chains-on-machines.ts'

const given = useAgentProgram()
const { machine, workGoesTo, begin, retryOn, attempt, record, found } = chainsOnMachines(given)

const REQUIRE = { checkpoint: 'REQUIRE', checkpointWait: 3600 } as const

async function placeOf(chainId: string, number: number): Promise<(string | null)[]> {
  const { rows } = await given.db.query<{ name: string | null }>(
    `SELECT a.name FROM sessions s JOIN kernels k ON k.session_id = s.id LEFT JOIN agents a ON a.id = k.agent_id
     WHERE s.chain_id = $1 AND s.attempt = $2 ORDER BY k.role, k.index`,
    [chainId, number],
  )
  return rows.map(({ name }) => name)
}

test('a retry that requires its checkpoint goes elsewhere with the copy of the servers, and waits where there is none', async () => {
  const [one, two] = [await machine('one'), await machine('two')]
  await workGoesTo(one)
  const relayed = await begin(ADD, { retryPolicy: REQUIRE })
  const local = await begin(`ln -s /outside "$REPRISE_CHAIN_DIR/out"; ${ADD}`, { retryPolicy: REQUIRE })
  for (const chainId of [relayed, local]) await attempt(chainId, 1)
  expect(await record(relayed)).toMatchObject({ attempt: 1, relay_attempt: 1 })
  expect(await record(local)).toMatchObject({ attempt: 1, relay_attempt: null })

  await one.agent.stop()
  for (const chainId of [local, relayed]) await retryOn(chainId, two)
  expect(await attempt(relayed, 2)).toBe('fetched1:1,')
  expect(await placeOf(relayed, 2)).toEqual([two.name])
  expect(await found(relayed, 2)).toEqual({ state: 'FETCHED', from_attempt: 1, note: null })
  const waits = 'its checkpoint of attempt 1 is on agent one, which is DRAINING'
  await eventually(async () => {
    const { rows } = await given.db.query(
      `SELECT FROM sessions WHERE chain_id = $1 AND attempt = 2 AND status = 'PENDING' AND pending_reason = $2`,
      [local, waits],
    )
    return rows.length === 1
  })
  expect(await placeOf(local, 2)).toEqual([null])
})

/** Each kernel says what it finds, and leaves its own name. */
const NAMES = `cd "$REPRISE_CHAIN_DIR"; echo "$REPRISE_CHECKPOINT$REPRISE_CHECKPOINT_ATTEMPT:$(cat name 2>/dev/null)"
  echo $REPRISE_KERNEL_NAME >name`

async function said(chainId: string, number: number): Promise<Record<string, string>> {
  await attempt(chainId, number)
  const { rows } = await given.db.query<{ id: string; name: string }>(
    `SELECT k.id, k.role || k.index AS name FROM sessions s JOIN kernels k ON k.session_id = s.id
     WHERE s.chain_id = $1 AND s.attempt = $2 ORDER BY k.role, k.index`,
    [chainId, number],
  )
  return Object.fromEntries(await Promise.all(rows.map(async ({ id, name }) => [name, (await given.text(id)).trim()])))
}

test('of a session on several agents each has its own; on record, and with the servers, is that of the first kernel', async () => {
  const all = [await machine('one'), await machine('two'), await machine('three')] as const
  const machineOf = (agent: string | null | undefined) => all.find(({ name }) => name === agent)!
  await workGoesTo(all[0], all[1])
  const meet = waitForAll(await temporaryDirectory('meet'), 2)
  const chainId = await begin(`${NAMES}; ${meet}; exit 3`, {
    clusterSize: 2,
    clusterMode: 'MULTI_NODE',
    resourceSlots: [{ slot: 'cpu', amount: '3' }],
  })
  expect(await said(chainId, 1)).toEqual({ main1: 'none:', sub1: 'none:' })
  const [first, second] = await placeOf(chainId, 1)
  const nameIn = (agent: string | null | undefined) =>
    readFileSync(join(machineOf(agent).chainsDir, chainId, 'name'), 'utf8').trim()
  expect([nameIn(first), nameIn(second)]).toEqual(['main1', 'sub1'])
  const { rows } = await given.db.query(
    'SELECT a.name, c.attempt, c.relay_attempt FROM checkpoints c JOIN agents a ON a.chain_store = c.store WHERE chain_id = $1',
    [chainId],
  )
  expect(rows).toEqual([{ name: first, attempt: 1, relay_attempt: 1 }])

  // The agent of the first kernel is not there any more: it goes on with the copy, wherever it is.
  await retryOn(chainId, machineOf(second), all[2])
  const [main, sub] = [await said(chainId, 2), await placeOf(chainId, 2)]
  expect(main['main1']).toBe('fetched1:main1')
  expect(main['sub1']).toBe(sub[1] === second ? 'here1:sub1' : 'fetched1:main1')
  expect(await record(chainId)).toMatchObject({ attempt: 2, relay_attempt: 2 })
})
