/** Uploaded code on its way to a kernel: servers that are away or lie, stops and restarts. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { RepriseError } from '../../../src/domain/errors.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { uploadCode } from '../../../src/services/code/upload-code.ts'
import { eventually } from '../../support/eventually.ts'
import { kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { HOSTILE_ARCHIVES } from '../../support/hostile-archives.ts'
import { TEST_CODE } from '../../support/servers/test-code.ts'
import { archiveOf, chunksOf } from '../code/code-archives.ts'
import { useAgentProgram } from './agent-fixture.ts'

const given = useAgentProgram()
const CODE = archiveOf({ 'train.sh': 'echo trained\n', 'lib/a.txt': 'a' }, [
  { kind: 'link', name: 'lib/link', bytes: 0, executable: false, target: '../train.sh' },
])
const INPUT = { codeSha256: CODE.sha256 }

beforeEach(async () => {
  const source = chunksOf(CODE.bytes)
  await uploadCode(given.server.context, TEST_CODE, { sha256: CODE.sha256, project: 'default', bytes: null, source })
})

test('its kernels find it in their working directory', async () => {
  await given.newAgent().start()
  const { sessionId, kernelId } = await given.create(['sh', '-c', 'sh lib/link; find . | sort; cat lib/a.txt'], INPUT)
  await given.reaches(sessionId, 'TERMINATED')
  expect(await given.text(kernelId)).toBe('trained\n.\n./lib\n./lib/a.txt\n./lib/link\n./train.sh\na')
})

test('a server that cannot give it is asked again, and the attempt goes on', async () => {
  const { fetchCode } = given.gateway
  let failures = 0
  given.gateway.fetchCode = async (request, signal) => {
    if (failures++ < 2) throw new Error('no connection')
    const answer = await fetchCode(request, signal)
    // Half of it, then nothing.
    return failures === 3 ? { ...answer, chunks: chunksOf(CODE.bytes.subarray(0, 1_100)) } : answer
  }
  await given.newAgent().start()
  const { sessionId } = await given.create(['sh', 'train.sh'], INPUT)
  await given.reaches(sessionId, 'TERMINATED')
  const [kernel] = await kernelRows(given.db, sessionId)
  expect({ failures, assignment: kernel!.assignment }).toEqual({ failures: 4, assignment: 1 })
})

const lies: [string, () => Promise<{ bytes: number; chunks: AsyncIterable<Uint8Array> }>, string, string][] = [
  [
    'that is another one',
    async () => {
      const { bytes } = archiveOf({ 'train.sh': 'echo stolen\n' })
      return { bytes: bytes.length, chunks: chunksOf(bytes) }
    },
    'IMAGE_PULL_FAILURE',
    'is damaged: its SHA-256 is',
  ],
  [
    'with a link out of the directory',
    async () => {
      const link = { kind: 'link', name: 'l', bytes: 0, executable: false, target: '../../spec.json' } as const
      const { bytes } = archiveOf({ a: '' }, [link])
      return { bytes: bytes.length, chunks: chunksOf(bytes) }
    },
    'VALIDATION_ERROR',
    'the link l leads to ../../spec.json, which is outside',
  ],
  // 20,000 files are made before those are over their bound, which the others are at once.
  ...HOSTILE_ARCHIVES.filter(({ limit }) => limit !== 'entries').map(({ name, bytes, says }): (typeof lies)[number] => [
    `of ${name}`,
    async () => ({ bytes: bytes.length, chunks: chunksOf(bytes) }),
    'VALIDATION_ERROR',
    says,
  ]),
  [
    'that is too large',
    async () => ({ bytes: 2 ** 40, chunks: chunksOf(CODE.bytes) }),
    'VALIDATION_ERROR',
    'REPRISE_UPLOAD_BYTES_MAX',
  ],
  [
    'that is gone',
    () => Promise.reject(new RepriseError('CODE_NOT_FOUND', 'the uploaded code is gone')),
    'IMAGE_PULL_FAILURE',
    'is gone',
  ],
]

test.each(lies)('an archive %s fails the session', async (_, fetchCode, cause, reason) => {
  given.gateway.fetchCode = fetchCode
  await given.newAgent().start()
  const { sessionId } = await given.create(['sh', 'train.sh'], INPUT)
  await given.reaches(sessionId, 'ERROR')
  const decided = async () => {
    const row = await sessionRow(given.db, sessionId)
    return row.cause !== null && row
  }
  expect(await eventually(decided)).toMatchObject({ cause, reason: expect.stringContaining(reason) })
})

test('a session that ends while its code is fetched ends at once, and leaves nothing', async () => {
  let fetched: AbortSignal | undefined
  given.gateway.fetchCode = async (_, signal) => {
    fetched = signal
    const chunks = async function* () {
      yield CODE.bytes.subarray(0, 700)
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    }
    return { bytes: CODE.bytes.length, chunks: chunks() }
  }
  await given.newAgent().start()
  const { sessionId } = await given.create(['sh', 'train.sh'], INPUT)
  await given.reaches(sessionId, 'PULLING')
  await terminateSession(given.server.context, { sessionId })
  await eventually(async () => (await readdir(join(given.agentDir, 'kernels'))).every((name) => name.startsWith('.')))
  expect(fetched!.aborted).toBe(true)
})

test('an agent that stops while it fetches code begins anew at its next start', async () => {
  const { fetchCode } = given.gateway
  given.gateway.fetchCode = async (_, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  const agent = given.newAgent()
  await agent.start()
  const { sessionId, kernelId } = await given.create(['sh', 'train.sh'], INPUT)
  await given.reaches(sessionId, 'PULLING')
  await agent.stop()
  given.gateway.fetchCode = fetchCode
  await given.newAgent().start()
  await given.reaches(sessionId, 'TERMINATED')
  expect(await given.text(kernelId)).toBe('trained\n')
})
