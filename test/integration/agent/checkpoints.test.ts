/** Checkpoints of chains whose attempts run on two agents, with a store each or with one in common. */
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ChainStoreError } from '../../../src/agent/executors/chain/chain-store.ts'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import { setQuota } from '../../../src/services/quota.ts'
import { explainPendingSessions } from '../../../src/services/session/explain-pending.ts'
import { recordChainSizes } from '../../../src/store/sql/agent/chain-directories.sql.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { removeOlder } from '../../support/sessions/remove-older.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { ADD, chainsOnMachines, type Machine } from './chains-on-machines.ts'

const given = useAgentProgram()

const {
  machine: machineWithServer,
  restart,
  workGoesTo,
  begin,
  retry,
  retryOn,
  attempt,
  record,
  found,
} = chainsOnMachines(given)

/** Relays through the server are tested elsewhere. */
function machine(name: string, chainsDir?: string): Promise<Machine> {
  given.gateway.offerCheckpoint = async () => ({ wanted: false, reason: null, recorded: false, bytesMax: 0 })
  return machineWithServer(name, chainsDir)
}

async function resubmit(chainId: string, overrides: object): Promise<void> {
  const { rows } = await given.db.query<{ id: string }>(`SELECT tail_id AS id FROM chains WHERE chain_id = $1`, [
    chainId,
  ])
  const context = { ...given.server.context, prisma: given.prisma, sync: NO_SYNC_POINTS }
  await resubmitSessions(context, { sessionIds: [rows[0]!.id], overrides })
}

test('a retry elsewhere learns that the checkpoint is missing, and a retry back finds no old one', async () => {
  const [one, two] = [await machine('one'), await machine('two')]
  await workGoesTo(one)
  const chainId = await begin(ADD)
  expect(await attempt(chainId, 1)).toBe('none:')
  expect(await record(chainId)).toMatchObject({ attempt: 1, files: 1, bytes: 2, of: ['one'] })
  expect(await found(chainId, 1)).toBeUndefined()

  await retryOn(chainId, one)
  expect(await attempt(chainId, 2)).toBe('here1:1,')
  expect(await found(chainId, 2)).toEqual({ state: 'HERE', from_attempt: 1, note: null })

  await retryOn(chainId, two)
  expect(await attempt(chainId, 3)).toBe('missing2:')
  const note = 'starts without the checkpoint of attempt 2: agent one has it and is DRAINING'
  expect(await found(chainId, 3)).toEqual({ state: 'MISSING', from_attempt: 2, note })
  const { rows } = await given.db.query<{ data: object; explanation: string }>(
    `SELECT e.data, d.explanation FROM session_events e JOIN sessions s ON s.id = e.session_id
      JOIN retry_decisions d ON d.session_id = s.parent_session_id
      WHERE e.type = 'session.checkpoint_missing' AND e.chain_id = $1`,
    [chainId],
  )
  expect(rows).toEqual([{ data: { attempt: 2, reason: note }, explanation: expect.stringMatching(`; ${note}$`) }])
  expect((await given.server.metrics.checkpointsMissing.get()).values[0]!.value).toBe(1)
  expect(await record(chainId)).toMatchObject({ attempt: 3, of: ['two'] })

  await retryOn(chainId, one)
  expect(await attempt(chainId, 4)).toBe('missing3:')
  expect(readFileSync(join(one.chainsDir, `.stale-${chainId}`, 'steps'), 'utf8')).toBe('1\n2\n')
  expect(readFileSync(join(one.chainsDir, chainId, 'steps'), 'utf8')).toBe('4\n')
})

test('agents that share a directory, by any path, continue from the checkpoints of the others', async () => {
  const shared = await temporaryDirectory('store')
  const mounted = join(await temporaryDirectory('mount'), 'store')
  symlinkSync(shared, mounted)
  const [one, two] = [await machine('one', shared), await machine('two', mounted)]
  await workGoesTo(one)
  const chainId = await begin(ADD)
  expect(await attempt(chainId, 1)).toBe('none:')
  expect(await record(chainId)).toMatchObject({ attempt: 1, of: ['one', 'two'] })
  await retryOn(chainId, two)
  expect(await attempt(chainId, 2)).toBe('here1:1,')
  await retryOn(chainId, one)
  expect(await attempt(chainId, 3)).toBe('here2:1,2,')
})

test('a resubmission continues from the checkpoint, unless it asks for none', async () => {
  const one = await machine('one')
  const chainId = await begin(ADD)
  await attempt(chainId, 1)
  await resubmit(chainId, {})
  expect(await attempt(chainId, 2)).toBe('here1:1,')
  await resubmit(chainId, { freshCheckpoint: true })
  expect(await attempt(chainId, 3)).toBe('none:')
  expect(await found(chainId, 3)).toBeUndefined()
  expect(await record(chainId)).toMatchObject({ attempt: 3, files: 1, bytes: 2, of: ['one'] })
  await retryOn(chainId, one)
  expect(await attempt(chainId, 4)).toBe('here3:3,')
  expect(readFileSync(join(one.chainsDir, chainId, 'steps'), 'utf8')).toBe('1\n2\n')
  expect(readFileSync(join(one.chainsDir, `${chainId}.1`, 'steps'), 'utf8')).toBe('3\n4\n')
})

/** Makes the chain look as if it had ended so long ago. */
async function removeOldCheckpoints(chainId: string, days: number): Promise<void> {
  await given.db.query('UPDATE chains SET ended_at = now() - make_interval(days => $2) WHERE chain_id = $1', [
    chainId,
    days,
  ])
  await removeOlder(given.db, { succeededCheckpoints: '1d', failedCheckpoints: '30d' })
}

/** Agents report their directories when they start, and hourly: it starts again. What it is to drop is gone then. */
async function reports(where: Machine): Promise<void> {
  await where.agent.stop()
  const { syncs } = given.gateway
  const before = syncs.length
  await restart(where)
  await eventually(() => syncs.slice(before).some(({ chains }) => chains !== undefined))
  await eventually(() => syncs.at(-1)!.chains === undefined)
}

test('a checkpoint is removed long after its chain failed, and a later resubmission reports that', async () => {
  const one = await machine('one')
  const chainId = await begin(ADD, { retryPolicy: { maxRetries: 0 } })
  await attempt(chainId, 1)
  await reports(one)
  await removeOldCheckpoints(chainId, 29)
  await reports(one)
  expect(existsSync(join(one.chainsDir, chainId, 'steps'))).toBe(true)
  await removeOldCheckpoints(chainId, 31)
  await removeOldCheckpoints(chainId, 31)
  await reports(one)
  expect(existsSync(join(one.chainsDir, chainId))).toBe(false)

  await resubmit(chainId, {})
  expect(await attempt(chainId, 2)).toBe('missing1:')
  expect(await found(chainId, 2)).toMatchObject({
    state: 'MISSING',
    note: 'starts without the checkpoint of attempt 1: it has been removed, long after the chain had ended',
  })
  expect(await record(chainId)).toMatchObject({ attempt: 2, files: 1, bytes: 2, of: ['one'] })
  await reports(one)
  expect(readFileSync(join(one.chainsDir, `${chainId}.1`, 'steps'), 'utf8')).toBe('2\n')
  await resubmit(chainId, {})
  expect(await attempt(chainId, 3)).toBe('here2:2,')
  await reports(one)
  await removeOldCheckpoints(chainId, 31)
  await reports(one)
  expect(existsSync(join(one.chainsDir, `${chainId}.1`))).toBe(false)
})

test('an attempt that leaves nothing elsewhere does not take the place of the checkpoint', async () => {
  const [one, two] = [await machine('one'), await machine('two')]
  await workGoesTo(one)
  const chainId = await begin(`test "$REPRISE_CHECKPOINT" = missing && exit 4; ${ADD}`)
  await attempt(chainId, 1)
  await retryOn(chainId, two)
  await attempt(chainId, 2)
  expect(await record(chainId)).toMatchObject({ attempt: 1, of: ['one'] })
  await retryOn(chainId, one)
  expect(await attempt(chainId, 3)).toBe('here1:1,')
})

test('the size of a chain is measured while it runs, also if it is too large to be walked at the end', async () => {
  const one = await machine('one')
  const go = join(await temporaryDirectory('go'), 'go')
  const many = `cd "$REPRISE_CHAIN_DIR"; seq 10001 | xargs touch; head -c 100000 /dev/urandom >state; sync
    until test -e ${go}; do sleep 0.05; done; head -c 200000 /dev/urandom >state; sync; exit 3`
  const chainId = await begin(many)
  const bytes = async () => (await record(chainId))?.bytes ?? 0
  await eventually(() => existsSync(join(one.chainsDir, chainId, 'state')))
  expect(await record(chainId)).toBeUndefined()
  await reports(one)
  await eventually(async () => (await bytes()) >= 100_000, { what: 'a first size' })
  expect(await record(chainId)).toMatchObject({ attempt: null, files: null, of: [] })
  writeFileSync(go, '')
  await attempt(chainId, 1)
  expect(await record(chainId)).toMatchObject({ attempt: 1, files: null, of: ['one'] })
  expect(await bytes()).toBeGreaterThanOrEqual(100_000)
})

test('while checkpoints have all that a quota allows, no chain begins, and those that have begun go on', async () => {
  const one = await machine('one')
  const grow = `cd "$REPRISE_CHAIN_DIR"; head -c 60000 /dev/urandom >state; ${ADD}`
  const chainId = await begin(grow)
  await attempt(chainId, 1)
  await eventually(async () => (await record(chainId))?.bytes)
  const { context } = given.server
  const scopes = [
    { scope: 'PROJECT', name: 'default' },
    { scope: 'DOMAIN', name: 'default' },
  ] as const
  for (const scope of scopes) {
    await setQuota(context, { ...scope, maxCheckpointBytes: '50k' })
    const { sessionId } = await given.create(['true'])
    const reason = `the checkpoints of ${scope.scope.toLowerCase()} default have 58.6 KiB, and its quota allows 50 KiB: no new chain starts until some are dropped`
    await eventually(async () => (await explainPendingSessions(context, [sessionId])).get(sessionId)?.text === reason)
    const pending = async () =>
      (await given.db.query(`SELECT pending_reason AS reason FROM sessions WHERE id = $1`, [sessionId])).rows[0]
    await eventually(async () => (await pending())?.reason === reason, { what: reason })
    if (scope.scope === 'PROJECT') {
      await retryOn(chainId, one)
      expect(await attempt(chainId, 2)).toBe('here1:1,')
    }
    await setQuota(context, { ...scope, maxCheckpointBytes: '1m' })
    await given.db.query(`UPDATE sessions SET next_try_at = now() WHERE id = $1 AND status = 'PENDING'`, [sessionId])
    await given.reaches(sessionId, 'TERMINATED')
  }
})

test('an agent reports the sizes of the chains that it runs, and of no others', async () => {
  const [one, two] = [await machine('one'), await machine('two')]
  await workGoesTo(one)
  const chainId = await begin(ADD)
  await attempt(chainId, 1)
  const { rows } = await given.db.query<{ id: string }>(`SELECT id FROM agents WHERE name = $1`, [two.name])
  await recordChainSizes(given.db, rows[0]!.id, [{ chainId, generation: 0, bytes: 1e12 }])
  expect((await record(chainId))?.bytes).toBe(2)
  const ids = await given.db.query<{ id: string }>(`SELECT id FROM agents WHERE name = $1`, [one.name])
  const tells = (generation: number, bytes: number) =>
    recordChainSizes(given.db, ids.rows[0]!.id, [{ chainId, generation, bytes }])
  await tells(1, 1e12)
  expect((await record(chainId))?.bytes).toBe(2)
  await tells(0, 4096)
  expect((await record(chainId))?.bytes).toBe(4096)
})

test('most chains store nothing, and nothing is on record', async () => {
  const one = await machine('one')
  const chainId = await begin('mkdir $REPRISE_CHAIN_DIR/empty; rmdir $REPRISE_CHAIN_DIR/empty; exit 3')
  await attempt(chainId, 1)
  expect(await record(chainId)).toBeUndefined()
  await eventually(() => readdirSync(one.chainsDir).every((name) => name === '.reprise-store'))
})

test('a directory that is not the one it was is not taken for an empty store', async () => {
  const chainsDir = await temporaryDirectory('store')
  const { agent, agentDir } = await machine('one', chainsDir)
  await agent.stop()
  const again = () => given.newAgent({ name: 'one', elsewhere: { agentDir, address: '127.0.0.1' }, chainsDir }).start()
  const identity = join(chainsDir, '.reprise-store')
  const id = readFileSync(identity, 'utf8')
  rmSync(identity)
  await expect(again()).rejects.toThrow(ChainStoreError)
  expect(existsSync(identity)).toBe(false)
  writeFileSync(identity, '6f9619ff-8b86-4011-b42d-00c04fc964ff\n')
  await expect(again()).rejects.toThrow(/the store in it is 6f9619ff.*, but this agent's was .*: is .* mounted\?/)
  writeFileSync(identity, id)
  await again()
})

test('a retry prefers the agent that has its checkpoint, and one that requires it waits for that agent and then does without', async () => {
  const one = await machine('one')
  await workGoesTo(one)
  const preferred = await begin(ADD)
  const wait = { maxRetries: 5, retryDelay: 3600, checkpoint: 'REQUIRE', checkpointWait: 3600 } as const
  const required = await begin(ADD, { retryPolicy: wait })
  await Promise.all([attempt(preferred, 1), attempt(required, 1)])
  const two = await machine('two')
  // Emptier, and so the better place but for the checkpoint.
  await given.db.query(`UPDATE agents SET drained_at = NULL, status = 'ALIVE'`)
  await given.db.query(`UPDATE agent_slots SET used = 2 WHERE agent_id = (SELECT id FROM agents WHERE name = 'one')`)
  await retry(preferred)
  expect(await attempt(preferred, 2)).toBe('here1:1,')

  await given.db.query(`UPDATE agent_slots SET used = 0`)
  await retryOn(required, two)
  const reason = 'its checkpoint of attempt 1 is on agent one, which is DRAINING'
  const waits = async () => {
    const { rows } = await given.db.query<{ id: string; reason: string }>(
      `SELECT id, pending_reason AS reason FROM sessions WHERE chain_id = $1 AND attempt = 2 AND status = 'PENDING'`,
      [required],
    )
    return rows[0]?.reason === reason && rows[0].id
  }
  const sessionId = await eventually(waits, { what: reason })
  expect(await explainPendingSessions(given.server.context, [sessionId])).toEqual(
    new Map([[sessionId, { text: reason, impossible: false }]]),
  )
  await given.db.query(`UPDATE sessions SET retry_policy = retry_policy || '{"checkpointWait": 0.001}' WHERE id = $1`, [
    sessionId,
  ])
  expect(await attempt(required, 2)).toBe('missing1:')
})
