/** Snapshots of a chain's directory while its program goes on, and the wishes that they answer. */
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
import { expect, test } from 'vitest'
import { openBelow, openDirectoryBelow } from '../../../src/agent/executors/chain/walk-below.ts'
import { snapshotCheckpoint } from '../../../src/agent/executors/chain/snapshot-checkpoint.ts'
import { markWish, readWish, removeWish } from '../../../src/agent/executors/chain/publish-files.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

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

/** So many that a look takes some time: the program goes on in the middle of it. */
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
