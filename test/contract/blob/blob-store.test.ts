/** The promises of a blob store, kept by a directory and by S3. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BLOB_PART_BYTES } from '../../../src/domain/limits.ts'
import {
  BlobDamagedError,
  type BlobKey,
  BlobOffsetError,
  type BlobStore,
  BlobStoreAwayError,
  type ListedBlob,
} from '../../../src/services/blob/blob-store.ts'
import { createDirectoryBlobStore } from '../../../src/services/blob/directory-blob-store.ts'
import { createS3BlobStore } from '../../../src/services/blob/s3-blob-store.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type S3Server, startS3 } from './s3-server.ts'

const LARGE = randomBytes(2 * BLOB_PART_BYTES + 1000)
const SMALL = Buffer.from('one file')

let s3: S3Server
beforeAll(async () => {
  s3 = await startS3()
})
afterAll(async () => {
  await s3[Symbol.asyncDispose]()
})

const STORES = [
  [
    'a directory',
    async () => temporaryDirectory('blobs'),
    (directory: string) => createDirectoryBlobStore({ directory }),
  ],
  ['S3', async () => randomUUID(), (prefix: string) => createS3BlobStore({ ...s3.options, prefix })],
] as const

describe.each(STORES)('%s', (_, choosePlace, openAt) => {
  let place: string
  let projectId: string
  let store: BlobStore
  beforeEach(async () => {
    place = await choosePlace()
    projectId = randomUUID()
    store = openAt(place)
  })

  function keyOf(bytes: Uint8Array): BlobKey {
    return { projectId, sha256: createHash('sha256').update(bytes).digest('hex') }
  }

  /** Sends the parts of `bytes` that the store does not have. */
  async function send(to: BlobStore, bytes: Uint8Array, until = bytes.length, key = keyOf(bytes)): Promise<void> {
    let at = await to.received(key)
    while (at < until) at = await to.putPart(key, at, bytes.subarray(at, Math.min(at + BLOB_PART_BYTES, bytes.length)))
  }

  async function read(from: BlobStore, key: BlobKey, range?: { from: number; to?: number }): Promise<Buffer | null> {
    const opened = await from.open(key, range)
    if (opened === null) return null
    const bytes = await buffer(opened.chunks)
    expect(bytes.length).toBe(opened.bytes)
    return bytes
  }

  async function listOf(owner: string): Promise<ListedBlob[]> {
    const all: ListedBlob[] = []
    for await (const blob of store.list(owner)) all.push(blob)
    return all
  }

  async function listed(): Promise<{ sha256: string; bytes: number; complete: boolean }[]> {
    return (await listOf(projectId)).map(({ modifiedAt, ...blob }) => {
      expect(Math.abs(Date.now() - modifiedAt.getTime())).toBeLessThan(600_000)
      return blob
    })
  }

  test('a blob of several parts is visible once it is finished, and whole', async () => {
    const key = keyOf(LARGE)
    expect(await store.received(key)).toBe(0)
    expect(await store.putPart(key, 0, LARGE.subarray(0, BLOB_PART_BYTES))).toBe(BLOB_PART_BYTES)
    expect(await store.received(key)).toBe(BLOB_PART_BYTES)
    await send(store, LARGE)
    expect(await store.has(projectId, [key.sha256])).toEqual(new Set())
    expect(await store.open(key)).toBeNull()
    expect(await listed()).toMatchObject([{ sha256: key.sha256, complete: false }])
    await store.finish(key, LARGE.length)
    await store.finish(key, LARGE.length)
    expect(await store.has(projectId, ['0'.repeat(64), key.sha256])).toEqual(new Set([key.sha256]))
    expect(LARGE.equals((await read(store, key))!)).toBe(true)
    expect(await store.received(key)).toBe(0)
    expect(await listed()).toEqual([{ sha256: key.sha256, bytes: LARGE.length, complete: true }])
    expect(await store.projects()).toEqual([projectId])
  })

  test('another server continues after any part, and finishes what it has not seen', async () => {
    const key = keyOf(LARGE)
    await send(store, LARGE, 1)
    await send(openAt(place), LARGE, BLOB_PART_BYTES + 1)
    await send(openAt(place), LARGE)
    const last = openAt(place)
    await last.finish(key, LARGE.length)
    expect(LARGE.equals((await read(store, key))!)).toBe(true)
  })

  test('a part at another offset is refused with the right one, and nothing is stored twice', async () => {
    const key = keyOf(LARGE)
    const part = LARGE.subarray(0, BLOB_PART_BYTES)
    await store.putPart(key, 0, part)
    const refused = (offset: number) => expect(store.putPart(key, offset, part)).rejects
    await refused(0).toMatchObject({ received: BLOB_PART_BYTES })
    await refused(0).toBeInstanceOf(BlobOffsetError)
    await refused(2 * BLOB_PART_BYTES).toMatchObject({ received: BLOB_PART_BYTES })
    await expect(store.finish(key, LARGE.length)).rejects.toMatchObject({ received: BLOB_PART_BYTES })
    await send(store, LARGE)
    await store.finish(key, LARGE.length)
    expect(LARGE.equals((await read(store, key))!)).toBe(true)
  })

  test('of two senders of the same part, one is accepted', async () => {
    const part = LARGE.subarray(0, BLOB_PART_BYTES)
    const both = await Promise.allSettled([store.putPart(keyOf(LARGE), 0, part), store.putPart(keyOf(LARGE), 0, part)])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(await store.received(keyOf(LARGE))).toBe(BLOB_PART_BYTES)
  })

  test.each([
    ['by the server that received it', () => store],
    ['by another server', () => openAt(place)],
  ])('a damaged blob is discarded %s, and can be sent again', async (__, finisher) => {
    const key = keyOf(LARGE)
    const damaged = Buffer.from(LARGE)
    damaged[BLOB_PART_BYTES + 5]! ^= 1
    await send(store, damaged, damaged.length, key)
    await expect(finisher().finish(key, LARGE.length)).rejects.toBeInstanceOf(BlobDamagedError)
    expect(await store.has(projectId, [key.sha256])).toEqual(new Set())
    expect(await store.received(key)).toBe(0)
    await send(store, LARGE)
    await store.finish(key, LARGE.length)
    expect(LARGE.equals((await read(store, key))!)).toBe(true)
  })

  test('a blob that is longer than announced is damaged', async () => {
    const key = keyOf(LARGE)
    await send(store, LARGE)
    await expect(store.finish(key, LARGE.length - 1)).rejects.toBeInstanceOf(BlobDamagedError)
    expect(await store.received(key)).toBe(0)
  })

  test('small blobs and the empty one are stored at once, if the hash is right', async () => {
    const [key, empty] = [keyOf(SMALL), keyOf(Buffer.alloc(0))]
    await expect(store.put(key, Buffer.from('another'))).rejects.toBeInstanceOf(BlobDamagedError)
    expect(await store.has(projectId, [key.sha256])).toEqual(new Set())
    for (const again of [1, 2]) {
      await store.put(key, SMALL)
      await store.put(empty, Buffer.alloc(0))
      expect(await listed(), String(again)).toHaveLength(2)
    }
    expect(await read(store, key)).toEqual(SMALL)
    expect(await read(store, empty)).toEqual(Buffer.alloc(0))
  })

  test('ranges', async () => {
    await store.put(keyOf(SMALL), SMALL)
    const part = async (from: number, to?: number) =>
      String(await read(store, keyOf(SMALL), { from, ...(to !== undefined && { to }) }))
    expect(await part(4)).toBe('file')
    expect(await part(0, 3)).toBe('one')
    expect(await part(4, 100)).toBe('file')
    expect(await part(8)).toBe('')
    expect(await part(3, 3)).toBe('')
  })

  test('a project does not see the blobs of another', async () => {
    await store.put(keyOf(SMALL), SMALL)
    const other = { ...keyOf(SMALL), projectId: randomUUID() }
    expect(await store.has(other.projectId, [other.sha256])).toEqual(new Set())
    expect(await store.open(other)).toBeNull()
    expect(await listOf(other.projectId)).toEqual([])
  })

  test('a removed blob is gone, whole or not', async () => {
    await store.put(keyOf(SMALL), SMALL)
    await send(store, LARGE, 1)
    for (const bytes of [SMALL, LARGE]) {
      await store.remove(keyOf(bytes))
      await store.remove(keyOf(bytes))
      expect(await store.open(keyOf(bytes))).toBeNull()
      expect(await store.received(keyOf(bytes))).toBe(0)
    }
    expect(await listed()).toEqual([])
    await send(store, LARGE)
    await store.finish(keyOf(LARGE), LARGE.length)
    expect(LARGE.equals((await read(store, keyOf(LARGE)))!)).toBe(true)
  })

  test('unfinished blobs are no leftovers', async () => {
    await send(store, LARGE, 1)
    await store.removeLeftovers(0)
    expect(await store.received(keyOf(LARGE))).toBe(BLOB_PART_BYTES)
  })
})

test('a link reads from the bucket without the server, as an attachment', async () => {
  const store = createS3BlobStore(s3.options)
  const key = { projectId: randomUUID(), sha256: createHash('sha256').update(SMALL).digest('hex') }
  expect(await store.link(key, { fileName: 'a', withinS: 60 })).toBeNull()
  await store.put(key, SMALL)
  const url = (await store.link(key, { fileName: "it's (1) ü.txt", withinS: 60 }))!
  const answer = await fetch(url)
  expect(await answer.text()).toBe('one file')
  expect(answer.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''it%27s%20%281%29%20%C3%BC.txt")
  expect(answer.headers.get('content-type')).toBe('application/octet-stream')
  const { searchParams } = new URL(url)
  expect(searchParams.get('X-Amz-Expires')).toBe('60')
  expect(searchParams.get('X-Amz-Signature')).toMatch(/^[0-9a-f]{64}$/)
})

test('a service that does not answer is named, and loses nothing', async () => {
  await using other = await startS3()
  const store = createS3BlobStore(other.options)
  await other[Symbol.asyncDispose]()
  const key = { projectId: randomUUID(), sha256: createHash('sha256').update(SMALL).digest('hex') }
  await expect(store.put(key, SMALL)).rejects.toThrow(/ECONNREFUSED/)
  await expect(store.put(key, SMALL)).rejects.toBeInstanceOf(BlobStoreAwayError)
})
