/** Checkpoints between agents that have no store in common: through the server, whole or not at all. */
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { ARCHIVE_END, archiveHeader, archivePadding } from '../../../src/archive/archive-format.ts'
import { packCheckpoint } from '../../../src/agent/executors/chain/pack-checkpoint.ts'
import type { CheckpointCopy } from '../../../src/domain/agent/protocol.ts'
import { RepriseError } from '../../../src/domain/errors.ts'
import { migrateOldFiles } from '../../../src/services/blob/migrate-blobs.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { TEST_CHECKPOINT_DIR, TEST_RELAY, testBlobPath } from '../../support/servers/test-code.ts'
import { DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { ADD, chainsOnMachines } from './chains-on-machines.ts'

const given = useAgentProgram()

const { machine, workGoesTo, begin, retryOn, attempt, record, found } = chainsOnMachines(given)

async function kernelOf(chainId: string, number: number) {
  const { rows } = await given.db.query<{ kernelId: string; agentId: string; assignment: number }>(
    `SELECT k.id AS "kernelId", k.agent_id AS "agentId", k.assignment FROM sessions s JOIN kernels k ON k.session_id = s.id
      WHERE s.chain_id = $1 AND s.attempt = $2`,
    [chainId, number],
  )
  return rows[0]!
}

async function* chunksOf(bytes: Uint8Array) {
  yield bytes
}

/** The hashes of the blobs of the default project that these servers have for checkpoints. */
async function copies(): Promise<string[]> {
  const { rows } = await given.db.query<{ sha256: string }>('SELECT sha256 FROM blobs')
  const known = new Set(rows.map(({ sha256 }) => sha256))
  const stored: string[] = []
  for await (const { sha256 } of TEST_RELAY.blobs.list(DEFAULT_PROJECT_ID)) if (known.has(sha256)) stored.push(sha256)
  return stored
}

test('a retry elsewhere continues from the copy of the server, also on an agent with an old checkpoint', async () => {
  const [one, two] = [await machine('one'), await machine('two')]
  await workGoesTo(one)
  const chainId = await begin(ADD)
  expect(await attempt(chainId, 1)).toBe('none:')
  expect(await record(chainId)).toMatchObject({ attempt: 1, relay_attempt: 1 })

  await retryOn(chainId, two)
  expect(await attempt(chainId, 2)).toBe('fetched1:1,')
  expect(await found(chainId, 2)).toEqual({ state: 'FETCHED', from_attempt: 1, note: null })
  expect(await record(chainId)).toMatchObject({ attempt: 2, relay_attempt: 2 })

  await retryOn(chainId, one)
  expect(await attempt(chainId, 3)).toBe('fetched2:1,2,')
  expect(readFileSync(join(one.chainsDir, `.stale-${chainId}`, 'steps'), 'utf8')).toBe('1\n')
  // The copies of the first two attempts were removed as soon as they were replaced.
  expect(await copies()).toEqual([(await record(chainId))!.relay_sha256])
  const { rows: stale } = await given.db.query(`SELECT message FROM scheduling_history WHERE message LIKE 'stale%'`)
  expect(stale).toEqual([])
  // Nothing that was under way is left.
  for (const { chainsDir } of [one, two])
    expect(readdirSync(chainsDir).filter((name) => /^\.(new|snap)-/.test(name))).toEqual([])
})

test('an unchanged checkpoint is not sent again', async () => {
  await machine('two')
  const one = await machine('one')
  await workGoesTo(one)
  let sent = 0
  const { sendParts } = given.gateway
  given.gateway.sendParts = (...args) => (sent++, sendParts(...args))
  const chainId = await begin('cd "$REPRISE_CHAIN_DIR"; echo same >state; exit 3')
  await attempt(chainId, 1)
  await retryOn(chainId, one)
  await attempt(chainId, 2)
  expect(await record(chainId)).toMatchObject({ attempt: 2, relay_attempt: 2 })
  expect(sent).toBe(1)
})

test('nothing is sent where nobody needs it, or where nothing was left', async () => {
  const one = await machine('one')
  const wishes: (string | null)[] = []
  const { offerCheckpoint } = given.gateway
  given.gateway.offerCheckpoint = async (request, signal) => {
    const wish = await offerCheckpoint(request, signal)
    wishes.push(wish.reason)
    return wish
  }
  const alone = await begin(ADD)
  await attempt(alone, 1)
  expect(wishes).toEqual(['all agents that could need it see the same store'])
  expect(await record(alone)).toMatchObject({ attempt: 1, relay_attempt: null })
  await machine('two')
  await workGoesTo(one)
  const bare = await begin('exit 3')
  await attempt(bare, 1)
  expect(wishes).toHaveLength(1)
})

const faults: [string, (body: Uint8Array) => Uint8Array][] = [
  ['is another one', (body) => Buffer.alloc(body.length)],
  ['is damaged in one byte', (body) => body.map((byte, at) => (at === 700 ? byte ^ 1 : byte))],
]

test.each(faults)(
  'an upload that %s leaves nothing, and the end is recorded all the same',
  async (_, instead) => {
    const [one, two] = [await machine('one'), await machine('two')]
    await workGoesTo(one)
    const { sendParts } = given.gateway
    given.gateway.sendParts = (request, body, signal) => sendParts(request, instead(body), signal)
    const chainId = await begin(ADD)
    await attempt(chainId, 1)
    expect(await record(chainId)).toMatchObject({ attempt: 1, relay_attempt: null })
    await retryOn(chainId, two)
    expect(await attempt(chainId, 2)).toBe('missing1:')
    expect(await copies()).toEqual([])
  },
  60_000,
)

test('an upload that is broken off leaves no file open', async () => {
  const [one] = [await machine('one'), await machine('two')]
  await workGoesTo(one)
  let sends = 0
  given.gateway.sendParts = async () => {
    sends += 1
    throw new RepriseError('REQUEST_TOO_LARGE', 'too large')
  }
  const chainId = await begin('head -c 9000000 /dev/urandom >"$REPRISE_CHAIN_DIR/large"; exit 3')
  await attempt(chainId, 1)
  expect(sends).toBe(1)
  expect(openFiles(one.chainsDir)).toEqual([])
})

/** The open files of this process in this directory. */
function openFiles(directory: string): { fd: string; path: string }[] {
  const files = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [{ fd, path: readlinkSync(`/proc/self/fd/${fd}`) }]
    } catch {
      // The one that lists them.
      return []
    }
  })
  return files.filter(({ path }) => path.startsWith(directory))
}

test('a damaged copy is not used: the attempt starts without a checkpoint, and reports why', async () => {
  const [one, two] = [await machine('one'), await machine('two')]
  await workGoesTo(one)
  const chainId = await begin(ADD)
  await attempt(chainId, 1)
  const { fetchBlob } = given.gateway
  given.gateway.fetchBlob = async (request, signal) => {
    const answer = await fetchBlob(request, signal)
    const other = Buffer.concat([archiveHeader(file('steps', 2)), Buffer.from('9\n'), archivePadding(2), ARCHIVE_END])
    return { ...answer, total: other.length, bytes: other.length, chunks: chunksOf(other) }
  }
  await retryOn(chainId, two)
  expect(await attempt(chainId, 2)).toBe('missing1:')
  expect((await found(chainId, 2))!.note).toMatch(/; the servers have a copy, but it is damaged: its SHA-256 is/)
})

const damages: [string, (path: string, bytes: Buffer) => void, RegExp][] = [
  ['cut off', (path, bytes) => writeFileSync(path, bytes.subarray(0, bytes.length / 2)), /but it is refused/],
  ['emptied', (path) => writeFileSync(path, ''), /but it is refused/],
  ['overwritten', (path, bytes) => writeFileSync(path, bytes.fill(0x39, 512, 513)), /but it is damaged/],
  ['replaced by no archive', (path) => writeFileSync(path, Buffer.alloc(2560, 'x')), /but it is refused/],
  ['removed', (path) => rmSync(path), /but it is gone from this server's store/],
]

test.each(damages)(
  'a copy that is %s on the disk of the servers is not used: the attempt starts without a checkpoint, and reports why',
  async (_, damage, note) => {
    const [one, two] = [await machine('one'), await machine('two')]
    await workGoesTo(one)
    const chainId = await begin(ADD)
    await attempt(chainId, 1)
    const path = testBlobPath(DEFAULT_PROJECT_ID, String((await record(chainId))!.relay_sha256))
    damage(path, readFileSync(path))
    await retryOn(chainId, two)
    expect(await attempt(chainId, 2)).toBe('missing1:')
    expect((await found(chainId, 2))!.note).toMatch(note)
    expect(readdirSync(two.chainsDir).filter((name) => name.startsWith('.new-'))).toEqual([])
    // The rest is sent unchanged.
    await retryOn(chainId, one)
    expect(await attempt(chainId, 3)).toBe('fetched2:2,')
  },
  60_000,
)

test('an archive that leaves the directory is refused by the server, from older agents, and by the agent', async () => {
  const [one, two] = [await machine('one'), await machine('two')]
  await workGoesTo(one)
  const chainId = await begin(ADD)
  await attempt(chainId, 1)
  const kernel = await kernelOf(chainId, 1)
  const links = [
    { ...file('a', 0), kind: 'link', target: '../../etc/passwd' },
    { ...file('a', 0), kind: 'link', target: '/etc/passwd' },
    file('../a', 0),
    file('/a', 0),
  ] as const
  for (const entry of links) {
    const bytes = Buffer.concat([archiveHeader(entry), ARCHIVE_END])
    await expect(
      given.gateway.sendCheckpoint(
        { ...kernel, generation: 0, copy: copyOf(bytes) },
        chunksOf(zstdCompressSync(bytes)),
        never,
      ),
    ).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  }
  const hostile = Buffer.concat([archiveHeader(links[0]), ARCHIVE_END])
  given.gateway.fetchBlob = async () => {
    const { sha256, archiveBytes: total } = copyOf(hostile)
    return { sha256, total, attempt: 1, bytes: total, chunks: chunksOf(hostile) }
  }
  await retryOn(chainId, two)
  expect(await attempt(chainId, 2)).toBe('missing1:')
  expect(existsSync(join(two.chainsDir, chainId, 'a'))).toBe(false)
})

test('only an agent that has or had the kernel sends, and nothing old takes the place of something newer', async () => {
  const [one, two] = [await machine('one'), await machine('two')]
  await workGoesTo(one)
  const chainId = await begin(ADD)
  await attempt(chainId, 1)
  await retryOn(chainId, two)
  await attempt(chainId, 2)
  const before = await record(chainId)
  const [first, second] = [await kernelOf(chainId, 1), await kernelOf(chainId, 2)]
  const bytes = Buffer.concat([archiveHeader(file('steps', 0)), ARCHIVE_END])
  const send = (kernel: typeof first, generation = 0, copy = copyOf(bytes)) =>
    given.gateway.sendCheckpoint({ ...kernel, generation, copy }, chunksOf(zstdCompressSync(bytes)), never)
  expect(await send(first)).toEqual({ recorded: false })
  expect(await send(second, 1)).toEqual({ recorded: false })
  await expect(send({ ...second, agentId: first.agentId })).rejects.toMatchObject({ code: 'KERNEL_NOT_FOUND' })
  await expect(send({ ...second, assignment: 7 })).rejects.toMatchObject({ code: 'KERNEL_NOT_FOUND' })
  const large = { ...copyOf(bytes), archiveBytes: TEST_RELAY.bytesMax + 1 }
  await expect(send(second, 0, large)).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE' })
  expect(await record(chainId)).toEqual(before)
  const { rows } = await given.db.query(
    `SELECT message FROM scheduling_history WHERE entity_id = $1 AND phase = 'agent-sync'`,
    [first.kernelId],
  )
  expect(rows).toContainEqual({ message: 'stale checkpoint: a newer one, or another generation, is on record' })
  await expect(given.gateway.fetchCheckpoint(second, never)).rejects.toMatchObject({ code: 'KERNEL_NOT_FOUND' })
})

test('agents of the previous version send and fetch a whole copy, compressed', async () => {
  const [one, two] = [await machine('one'), await machine('two')]
  await workGoesTo(one)
  const chainId = await begin('exit 3')
  await attempt(chainId, 1)
  const content = Buffer.alloc(300_000, 'content')
  const head = archiveHeader(file('state', content.length))
  const bytes = Buffer.concat([head, content, archivePadding(content.length), ARCHIVE_END])
  const kernel = await kernelOf(chainId, 1)
  const sent = { ...kernel, generation: 0, copy: copyOf(bytes) }
  expect(await given.gateway.sendCheckpoint(sent, chunksOf(zstdCompressSync(bytes)), never)).toEqual({ recorded: true })
  // A copy that is there is recorded without being sent again.
  expect(await given.gateway.offerCheckpoint(sent, never)).toMatchObject({ wanted: false, recorded: true })
  await given.db.query('UPDATE kernels SET terminated_at = NULL WHERE id = $1', [kernel.kernelId])
  const answer = await given.gateway.fetchCheckpoint(kernel, never)
  await given.db.query('UPDATE kernels SET terminated_at = now() WHERE id = $1', [kernel.kernelId])
  const packed = await buffer(answer.chunks)
  expect(packed.length).toBe(answer.bytes)
  expect(bytes.equals(zstdDecompressSync(packed))).toBe(true)
  expect(answer).toMatchObject({ attempt: 1, archiveBytes: bytes.length, sha256: copyOf(bytes).sha256 })
  await retryOn(chainId, two)
  await attempt(chainId, 2)
  expect(await found(chainId, 2)).toMatchObject({ state: 'FETCHED', from_attempt: 1 })
})

test('a copy that a server of the previous version has stored is moved when it is needed, or by the sweep', async () => {
  const [one, two] = [await machine('one'), await machine('two')]
  await workGoesTo(one)
  const chainIds = [await begin(ADD), await begin(ADD)]
  const paths: string[] = []
  for (const chainId of chainIds) {
    await attempt(chainId, 1)
    const sha256 = String((await record(chainId))!.relay_sha256)
    const stored = testBlobPath(DEFAULT_PROJECT_ID, sha256)
    if (!existsSync(stored)) continue
    const archive = readFileSync(stored)
    await TEST_RELAY.blobs.remove({ projectId: DEFAULT_PROJECT_ID, sha256 })
    await given.db.query('DELETE FROM blobs WHERE sha256 = $1', [sha256])
    for (const each of chainIds) {
      const directory = join(TEST_CHECKPOINT_DIR, 'relay', each)
      mkdirSync(directory, { recursive: true })
      paths.push(join(directory, `${sha256}.tar.zst`))
      writeFileSync(paths.at(-1)!, zstdCompressSync(archive))
    }
  }
  await retryOn(chainIds[0]!, two)
  expect(await attempt(chainIds[0]!, 2)).toBe('fetched1:1,')
  expect(existsSync(paths[0]!)).toBe(false)
  const context = { db: given.db, blobs: TEST_RELAY.blobs, log: pino({ enabled: false }) }
  await migrateOldFiles(context, TEST_CHECKPOINT_DIR, never)
  await retryOn(chainIds[1]!, two)
  expect(await attempt(chainIds[1]!, 2)).toBe('fetched1:1,')
})

test('no link is followed where a checkpoint is packed', async () => {
  const directory = await temporaryDirectory('checkpoint')
  writeFileSync(join(directory, 'secret'), 'secret')
  mkdirSync(join(directory, 'chain'))
  symlinkSync('../secret', join(directory, 'chain', 'out'))
  await expect(packCheckpoint(join(directory, 'chain'), 1e6)).rejects.toThrow('which is outside')
  await expect(packCheckpoint(join(directory, 'chain'), 10)).rejects.toThrow('which is outside')
  symlinkSync('chain', join(directory, 'other'))
  await expect(packCheckpoint(join(directory, 'other'), 1e6)).rejects.toMatchObject({
    code: expect.stringMatching(/ELOOP|ENOTDIR/),
  })
})

const never = new AbortController().signal

function file(name: string, bytes: number) {
  return { kind: 'file' as const, name, bytes, executable: false, target: null }
}

function copyOf(bytes: Uint8Array): CheckpointCopy {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { sha256, archiveBytes: bytes.length, files: 1, bytes: 0 }
}
