/** Uploaded code on the server: bounds, use, removal, and what older versions have stored. */
import { mkdir, readdir, readlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createDirectoryBlobStore } from '../../../src/services/blob/directory-blob-store.ts'
import { migrateOldFiles } from '../../../src/services/blob/migrate-blobs.ts'
import { haveBlobs, removeBlobLeftovers, removeUnusedBlobs } from '../../../src/services/blob/transfer-blobs.ts'
import { BLOB_KEPT_MS } from '../../../src/domain/limits.ts'
import { type CodeStore, openCode } from '../../../src/services/code/code-store.ts'
import { readUploadedCode, removeUnusedCode } from '../../../src/services/code/read-code.ts'
import { uploadCode } from '../../../src/services/code/upload-code.ts'
import { createSchedule } from '../../../src/services/schedule/change-schedule.ts'
import { createSession } from '../../../src/services/session/create-sessions.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { testServer, type TestServer } from '../../support/servers/test-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'
import { archiveOf, chunksOf } from './code-archives.ts'

const CODE = archiveOf({ 'train.py': 'print(1)\n', 'lib/a.py': 'x = 1\n' })
const OTHER = archiveOf({ 'train.py': 'print(2)\n' })

describe('the store', () => {
  let database: TestDatabase
  let server: TestServer
  let directory: string
  let store: CodeStore

  beforeAll(async () => {
    database = await testDatabase()
  })
  afterAll(() => database?.close())
  beforeEach(async () => {
    await database.fresh()
    server = testServer(database.db)
    directory = await temporaryDirectory('code')
    const blobs = createDirectoryBlobStore({ directory: join(directory, 'blobs') })
    store = { blobs, oldDirectory: directory, bytesMax: 4_000, projectBytesMax: 10_000 }
  })

  const ask = { project: 'default' }
  const upload = ({ bytes, sha256 }: { bytes: Buffer; sha256: string }) =>
    uploadCode(server.context, store, { ...ask, sha256, bytes: null, source: chunksOf(bytes) })
  const files = async () =>
    (await readdir(directory, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
  const age = async (days: number) => {
    for (const table of ['code_archives', 'blobs'])
      await database.db.query(`UPDATE ${table} SET last_used_at = now() - make_interval(days => $1)`, [days])
  }
  const remove = async () => {
    const removed = await removeUnusedCode(database.db, { keptDays: 30, limit: 10 })
    expect(await removeUnusedBlobs({ db: database.db, blobs: store.blobs })).toBe(removed)
    return removed
  }

  test('has bounds, and keeps nothing beyond them', async () => {
    const large = archiveOf({ a: 'x'.repeat(4_000) })
    await expect(upload(large)).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE' })
    for (const name of ['a', 'b', 'c', 'd']) await upload(archiveOf({ [name]: name }))
    await expect(upload(archiveOf({ e: 'e' }))).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect(await files()).toHaveLength(4)
    // Code that is there already needs no more space.
    expect(await upload(archiveOf({ a: 'a' }))).toMatchObject({ created: false })
  })

  test('of many uploads at once of the same, one is the first, and none exceeds the bound together', async () => {
    const same = await Promise.all(Array.from({ length: 5 }, () => upload(CODE)))
    expect(same.filter(({ created }) => created)).toHaveLength(1)
    const others = await Promise.allSettled(['b', 'c', 'd', 'e', 'f'].map((name) => upload(archiveOf({ [name]: '' }))))
    expect(others.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
    const { rows } = await database.db.query('SELECT sum(bytes)::int AS bytes, count(*)::int FROM code_archives')
    expect(rows[0]!['bytes']).toBeLessThanOrEqual(10_000)
    expect(await files()).toHaveLength(rows[0]!['count'] as number)
  })

  test('an upload that breaks off leaves nothing', async () => {
    const source = async function* () {
      yield CODE.bytes.subarray(0, 700)
      throw new Error('gone')
    }
    const input = { ...ask, sha256: CODE.sha256, bytes: null, source: source() }
    await expect(uploadCode(server.context, store, input)).rejects.toThrow('gone')
    expect(await files()).toEqual([])
  })

  test('its file is open only while somebody reads it, also if a read never starts or never ends', async () => {
    await upload(CODE)
    const key = { projectId: DEFAULT_PROJECT_ID, sha256: CODE.sha256 }
    const opened = async () => {
      const names = await readdir('/proc/self/fd')
      const links = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')))
      return links.filter((link) => link.startsWith(directory)).length
    }
    await store.blobs.open(key)
    expect(await opened()).toBe(0)
    for await (const _ of (await store.blobs.open(key))!.chunks) {
      expect(await opened()).toBe(1)
      break
    }
    expect(await opened()).toBe(0)
  })

  test('old code is removed unless a session or a schedule uses it', async () => {
    await upload(CODE)
    await upload(OTHER)
    const third = archiveOf({ third: '' })
    await upload(third)
    const spec = { name: 'a', command: ['true'] }
    await createSession(server.context, { ...spec, codeSha256: CODE.sha256 })
    await createSchedule(server.context, { name: 's', every: 3_600, session: { ...spec, codeSha256: OTHER.sha256 } })
    await age(29)
    expect(await remove()).toBe(0)
    await age(31)
    expect(await remove()).toBe(1)
    expect((await files()).toSorted()).toEqual([CODE.sha256, OTHER.sha256].toSorted())
    await expect(readUploadedCode(server.context, store, { ...ask, sha256: third.sha256 })).rejects.toMatchObject({
      code: 'CODE_NOT_FOUND',
    })
    // The database itself refuses it.
    await expect(database.db.query('DELETE FROM code_archives WHERE sha256 = $1', [CODE.sha256])).rejects.toThrow(
      'foreign key',
    )
    await database.db.query('DELETE FROM sessions')
    expect(await remove()).toBe(1)
    await expect(createSession(server.context, { ...spec, codeSha256: CODE.sha256 })).rejects.toMatchObject({
      code: 'CODE_NOT_FOUND',
    })
  })

  test('a session that is created notes the use', async () => {
    await upload(CODE)
    await age(31)
    await createSession(server.context, { name: 'a', command: ['true'], codeSha256: CODE.sha256 })
    await database.db.query('DELETE FROM sessions')
    expect(await remove()).toBe(0)
  })

  test('a file that is lost is not there, and an upload brings it back', async () => {
    await upload(CODE)
    await store.blobs.remove({ projectId: DEFAULT_PROJECT_ID, sha256: CODE.sha256 })
    const asked = () => readUploadedCode(server.context, store, { ...ask, sha256: CODE.sha256 })
    await expect(asked()).rejects.toMatchObject({ code: 'CODE_NOT_FOUND' })
    await upload(CODE)
    expect(await asked()).toMatchObject({ files: 2 })
  })

  test('only leftovers of crashes are removed, once they are old', async () => {
    await upload(CODE)
    const project = join(directory, 'blobs', DEFAULT_PROJECT_ID)
    const random = '0197c0de-0000-7000-8000-000000000000'
    const old = [OTHER.sha256, `${OTHER.sha256}.part`, `${OTHER.sha256}.${random}.part`, 'notes.txt']
    const young = `${'1'.repeat(64)}.part`
    await mkdir(join(project, 'xx'))
    await mkdir(join(project, OTHER.sha256.slice(0, 2)), { recursive: true })
    for (const name of [...old, young]) {
      const shard = name === 'notes.txt' ? 'xx' : name.slice(0, 2)
      await mkdir(join(project, shard), { recursive: true })
      await writeFile(join(project, shard, name), 'left')
      const before = new Date(Date.now() - 2 * BLOB_KEPT_MS)
      if (name !== young) await utimes(join(project, shard, name), before, before)
    }
    await mkdir(join(directory, 'blobs', 'not-a-project'))
    expect(await removeBlobLeftovers({ db: database.db, blobs: store.blobs }, BLOB_KEPT_MS)).toBeGreaterThan(1)
    expect((await files()).toSorted()).toEqual([CODE.sha256, young, 'notes.txt'].toSorted())
  })

  test('an upload in the middle of a sweep either keeps its bytes, or sends them again', async () => {
    await upload(CODE)
    const context = { db: database.db, blobs: store.blobs }
    await database.db.query('DELETE FROM code_archives')
    await age(2)
    const sweeping = Promise.withResolvers<void>()
    const going = Promise.withResolvers<void>()
    const blobs = {
      ...store.blobs,
      async remove(...given: Parameters<typeof store.blobs.remove>) {
        sweeping.resolve()
        await going.promise
        return store.blobs.remove(...given)
      },
    }
    const swept = removeUnusedBlobs({ db: database.db, blobs })
    await sweeping.promise
    // The record is locked: the sender waits, and learns that the bytes are gone.
    const asked = haveBlobs(context, DEFAULT_PROJECT_ID, [CODE.sha256])
    const uploaded = upload(CODE)
    going.resolve()
    expect(await swept).toBe(1)
    // The other upload may have ended before the answer.
    expect(await asked).toEqual([{ sha256: CODE.sha256, received: 0, complete: expect.any(Boolean) }])
    await uploaded
    expect(await readUploadedCode(server.context, store, { ...ask, sha256: CODE.sha256 })).toMatchObject({ files: 2 })
    expect(await removeUnusedBlobs(context)).toBe(0)
  })

  test('code that a server of the previous version has stored is used at once, and moved', async () => {
    await upload(CODE)
    await upload(OTHER)
    const old = join(directory, 'code', DEFAULT_PROJECT_ID)
    await mkdir(old, { recursive: true })
    for (const { bytes, sha256 } of [CODE, OTHER]) {
      await store.blobs.remove({ projectId: DEFAULT_PROJECT_ID, sha256 })
      await writeFile(join(old, `${sha256}.tar`), bytes)
    }
    const damaged = '2'.repeat(64)
    await writeFile(join(old, `${damaged}.tar`), 'damaged')
    await writeFile(join(old, `${damaged}.0197c0de-0000-7000-8000-000000000000.part`), 'half')
    await database.db.query('DELETE FROM blobs')
    await database.db.query(
      `INSERT INTO code_archives (project_id, sha256, bytes, files, created_by)
      SELECT project_id, $1, bytes, files, created_by FROM code_archives LIMIT 1`,
      [damaged],
    )
    expect(await readUploadedCode(server.context, store, { ...ask, sha256: CODE.sha256 })).toMatchObject({ files: 2 })
    expect(await openCode(database.db, store, { projectId: DEFAULT_PROJECT_ID, sha256: CODE.sha256 })).not.toBeNull()
    expect((await readdir(old)).includes(`${CODE.sha256}.tar`)).toBe(false)
    const context = { db: database.db, blobs: store.blobs, log: server.context.log }
    const never = new AbortController().signal
    expect(await migrateOldFiles(context, directory, never)).toBe(1)
    expect(await migrateOldFiles(context, directory, never)).toBe(0)
    for (const { bytes, sha256 } of [CODE, OTHER]) {
      const { chunks } = (await store.blobs.open({ projectId: DEFAULT_PROJECT_ID, sha256 }))!
      expect((await buffer(chunks)).equals(bytes)).toBe(true)
    }
    // Something without a record may still be written by an old server. It goes a day later.
    expect(await readdir(old)).toHaveLength(1)
    expect(await removeUnusedBlobs(context)).toBe(0)
  })
})
