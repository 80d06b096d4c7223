/** Transfers between agents, clients and servers: at each step something fails, and nothing is lost or sent for nothing. */
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { BlobExchange } from '../../../src/agent/executors/executor.ts'
import { fetchBlob } from '../../../src/agent/executors/kernels/fetch-blob.ts'
import { BlobRefusedError, sendBlob, sendBlobs } from '../../../src/agent/executors/kernels/send-blob.ts'
import { createHttpGateway } from '../../../src/agent/http-gateway.ts'
import { createClient } from '../../../src/client/node/index.ts'
import type { CodeArchive } from '../../../src/client/session.ts'
import type { Gateway } from '../../../src/domain/agent/protocol.ts'
import { BLOB_PART_BYTES } from '../../../src/domain/limits.ts'
import type { BlobStore } from '../../../src/services/blob/blob-store.ts'
import { createDirectoryBlobStore } from '../../../src/services/blob/directory-blob-store.ts'
import { createS3BlobStore } from '../../../src/services/blob/s3-blob-store.ts'
import { archiveOf } from '../../integration/code/code-archives.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import { type Fault, type FaultProxy, startFaultProxy } from '../../support/agents/fault-proxy.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { startGraphQLServer, type TestServer as ApiServer } from '../../support/servers/graphql-server.ts'
import { TEST_CODE, TEST_RELAY } from '../../support/servers/test-code.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { sessionIn } from '../../support/sessions/drive-session.ts'
import { DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'
import { type S3Server, startS3 } from './s3-server.ts'

const log = pino({ enabled: false })
const never = new AbortController().signal
const SIZE = 2 * BLOB_PART_BYTES + 1000

let s3: S3Server
let api: ApiServer
let proxy: FaultProxy
/** The store of the server; a restart on another machine replaces it by another one of the same place. */
let store: BlobStore
let open: () => BlobStore
beforeAll(async () => {
  s3 = await startS3()
  const stores = {
    get blobs() {
      return store
    },
  }
  const [code, relay] = [TEST_CODE, TEST_RELAY].map((each) =>
    Object.defineProperties({ ...each }, Object.getOwnPropertyDescriptors(stores)),
  )
  api = await startGraphQLServer({ code: code as typeof TEST_CODE, relay: relay as typeof TEST_RELAY })
})
beforeEach(async () => {
  proxy = await startFaultProxy(api.url)
})
afterEach(() => proxy.close())
afterAll(async () => {
  await api?.close()
  await s3?.[Symbol.asyncDispose]()
})

const STORES: [string, () => Promise<() => BlobStore>][] = [
  [
    'a directory',
    async () => {
      const directory = await temporaryDirectory('blobs')
      return () => createDirectoryBlobStore({ directory })
    },
  ],
  ['S3', async () => () => createS3BlobStore(s3.options)],
]

interface Sender {
  kernel: { id: string; assignment: number }
  exchange: BlobExchange
  gateway: Gateway
  /** Bytes of parts that were sent. */
  sent: number[]
}

/** An agent that has a running kernel, and speaks to the server through the proxy. */
async function sender(): Promise<Sender> {
  await api.database.fresh()
  const server = testServer(api.db, undefined, api.wake)
  const token = await api.factory.token({ role: 'AGENT' })
  const gateway = createHttpGateway({ urls: [proxy.url], token, log })
  const agent = fakeAgent(gateway)
  await agent.register()
  await server.run('watch-agents')
  const [kernel] = await kernelRows(api.db, await sessionIn(server, agent, 'RUNNING'))
  proxy.attempts()
  const sent: number[] = []
  const agentId = agent.id
  const exchange: BlobExchange = {
    have: (request, signal) => gateway.haveBlobs({ agentId, ...request }, signal),
    send(request, body, signal) {
      sent.push(body.length)
      return gateway.sendParts({ agentId, ...request }, body, signal)
    },
    fetch: ({ sha256, ...request }, signal) =>
      fetchBlob((asked, own) => gateway.fetchBlob({ agentId, ...request, ...asked }, own), sha256, { signal, log }),
  }
  return { kernel: { id: kernel!.id, assignment: 1 }, exchange, gateway, sent }
}

function blobOf(bytes: Uint8Array) {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  async function* read(offset: number) {
    // Chunks that end nowhere near the ends of parts.
    for (let at = offset; at < bytes.length; at += 700_001) yield bytes.subarray(at, at + 700_001)
  }
  return { sha256, bytes: bytes.length, open: read }
}

async function stored(sha256: string): Promise<Buffer | null> {
  const opened = await open().open({ projectId: DEFAULT_PROJECT_ID, sha256 })
  return opened && buffer(opened.chunks)
}

const OUTPUT = { purpose: 'OUTPUT', isWanted: () => true } as const

/** What fails, the faults of the requests (the first asks), and the parts that are sent again at most. */
const FAULTS: [string, Fault[], number][] = [
  ['nothing', [], 0],
  ['the question is lost', ['reset-request'], 0],
  ['the answer to the question is lost', ['reset-answer'], 0],
  ['a part is lost', ['pass', 'reset-request'], 1],
  ['the answer to a part is lost', ['pass', 'reset-answer'], 0],
  ['the answer to the last part is lost', ['pass', 'pass', 'pass', 'reset-answer'], 0],
  ['the answer to a part is cut off', ['pass', 'pass', 'cut-body'], 0],
  ['a proxy accepts no body of this size (413)', ['pass', { status: 413 }, 'pass', { status: 413 }], 2],
  ['a proxy is overloaded (429)', ['pass', { status: 429 }], 1],
  ['a proxy does not reach the server (502)', ['pass', 'pass', { status: 502 }, { status: 502 }], 1],
  ['a proxy has no server (503)', [{ status: 503 }, 'pass', { status: 503 }], 1],
]

describe.each(STORES)('to %s', (_, choose) => {
  let given: Sender
  beforeEach(async () => {
    open = await choose()
    store = open()
    given = await sender()
  })

  test.each(FAULTS)('%s: the blob arrives, and only what was lost is sent again', async (__, faults, again) => {
    const bytes = randomBytes(SIZE)
    const blob = blobOf(bytes)
    proxy.plan(...faults)
    const reasons: (string | null)[] = []
    const options = { ...OUTPUT, onWaiting: (reason: string | null) => void reasons.push(reason) }
    expect(await sendBlob(given.exchange, given.kernel, blob, options)).toBe(true)
    expect(bytes.equals((await stored(blob.sha256))!)).toBe(true)
    expect(given.sent.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(SIZE + again * BLOB_PART_BYTES)
    const isFaulty = faults.some((fault) => fault !== 'pass')
    expect(reasons.length > 0).toBe(isFaulty)
    if (isFaulty) expect(reasons.at(-1)).toBeNull()
    if (faults.some((fault) => typeof fault === 'object' && fault.status === 413))
      expect(reasons[0]).toContain('client_max_body_size')
    // The same content again: nothing is sent.
    given.sent.length = 0
    expect(await sendBlob(given.exchange, given.kernel, blob, OUTPUT)).toBe(true)
    expect(given.sent).toEqual([])
  })

  test('the server is replaced by one on another machine between two parts', async () => {
    const bytes = randomBytes(SIZE)
    const blob = blobOf(bytes)
    const onProgress = () => void (store = open())
    expect(await sendBlob(given.exchange, given.kernel, blob, { ...OUTPUT, onProgress })).toBe(true)
    expect(bytes.equals((await stored(blob.sha256))!)).toBe(true)
    expect(given.sent).toEqual([BLOB_PART_BYTES, BLOB_PART_BYTES, 1000])
  })

  test('the agent is restarted between two parts', async () => {
    const bytes = randomBytes(SIZE)
    const blob = blobOf(bytes)
    let parts = 0
    const first = { ...OUTPUT, isWanted: () => parts < 1, onProgress: () => void parts++ }
    expect(await sendBlob(given.exchange, given.kernel, blob, first)).toBe(false)
    expect(await sendBlob(given.exchange, given.kernel, blob, OUTPUT)).toBe(true)
    expect(bytes.equals((await stored(blob.sha256))!)).toBe(true)
    expect(given.sent).toEqual([BLOB_PART_BYTES, BLOB_PART_BYTES, 1000])
  })

  test('two agents send the same blob at once', async () => {
    const bytes = randomBytes(SIZE)
    const blob = blobOf(bytes)
    const both = [1, 2].map(() => sendBlob(given.exchange, given.kernel, blob, OUTPUT))
    expect(await Promise.all(both)).toEqual([true, true])
    expect(bytes.equals((await stored(blob.sha256))!)).toBe(true)
  })

  test('a file that changes is refused, and nothing of it is left', async () => {
    const blob = { ...blobOf(randomBytes(SIZE)), sha256: '0'.repeat(64) }
    await expect(sendBlob(given.exchange, given.kernel, blob, OUTPUT)).rejects.toBeInstanceOf(BlobRefusedError)
    const short = { ...blobOf(randomBytes(1000)), bytes: 2000 }
    await expect(sendBlob(given.exchange, given.kernel, short, OUTPUT)).rejects.toThrow('became shorter')
    expect(await open().received({ projectId: DEFAULT_PROJECT_ID, sha256: blob.sha256 })).toBe(0)
    expect(await stored(blob.sha256)).toBeNull()
  })

  test('many small blobs travel together, and one that is damaged does not hold up the others', async () => {
    const blobs = Array.from({ length: 100 }, (__, at) => blobOf(Buffer.from(`file ${at}`)))
    const damaged = { ...blobs[7]!, sha256: '1'.repeat(64) }
    const failed: string[] = []
    const options = { ...OUTPUT, failed: ({ sha256 }: { sha256: string }) => void failed.push(sha256) }
    proxy.plan('reset-answer', 'pass', 'reset-answer', { status: 503 })
    const all = [...blobs.slice(0, 7), damaged, ...blobs.slice(8), blobOf(Buffer.alloc(0))]
    expect(await sendBlobs(given.exchange, given.kernel, all, options)).toBe(true)
    expect(failed).toEqual([damaged.sha256])
    expect(await stored(blobs[99]!.sha256)).toEqual(Buffer.from('file 99'))
    expect(
      (
        await open().has(
          DEFAULT_PROJECT_ID,
          all.map(({ sha256 }) => sha256),
        )
      ).size,
    ).toBe(100)
    const { rows } = await api.db.query('SELECT count(*)::int AS count FROM blobs WHERE stored_at IS NOT NULL')
    expect(rows).toEqual([{ count: 100 }])
  })

  test('a download that breaks off goes on where it was', async () => {
    const bytes = randomBytes(SIZE)
    const blob = blobOf(bytes)
    await sendBlob(given.exchange, given.kernel, blob, OUTPUT)
    const request = { kernelId: given.kernel.id, assignment: 1, purpose: 'OUTPUT', sha256: blob.sha256 } as const
    proxy.plan('cut-body', { status: 502 }, 'cut-body')
    const { total, chunks } = await given.exchange.fetch(request, never)
    expect(total).toBe(SIZE)
    expect(bytes.equals(await buffer(chunks))).toBe(true)
    const missing = { ...request, sha256: '2'.repeat(64) }
    await expect(given.exchange.fetch(missing, never)).rejects.toMatchObject({ code: 'CODE_NOT_FOUND' })
  })

  test('a client uploads code in parts, through all of this', async () => {
    const { bytes, sha256 } = archiveOf({ 'data.bin': randomBytes(SIZE).toString('latin1') })
    const read = blobOf(bytes).open
    const archive: CodeArchive = { sha256, bytes: bytes.length, read: () => read(0) }
    const client = createClient({ url: proxy.url, token: await api.factory.token({ role: 'ADMIN' }) })
    try {
      // Asks for the code, asks for the state, and sends.
      proxy.plan('pass', 'pass', 'reset-answer', { status: 503 }, 'pass', { status: 502 })
      expect(await client.uploadCode(archive)).toMatchObject({ sha256, bytes: bytes.length, files: 1, sent: true })
      expect(bytes.equals((await stored(sha256))!)).toBe(true)
      expect(await client.uploadCode(archive)).toMatchObject({ sent: false })
    } finally {
      await client.close()
    }
  })
})

describe('refusals', () => {
  beforeAll(async () => {
    open = await STORES[0]![1]()
    store = open()
  })

  test('another agent, another kernel, code, and too large a checkpoint', async () => {
    const { exchange, kernel, gateway } = await sender()
    const blob = blobOf(Buffer.from('x'))
    const other = { id: crypto.randomUUID(), assignment: 1 }
    await expect(sendBlob(exchange, other, blob, OUTPUT)).rejects.toMatchObject({ code: 'KERNEL_NOT_FOUND' })
    const code = { ...OUTPUT, purpose: 'CODE' } as const
    await expect(sendBlob(exchange, kernel, blob, code)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const large = { ...blob, bytes: TEST_RELAY.bytesMax + 1 }
    large.open = async function* () {
      yield Buffer.alloc(BLOB_PART_BYTES)
    }
    const checkpoint = { ...OUTPUT, purpose: 'CHECKPOINT' } as const
    await expect(sendBlob(exchange, kernel, large, checkpoint)).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE' })
    const { rows } = await api.db.query<{ id: string }>('SELECT id FROM agents')
    const slices = [{ sha256: blob.sha256, bytes: 100, offset: 0, length: 1 }]
    const request = { agentId: rows[0]!.id, kernelId: kernel.id, assignment: 1, purpose: 'OUTPUT', slices } as const
    await expect(gateway.sendParts(request, Buffer.from('x'), never)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    })
  })

  const mounts: string[] = []
  afterEach(() => {
    for (const path of mounts.splice(0)) execFileSync('umount', ['--lazy', path])
  })

  test.skipIf(process.getuid!() !== 0)("the server's disk is full: the transfer waits, and goes on", async () => {
    const { exchange, kernel, sent } = await sender()
    const directory = await temporaryDirectory('disk')
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'reprise-test', directory])
    mounts.push(directory)
    open = () => createDirectoryBlobStore({ directory })
    store = open()
    writeFileSync(join(directory, 'filler'), Buffer.alloc(12 * 1024 ** 2))
    const bytes = randomBytes(SIZE)
    const blob = blobOf(bytes)
    const reasons: (string | null)[] = []
    const sending = sendBlob(exchange, kernel, blob, { ...OUTPUT, onWaiting: (reason) => void reasons.push(reason) })
    await eventually(() => reasons.length > 1)
    expect(reasons[0]).toBe('the disk of REPRISE_BLOB_DIR is full; try again once there is space')
    rmSync(join(directory, 'filler'))
    expect(await sending).toBe(true)
    expect(bytes.equals((await stored(blob.sha256))!)).toBe(true)
    // The first part was kept.
    expect(sent[0]).toBe(BLOB_PART_BYTES)
    expect(sent.slice(1).every((length, at, all) => length < BLOB_PART_BYTES || at < all.length - 1)).toBe(true)
  })
})
