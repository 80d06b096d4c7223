/** The directories of chains on an agent: their bound, and their removal. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { removeOlder } from '../../support/sessions/remove-older.ts'
import { useAgentProgram } from './agent-fixture.ts'

const given = useAgentProgram()

const MEGABYTE = 1024 * 1024

/** Of a failed session of this script, which is to be retried. */
async function failureOf(script: string) {
  const retryPolicy = { maxRetries: 2, retryDelay: 0.05, jitter: 'NONE' } as const
  const { sessionId } = await given.create(['sh', '-c', script], { retryPolicy })
  const { reason, exitCode } = await given.reaches(sessionId, 'ERROR')
  const decided = async () =>
    (
      await given.db.query<{ phase: string; cause: string }>(
        'SELECT phase, cause FROM retry_decisions WHERE session_id = $1',
        [sessionId],
      )
    ).rows[0]
  return { reason, exitCode, ...(await eventually(decided)) }
}

test('a chain that stores more than it may is ended, says so with both numbers, and is not retried', async () => {
  await given.newAgent({ limits: { chainBytes: 8 * MEGABYTE } }).start()
  const fill = `cd $REPRISE_CHAIN_DIR; mkdir -p a/b; head -c ${12 * MEGABYTE} /dev/zero >a/b/c; ln a/b/c again; ln -s / root`
  const [running, failed, modest] = await Promise.all([
    // Out of sight of whoever is not root.
    failureOf(`${fill}; chmod 0 a; exec sleep 1000`),
    failureOf(`${fill}; exit 3`),
    failureOf(`cd $REPRISE_CHAIN_DIR; head -c ${4 * MEGABYTE} /dev/zero >a; for f in b c d; do ln a $f; done; exit 3`),
  ])
  const numbers = new RegExp(`chain's directory holds 12\\d{6} bytes, more than the ${8 * MEGABYTE} `)
  for (const { reason, phase, cause } of [running, failed]) {
    expect(reason).toMatch(numbers)
    expect({ phase, cause }).toEqual({ phase: 'NOT_ELIGIBLE', cause: 'QUOTA_EXCEEDED' })
  }
  expect(failed.exitCode).toBe(3)
  expect(modest).toMatchObject({ cause: 'KERNEL_NONZERO_EXIT', phase: expect.stringMatching(/SCHEDULED|DISPATCHED/) })
})

test('so is one that makes more files than it may, however small they are', async () => {
  await given.newAgent({ limits: { chainBytes: null, chainFiles: 100 } }).start()
  const make = (count: number) => `cd $REPRISE_CHAIN_DIR; mkdir a; for n in $(seq ${count}); do : >a/$n; done`
  const [running, failed, modest] = await Promise.all([
    failureOf(`${make(150)}; chmod 0 a; exec sleep 1000`),
    failureOf(`${make(150)}; exit 3`),
    failureOf(`${make(99)}; for n in $(seq 50); do ln a/1 $n; done; exit 3`),
  ])
  for (const { reason, phase, cause } of [running, failed]) {
    expect(reason).toContain("chain's directory holds 151 files, more than the 100 that its agent allows")
    expect({ phase, cause }).toEqual({ phase: 'NOT_ELIGIBLE', cause: 'QUOTA_EXCEEDED' })
  }
  expect(modest).toMatchObject({ cause: 'KERNEL_NONZERO_EXIT', phase: expect.stringMatching(/SCHEDULED|DISPATCHED/) })
})

/** Without what the agent keeps beside them. */
function directoriesIn(chains: string): string[] {
  return readdirSync(chains).filter((name) => !/^\.(?:attempt-|reprise-store$)/.test(name))
}

/** The agent reports its directories when it starts, and then hourly. */
async function reportedChains(): Promise<string[]> {
  const { syncs } = given.gateway
  const before = syncs.length
  const agent = given.newAgent()
  await agent.start()
  const report = await eventually(() => syncs.slice(before).find(({ chains }) => chains !== undefined))
  // The answer has been obeyed when the next sync is sent.
  await eventually(() => syncs.at(-1)!.chains === undefined)
  await agent.stop()
  return report.chains!.chainIds
}

/** Not before it is decided that it is not retried and its agent has said that its kernel is gone: both come after its end. */
async function removed(chainId: string): Promise<void> {
  await eventually(async () => {
    await given.db.query(`UPDATE chains SET newest_activity_at = now() - interval '91 days' WHERE chain_id = $1`, [
      chainId,
    ])
    await removeOlder(given.db, { chains: '90d' })
    const { rowCount } = await given.db.query('SELECT FROM chains WHERE chain_id = $1', [chainId])
    return rowCount === 0 || void (await reportedChains())
  })
}

test('what a chain has stored goes when the chain is removed, and nothing else does', async () => {
  const chains = join(given.agentDir, 'chains')
  const outside = join(given.agentDir, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'file'), 'x')
  const deep = `for (let i = 0; i < 100; i++) { fs.mkdirSync('x'.repeat(200)); process.chdir('x'.repeat(200)) } fs.writeFileSync('f', '')`
  const script = [
    'cd "$REPRISE_CHAIN_DIR"; echo 1 >checkpoint',
    `ln -s ${outside} link; ln ${outside}/file second; mkfifo pipe`,
    `"$NODE" -e "${deep}"`,
    'mkdir -p locked/inner; echo 1 >locked/inner/file; chmod 0 locked/inner locked',
    'chown -R 4321 . || :; exit 3',
  ]
  const agent = given.newAgent()
  await agent.start()
  const environ = [{ name: 'NODE', value: process.execPath }]
  const stored = await given.create(['sh', '-c', script.join('\n')], { environ })
  const kept = await given.create(['sh', '-c', 'echo 1 >$REPRISE_CHAIN_DIR/checkpoint; exit 3'])
  for (const { sessionId } of [stored, kept])
    expect(await given.reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 3 })
  await agent.stop()
  // Of another server, or of one whose database has been restored.
  const unknown = '01930000-0000-7000-8000-000000000001'
  mkdirSync(join(chains, unknown))
  const all = [stored.sessionId, kept.sessionId, unknown].toSorted()
  expect(await reportedChains()).toEqual(all)
  expect(directoriesIn(chains).toSorted()).toEqual(all)
  await removed(stored.sessionId)
  expect(await reportedChains()).toEqual(all)
  // With a later report, where its kernel was still there.
  await eventually(async () => !existsSync(join(chains, stored.sessionId)) || void (await reportedChains()))
  await eventually(() => directoriesIn(chains).length === 2)
  expect(directoriesIn(chains).toSorted()).toEqual([kept.sessionId, unknown].toSorted())
  expect(readdirSync(outside)).toEqual(['file'])
  // The server forgets it with the next report.
  await reportedChains()
  const { rows } = await given.db.query('SELECT chain_id FROM chain_directories')
  expect(rows).toEqual([{ chain_id: kept.sessionId }])
})
