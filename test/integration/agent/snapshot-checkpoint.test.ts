/** Snapshots of a chain's directory while its program runs, and the agents on which a retry finds a relayed copy. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { openBelow, openDirectoryBelow } from '../../../src/agent/executors/chain/walk-below.ts'
import { markWish, readWish, removeWish } from '../../../src/agent/executors/chain/publish-files.ts'
import { snapshotCheckpoint } from '../../../src/agent/executors/chain/snapshot-checkpoint.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { ADD, chainsOnMachines } from './chains-on-machines.ts'
import { waitForAll } from './wait-for-all.ts'

describe('snapshots', () => {
  /** Each checkpoint is a directory of two files, to which a link leads; the one before goes. */
  const PROGRAM = `n=0; while :; do n=$((n+1))
  mkdir step$n; echo $n >step$n/a; echo $n >step$n/b; ln -s step$n new; mv -T new latest; rm -r step$((n-1)); done`

  async function places() {
    const root = await temporaryDirectory('snapshot')
    const directory = join(root, 'chain')
    mkdirSync(directory)
    const take = (written = new Set<string>()) =>
      snapshotCheckpoint(directory, join(root, 'files'), { bytesMax: 1e6, written })
    return { root, directory, take }
  }

  /** The number of files makes a snapshot slow enough: the program continues during it. */
  const BETWEEN = 1_000

  const goesOn: [string, (directory: string) => void, (path: string) => unknown][] = [
    [
      'replaces two files',
      (directory) => {
        for (const name of ['a', 'z']) {
          writeFileSync(join(directory, '.new'), 'two')
          renameSync(join(directory, '.new'), join(directory, name))
        }
      },
      (path) => ['a', 'z'].map((name) => readFileSync(join(path, name), 'utf8')),
    ],
    [
      'gives one the name of another',
      (directory) => renameSync(join(directory, 'a'), join(directory, 'z')),
      (path) => ['a', 'z'].map((name) => existsSync(join(path, name))),
    ],
    [
      'points a link elsewhere',
      (directory) => {
        symlinkSync('two', join(directory, '.new'))
        renameSync(join(directory, '.new'), join(directory, 'b'))
        writeFileSync(join(directory, '.new'), 'two')
        renameSync(join(directory, '.new'), join(directory, 'z'))
      },
      (path) => [readlinkSync(join(path, 'b')), readFileSync(join(path, 'z'), 'utf8')],
    ],
  ]

  test.each(goesOn)('a program that %s meanwhile: all is as it is then', async (_, goOn, stateIn) => {
    const { root, directory, take } = await places()
    for (const name of ['a', 'z']) writeFileSync(join(directory, name), 'one')
    symlinkSync('one', join(directory, 'b'))
    for (let n = 0; n < BETWEEN; n++) writeFileSync(join(directory, `m${n}`), '')
    const taken = take()
    const files = join(root, 'files')
    while (readlinkOf(join(files, 'b')) === null) await setImmediate()
    expect(existsSync(join(files, 'z'))).toBe(false)
    goOn(directory)
    const { path } = await taken
    expect(stateIn(path)).toEqual(stateIn(directory))
  })

  test('one that replaces files all the time has none of its states mixed with another', async () => {
    const { root, directory, take } = await places()
    const program = spawn('sh', ['-c', PROGRAM], { cwd: directory, stdio: 'ignore', detached: true })
    await once(program, 'spawn')
    const seen = new Set<string>()
    try {
      // From then on there is always one.
      await eventually(() => existsSync(join(directory, 'latest')))
      while (seen.size < 30) {
        // Under such haste not all of them stand still.
        const snapshot = await take().catch(() => null)
        if (snapshot === null) continue
        const step = readFileSync(join(snapshot.path, 'latest', 'a'), 'utf8')
        expect(readFileSync(join(snapshot.path, 'latest', 'b'), 'utf8')).toBe(step)
        expect(readlinkSync(join(root, 'files', 'latest'))).toBe(`step${step.trim()}`)
        seen.add(step)
      }
    } finally {
      process.kill(-program.pid!, 'SIGKILL')
      await once(program, 'exit')
    }
  })

  test('files are the same ones under other names, until they are written to', async () => {
    const { root, directory, take } = await places()
    mkdirSync(join(directory, 'deep'))
    writeFileSync(join(directory, 'deep/state'), 'one')
    writeFileSync(join(directory, 'log'), 'one')
    writeFileSync(join(directory, '.publish'), '')
    const written = new Set<string>()
    const snapshot = await take(written)
    const inode = (path: string) => statSync(join(root, path)).ino
    expect(inode('files/deep/state')).toBe(inode('chain/deep/state'))
    expect(existsSync(join(root, 'files/.publish'))).toBe(false)
    expect(await snapshot.freeze()).toBe(0)
    writeFileSync(join(directory, 'log'), 'one, two')
    expect(await snapshot.freeze()).toBe(1)
    writeFileSync(join(directory, 'log'), 'three')
    expect(await snapshot.freeze()).toBe(0)
    expect(readFileSync(join(root, 'files/log'), 'utf8')).toBe('one, two')
    expect([...written]).toEqual(['log'])
    // The next one has a copy from the start.
    await take(written)
    expect(inode('files/log')).not.toBe(inode('chain/log'))
    expect(readFileSync(join(root, 'files/log'), 'utf8')).toBe('three')
  })

  test.each(['way', 'way/state', 'deep/link'])('%s is a link, or has one in it, and is not opened', async (name) => {
    const { root } = await places()
    mkdirSync(join(root, 'deep'))
    writeFileSync(join(root, 'deep/state'), 'own')
    symlinkSync('deep', join(root, 'way'))
    symlinkSync('state', join(root, 'deep/link'))
    await using file = await openBelow(root, 'deep/state')
    expect(await file.readFile('utf8')).toBe('own')
    await expect(openBelow(root, name)).rejects.toThrow(/^(ELOOP|ENOTDIR)/)
    await expect(openDirectoryBelow(root, name)).rejects.toThrow(/^(ELOOP|ENOTDIR)/)
    await expect(openBelow(join(root, 'way'), 'state')).rejects.toThrow(/^(ELOOP|ENOTDIR)/)
  })

  test('no link is followed, wherever one comes in between', async () => {
    const { root, directory, take } = await places()
    mkdirSync(join(root, 'other'))
    writeFileSync(join(root, 'other', 'state'), 'secret')
    mkdirSync(join(directory, 'deep'))
    writeFileSync(join(directory, 'deep', 'state'), 'own')
    symlinkSync('../other', join(directory, 'way'))
    // A directory and a link that leads out of it change places all the time.
    const swap = 'while :; do mv -T deep aside; mv -T way deep; mv -T deep way; mv -T aside deep; done'
    const program = spawn('sh', ['-c', swap], { cwd: directory, stdio: 'ignore', detached: true })
    try {
      for (let tries = 0; tries < 40; tries++) {
        await take(new Set(tries % 2 ? ['deep/state'] : [])).catch(() => {})
        for (const name of ['deep', 'aside', 'way']) {
          const path = join(root, 'files', name)
          if (!existsSync(path) || readlinkOf(path) !== null || !existsSync(join(path, 'state'))) continue
          expect(readFileSync(join(path, 'state'), 'utf8')).toBe('own')
        }
      }
    } finally {
      process.kill(-program.pid!, 'SIGKILL')
      await once(program, 'exit')
    }
  })

  test('a wish is over with its answer, unless it was made or touched since', async () => {
    const { root, directory } = await places()
    const [wish, aside] = [join(directory, '.publish'), join(root, 'aside')]
    mkdirSync(aside)
    writeFileSync(wish, '')
    markWish(directory)
    removeWish(directory, aside)
    expect((await readWish(directory, true)).kind).toBe('none')
    for (const ask of [
      () => utimesSync(wish, new Date(), new Date()),
      () => (writeFileSync(join(directory, 'new'), ''), renameSync(join(directory, 'new'), wish)),
      () => (rmSync(wish), writeFileSync(wish, '')),
      () => writeFileSync(wish, ''),
    ]) {
      writeFileSync(wish, '')
      markWish(directory)
      ask()
      removeWish(directory, aside)
      expect((await readWish(directory, false)).kind).toBe('plain')
    }
  })

  function readlinkOf(path: string): string | null {
    try {
      return readlinkSync(path)
    } catch {
      return null
    }
  }
})

describe('placement of retries with a relayed checkpoint', () => {
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
    return Object.fromEntries(
      await Promise.all(rows.map(async ({ id, name }) => [name, (await given.text(id)).trim()])),
    )
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
})
