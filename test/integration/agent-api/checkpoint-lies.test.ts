/** An agent that lies about checkpoints over HTTP is refused with a reason; nothing changes or is left. */
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { zstdCompressSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { ARCHIVE_END, archiveHeader, archivePadding } from '../../../src/archive/archive-format.ts'
import {
  AGENT_CHECKPOINT_FETCH_PATH,
  AGENT_CHECKPOINT_HEADER,
  AGENT_CHECKPOINT_OFFER_PATH,
  AGENT_CHECKPOINT_SEND_PATH,
} from '../../../src/domain/agent/protocol.ts'
import { RELAY_ENTRIES_MAX } from '../../../src/domain/limits.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { TEST_CHECKPOINT_DIR, TEST_RELAY, testBlobPath } from '../../support/servers/test-code.ts'
import { HOSTILE_ARCHIVES } from '../../support/hostile-archives.ts'
import { DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'
import { sessionIn } from '../../support/sessions/drive-session.ts'
import { type Told, useAgentApi } from './agent-api-fixture.ts'

const given = useAgentApi('once')

interface Owner {
  token: string
  chainId: string
  request: { agentId: string; kernelId: string; assignment: number; generation: number }
}

let own: Owner
let foreign: Owner

beforeAll(async () => {
  own = await owner('one')
  foreign = await owner('other')
  for (const each of [own, foreign]) await send(each)
})

/** An agent with a store of its own, where a session runs. */
async function owner(resourceGroup: string): Promise<Owner> {
  const { api, server } = given
  await api.db.query('INSERT INTO resource_groups (name) VALUES ($1)', [resourceGroup])
  const token = await api.factory.token({ role: 'AGENT' })
  const agents = [0, 1].map(() => given.played(token, { resourceGroup, says: { chainStore: randomUUID() } }))
  for (const each of agents) await each.register()
  const [agent] = agents
  await api.db.query(`UPDATE agents SET status = 'DRAINING', drained_at = now() WHERE id = $1`, [agents[1]!.id])
  const sessionId = await sessionIn(server, agent!, 'RUNNING', { resourceGroup })
  const [kernel] = await kernelRows(api.db, sessionId)
  const request = { agentId: agent!.id, kernelId: kernel!.id, assignment: 1, generation: 0 }
  return { token, chainId: sessionId, request }
}

const file = (name: string, content: Buffer) =>
  Buffer.concat([
    archiveHeader({ kind: 'file', name, bytes: content.length, executable: false, target: null }),
    content,
    archivePadding(content.length),
  ])

const ARCHIVE = Buffer.concat([file('state', Buffer.alloc(100_000, 'state')), ARCHIVE_END])
const OTHER = Buffer.concat([file('state', Buffer.alloc(100_000, 'other')), ARCHIVE_END])
const PACKED = zstdCompressSync(OTHER)

function copyOf(archive: Uint8Array) {
  const sha256 = createHash('sha256').update(archive).digest('hex')
  return { sha256, archiveBytes: archive.length, files: 1, bytes: archive.length }
}

interface Sent {
  token?: string
  request?: object
  copy?: object
  /** In place of all that is said. */
  header?: string
  body?: Uint8Array
}

function send(who: Owner, { token = who.token, request, copy, header, body }: Sent = {}): Promise<Told> {
  const said = header ?? JSON.stringify({ ...who.request, copy: copyOf(ARCHIVE), ...request, ...(copy && { copy }) })
  const headers = { [AGENT_CHECKPOINT_HEADER]: said, 'content-type': 'application/zstd' }
  return given.post(AGENT_CHECKPOINT_SEND_PATH, body ?? zstdCompressSync(ARCHIVE), { token, headers })
}

/** All rows and files that could be missing or left over. */
async function world() {
  const { rows } = await given.api.db.query('SELECT to_json(c) AS row FROM checkpoints c ORDER BY chain_id')
  const blobs = (await given.api.db.query('SELECT sha256, bytes FROM blobs ORDER BY sha256')).rows
  const found = readdirSync(TEST_CHECKPOINT_DIR, { recursive: true, withFileTypes: true })
  const files = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const content = readFileSync(testBlobPath(DEFAULT_PROJECT_ID, copyOf(ARCHIVE).sha256))
  return { rows, blobs, files: files.toSorted(), content }
}

async function expectRefused(lie: Promise<Told>, before: object, status: number, code: string, message: RegExp) {
  const told = await lie
  expect(told).toMatchObject({ status, body: { code } })
  expect(JSON.stringify([told.body.message, told.body.issues])).toMatch(message)
  expect(await world()).toEqual(before)
  // An honest agent continues on the same server.
  expect(await send(foreign)).toMatchObject({ status: 200, body: { recorded: true } })
  expect((await given.post(AGENT_CHECKPOINT_FETCH_PATH, own.request, { token: own.token })).status).toBe(200)
}

const bad = (change: (bytes: Buffer) => Buffer | void): Sent => {
  const packed = Buffer.from(PACKED)
  return { copy: copyOf(OTHER), body: change(packed) ?? packed }
}
const instead = (archive: Buffer): Sent => ({ copy: copyOf(archive), body: zstdCompressSync(archive) })
const entries = Buffer.concat([
  ...Array.from({ length: RELAY_ENTRIES_MAX + 1 }, (_, index) => file(`f${index}`, Buffer.alloc(0))),
  ARCHIVE_END,
])

describe('sent checkpoints', () => {
  test.each<[string, () => Sent, RegExp]>([
    [
      'has another SHA-256',
      () => ({ copy: { ...copyOf(OTHER), sha256: '0'.repeat(64) }, body: PACKED }),
      /its SHA-256 is/,
    ],
    ['is something else of the same length', () => ({ copy: copyOf(OTHER) }), /its SHA-256 is/],
    [
      'is longer than announced',
      () => ({ copy: { ...copyOf(OTHER), archiveBytes: OTHER.length - 1 }, body: PACKED }),
      /longer than announced/,
    ],
    [
      'unfolds to a thousand times of what was announced',
      () => ({ copy: copyOf(OTHER), body: zstdCompressSync(Buffer.alloc(100 * OTHER.length)) }),
      /longer than announced/,
    ],
    [
      'does not end where it was announced, compressed or not',
      () => ({ copy: copyOf(OTHER), body: zstdCompressSync(Buffer.concat([OTHER, Buffer.alloc(50_000_000)])) }),
      /longer than announced/,
    ],
    [
      'is cut off',
      () => bad((bytes) => bytes.subarray(0, bytes.length / 2)),
      /not compressed with zstd, or it is not complete/,
    ],
    ['is damaged in the middle', () => bad((bytes) => void bytes.fill(0xff, 20, 40)), /zstd|SHA-256|tar archive/],
    ['is not compressed', () => ({ copy: copyOf(OTHER), body: OTHER }), /not compressed with zstd/],
    ['is nothing', () => ({ copy: copyOf(OTHER), body: new Uint8Array(0) }), /zstd|SHA-256/],
    [
      'has something behind its end',
      () => bad((bytes) => Buffer.concat([bytes, Buffer.from('more')])),
      /follows its end|zstd/,
    ],
    ['is there twice', () => bad((bytes) => Buffer.concat([bytes, bytes])), /follows its end|longer than/],
    ['is no archive', () => instead(Buffer.alloc(2048, 'x')), /no tar archive/],
    ['is half an archive', () => instead(OTHER.subarray(0, 51_200)), /not complete/],
    ['has too many entries', () => instead(entries), /more than 20000 entries/],
    [
      'leaves the directory',
      () => instead(Buffer.concat([file('../state', Buffer.from('x')), ARCHIVE_END])),
      /leaves the directory/,
    ],
  ])('%s', async (_, lie, message) => {
    const before = await world()
    await expectRefused(send(own, lie()), before, 422, 'VALIDATION_FAILED', message)
  })

  test.each(HOSTILE_ARCHIVES)('$name', async ({ bytes, says }) => {
    const before = await world()
    const message = new RegExp(says.replaceAll('.', String.raw`\.`))
    await expectRefused(send(own, instead(bytes)), before, 422, 'VALIDATION_FAILED', message)
  })
})

describe('reported checkpoints', () => {
  test.each<[string, () => Sent, number, string, RegExp]>([
    [
      'a kernel of another agent',
      () => ({ request: { kernelId: foreign.request.kernelId } }),
      404,
      'KERNEL_NOT_FOUND',
      /not assigned/,
    ],
    [
      'a kernel that nobody knows',
      () => ({ request: { kernelId: randomUUID() } }),
      404,
      'KERNEL_NOT_FOUND',
      /not assigned/,
    ],
    ['an assignment to come', () => ({ request: { assignment: 2 } }), 404, 'KERNEL_NOT_FOUND', /not assigned/],
    ["another agent's name", () => ({ request: foreign.request }), 403, 'FORBIDDEN', /agent/],
    ['an agent that nobody knows', () => ({ request: { agentId: randomUUID() } }), 404, 'KERNEL_NOT_FOUND', /./],
    ['no token', () => ({ token: 'none' }), 401, 'UNAUTHENTICATED', /token/],
    [
      'more bytes than the servers take',
      () => ({ copy: { ...copyOf(OTHER), archiveBytes: TEST_RELAY.bytesMax + 1 } }),
      413,
      'REQUEST_TOO_LARGE',
      /REPRISE_CHECKPOINT_RELAY_MAX/,
    ],
    [
      'bytes below zero',
      () => ({ copy: { ...copyOf(OTHER), archiveBytes: -1 } }),
      422,
      'VALIDATION_FAILED',
      /archiveBytes/,
    ],
    ['half a byte', () => ({ copy: { ...copyOf(OTHER), bytes: 0.5 } }), 422, 'VALIDATION_FAILED', /bytes/],
    [
      'more files than the record can hold',
      () => ({ copy: { ...copyOf(OTHER), files: 2 ** 31 } }),
      422,
      'VALIDATION_FAILED',
      /files/,
    ],
    [
      'a path in place of the SHA-256',
      () => ({ copy: { ...copyOf(OTHER), sha256: '../../x' } }),
      422,
      'VALIDATION_FAILED',
      /sha256/,
    ],
    [
      'nothing',
      () => ({ copy: undefined, header: JSON.stringify(own.request) }),
      400,
      'MALFORMED_REQUEST',
      /does not describe the copy/,
    ],
    ['no JSON', () => ({ header: 'checkpoint' }), 400, 'MALFORMED_REQUEST', /JSON/],
    ['JSON of another kind', () => ({ header: '[]' }), 422, 'VALIDATION_FAILED', /./],
  ])('%s', async (_, lie, status, code, message) => {
    const before = await world()
    const told = send(own, { body: PACKED, ...lie() })
    await expectRefused(told, before, status, code, message)
  })
})

test('a generation that is not the present one takes the place of nothing', async () => {
  const before = await world()
  const told = await send(own, { request: { generation: 1 }, copy: copyOf(OTHER), body: PACKED })
  expect(told).toMatchObject({ status: 200, body: { recorded: false } })
  expect(await world()).toEqual(before)
})

test.each([AGENT_CHECKPOINT_OFFER_PATH, AGENT_CHECKPOINT_FETCH_PATH])(
  "%s reveals nothing about another agent's chain",
  async (path) => {
    const { token } = own
    const told = await given.post(path, { ...own.request, kernelId: foreign.request.kernelId }, { token })
    expect(told).toMatchObject({ status: 404, body: { code: 'KERNEL_NOT_FOUND' } })
    expect(await given.post(path, foreign.request, { token })).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN' },
    })
  },
)

test('an agent that goes away in the middle leaves nothing', async () => {
  const before = await world()
  const { hostname, port } = new URL(given.api.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const said = JSON.stringify({ ...own.request, copy: copyOf(OTHER) })
  socket.write(
    `POST ${AGENT_CHECKPOINT_SEND_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own.token}\r\n` +
      `${AGENT_CHECKPOINT_HEADER}: ${said}\r\nContent-Length: ${PACKED.length}\r\n\r\n`,
  )
  await promisify((done: () => void) => socket.write(PACKED.subarray(0, PACKED.length / 2), done))()
  socket.destroy()
  // A part may stay: it is continued by the next request for the same bytes, or swept.
  const { files, ...rest } = await world()
  expect({ ...rest, files: files.filter((name) => !name.endsWith('.part')) }).toEqual(before)
})
