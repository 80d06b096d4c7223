/** Files that an agent keeps or sends: directories of chains, uploaded code, and logs. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, test } from 'vitest'
import { RepriseError } from '../../../src/domain/errors.ts'
import {
  LOG_BYTES_PER_KERNEL_MAX,
  LOG_BYTES_PER_SYNC_MAX,
  LOG_HEAD_BYTES_PER_STREAM_MAX,
} from '../../../src/domain/limits.ts'
import { uploadCode } from '../../../src/services/code/upload-code.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { HOSTILE_ARCHIVES } from '../../support/hostile-archives.ts'
import { TEST_CODE } from '../../support/servers/test-code.ts'
import { removeOlder } from '../../support/sessions/remove-older.ts'
import { archiveOf, chunksOf } from '../code/code-archives.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { describeBytes } from '../../../src/domain/amounts.ts'

const given = useAgentProgram()

describe('directories of chains', () => {
  const MEGABYTE = 1024 * 1024

  /** Creates a session of this script that fails and is to be retried. */
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

  test('a chain that stores too much ends, the reason names both numbers, and it is not retried', async () => {
    await given.newAgent({ limits: { chainBytes: 8 * MEGABYTE } }).start()
    const fill = `cd $REPRISE_CHAIN_DIR; mkdir -p a/b; head -c ${12 * MEGABYTE} /dev/zero >a/b/c; ln a/b/c again; ln -s / root`
    const [running, failed, modest] = await Promise.all([
      // Out of sight of whoever is not root.
      failureOf(`${fill}; chmod 0 a; exec sleep 1000`),
      failureOf(`${fill}; exit 3`),
      failureOf(
        `cd $REPRISE_CHAIN_DIR; head -c ${4 * MEGABYTE} /dev/zero >a; for f in b c d; do ln a $f; done; exit 3`,
      ),
    ])
    const numbers = new RegExp(
      `chain's directory holds 1[12](\\.\\d+)? MiB, more than the ${describeBytes(8 * MEGABYTE)} `,
    )
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
      expect(reason).toContain("chain's directory holds 151 files, more than the 100 files that its agent allows")
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

  test('only the files of a chain are removed with the chain', async () => {
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
    // A chain of another server, or of one whose database was restored.
    const unknown = '01930000-0000-7000-8000-000000000001'
    mkdirSync(join(chains, unknown))
    const all = [stored.sessionId, kept.sessionId, unknown].toSorted()
    expect(await reportedChains()).toEqual(all)
    expect(directoriesIn(chains).toSorted()).toEqual(all)
    await removed(stored.sessionId)
    expect(await reportedChains()).toEqual(all)
    // With a later report, where its kernel was still there.
    await eventually(async () => !existsSync(join(chains, stored.sessionId)) || void (await reportedChains()))
    // An agent that stops before it has deleted a directory goes on with that at its next start.
    await eventually(async () => directoriesIn(chains).length === 2 || void (await reportedChains()))
    expect(directoriesIn(chains).toSorted()).toEqual([kept.sessionId, unknown].toSorted())
    expect(readdirSync(outside)).toEqual(['file'])
    // The server forgets it with the next report.
    await reportedChains()
    const { rows } = await given.db.query('SELECT chain_id FROM chain_directories')
    expect(rows).toEqual([{ chain_id: kept.sessionId }])
  })
})

describe('uploaded code', () => {
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
    expect(await given.text(kernelId)).toBe(
      'trained\n.\n./.reprise-output\n./lib\n./lib/a.txt\n./lib/link\n./train.sh\na',
    )
  })

  test('a server that cannot send it is asked again, and the attempt continues', async () => {
    const { fetchBlob } = given.gateway
    const offsets: number[] = []
    given.gateway.fetchBlob = async (request, signal) => {
      if (offsets.push(request.offset) <= 2) throw new Error('no connection')
      const answer = await fetchBlob(request, signal)
      // Half of it, then nothing.
      return offsets.length === 3 ? { ...answer, chunks: chunksOf(CODE.bytes.subarray(0, 1_100)) } : answer
    }
    await given.newAgent().start()
    const { sessionId } = await given.create(['sh', 'train.sh'], INPUT)
    await given.reaches(sessionId, 'TERMINATED')
    const [kernel] = await kernelRows(given.db, sessionId)
    // The half that has come is not fetched again.
    expect({ offsets, assignment: kernel!.assignment }).toEqual({ offsets: [0, 0, 0, 1_100], assignment: 1 })
  })

  const answerOf = (bytes: Uint8Array, total = bytes.length) => ({
    sha256: CODE.sha256,
    total,
    bytes: total,
    chunks: chunksOf(bytes),
  })
  const lies: [string, () => Promise<ReturnType<typeof answerOf>>, string, string][] = [
    [
      'that is another one',
      async () => {
        const { bytes } = archiveOf({ 'train.sh': 'echo stolen\n' })
        return answerOf(bytes)
      },
      'IMAGE_PULL_FAILURE',
      'is damaged: its SHA-256 is',
    ],
    [
      'with a link out of the directory',
      async () => {
        const link = { kind: 'link', name: 'l', bytes: 0, executable: false, target: '../../spec.json' } as const
        const { bytes } = archiveOf({ a: '' }, [link])
        return answerOf(bytes)
      },
      'VALIDATION_ERROR',
      'the link l leads to ../../spec.json, which is outside',
    ],
    // 20,000 files are made before those are over their bound, which the others are at once.
    ...HOSTILE_ARCHIVES.filter(({ limit }) => limit !== 'entries').map(
      ({ name, bytes, says }): (typeof lies)[number] => [
        `of ${name}`,
        async () => answerOf(bytes),
        'VALIDATION_ERROR',
        says,
      ],
    ),
    ['that is too large', async () => answerOf(CODE.bytes, 2 ** 40), 'VALIDATION_ERROR', 'REPRISE_UPLOAD_BYTES_MAX'],
    [
      'that is gone',
      () => Promise.reject(new RepriseError('CODE_NOT_FOUND', 'the uploaded code is gone')),
      'IMAGE_PULL_FAILURE',
      'is gone',
    ],
  ]

  test.each(lies)('an archive %s fails the session', async (_, fetchBlob, cause, reason) => {
    let fetched = 0
    given.gateway.fetchBlob = () => {
      fetched += 1
      return fetchBlob()
    }
    await given.newAgent().start()
    const { sessionId } = await given.create(['sh', 'train.sh'], INPUT)
    await given.reaches(sessionId, 'ERROR')
    // What every agent would refuse is fetched once.
    if (cause === 'VALIDATION_ERROR') expect(fetched).toBe(1)
    else expect(fetched).toBeGreaterThan(1)
    const decided = async () => {
      const row = await sessionRow(given.db, sessionId)
      return row.cause !== null && row
    }
    expect(await eventually(decided)).toMatchObject({ cause, reason: expect.stringContaining(reason) })
  })

  test('a session that ends while its code is fetched ends at once, and leaves nothing', async () => {
    let fetched: AbortSignal | undefined
    given.gateway.fetchBlob = async (_, signal) => {
      fetched = signal
      const chunks = async function* () {
        yield CODE.bytes.subarray(0, 700)
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      }
      return { ...answerOf(CODE.bytes), chunks: chunks() }
    }
    await given.newAgent().start()
    const { sessionId } = await given.create(['sh', 'train.sh'], INPUT)
    await given.reaches(sessionId, 'PULLING')
    await terminateSession(given.server.context, { sessionId })
    await eventually(async () => (await readdir(join(given.agentDir, 'kernels'))).every((name) => name.startsWith('.')))
    expect(fetched!.aborted).toBe(true)
  })

  test('an agent that stops while it fetches code starts the fetch again at its next start', async () => {
    const { fetchBlob } = given.gateway
    given.gateway.fetchBlob = async (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    const agent = given.newAgent()
    await agent.start()
    const { sessionId, kernelId } = await given.create(['sh', 'train.sh'], INPUT)
    await given.reaches(sessionId, 'PULLING')
    await agent.stop()
    given.gateway.fetchBlob = fetchBlob
    await given.newAgent().start()
    await given.reaches(sessionId, 'TERMINATED')
    expect(await given.text(kernelId)).toBe('trained\n')
  })
})

describe('logs', () => {
  const note = (bytes: number) => `\n[reprise: ${describeBytes(bytes)} of output are left out here]\n`

  it('all output is delivered before the end is reported', async () => {
    const { gateway, create, reaches, text, db } = given
    const end = gateway.hold(({ observed }) => observed.some(({ status }) => status === 'EXITED'))
    await given.newAgent().start()
    const { sessionId, kernelId } = await create(['sh', '-c', 'seq 1000000; echo done >&2'])
    await end.reached
    expect(await text(kernelId, 'STDOUT')).toHaveLength(6_888_896)
    expect(await text(kernelId, 'STDERR')).toBe('done\n')
    expect(await kernelRows(db, sessionId)).toMatchObject([{ gone: false }])
    end.open()
    await reaches(sessionId, 'TERMINATED')
    for (const { logs } of gateway.syncs) {
      expect(logs.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(LOG_BYTES_PER_SYNC_MAX)
    }
  })

  /** Numbered lines of 16 bytes. */
  const lines = (count: number) => `seq -f '%015.0f' 1 ${count}`
  const LINES_MAX = LOG_BYTES_PER_KERNEL_MAX / 16
  const HEAD_LINES = LOG_HEAD_BYTES_PER_STREAM_MAX / 16
  const line = (number: number) => `${String(number).padStart(15, '0')}\n`

  it.each([
    ['a flood', 3 * LINES_MAX],
    ['one line too many', LINES_MAX + 1],
  ])('of %s the beginning and the end are kept, with a note of the omitted bytes between them', async (_, count) => {
    const { create, reaches, text } = given
    await given.newAgent().start()
    const { sessionId, kernelId } = await create(['sh', '-c', `${lines(count)}; exit 3`])
    await reaches(sessionId, 'ERROR')
    const kept = await text(kernelId)
    const named = note((count - LINES_MAX) * 16)
    expect(kept.length).toBe(LOG_BYTES_PER_KERNEL_MAX + named.length)
    expect(kept.slice(0, 16)).toBe(line(1))
    expect(kept.slice((HEAD_LINES - 1) * 16, HEAD_LINES * 16 + named.length + 16)).toBe(
      `${line(HEAD_LINES)}${named}${line(HEAD_LINES + 1 + count - LINES_MAX)}`,
    )
    expect(kept.slice(-16)).toBe(line(count))
  })

  it('as much as is kept is kept whole', async () => {
    const { create, reaches, text } = given
    await given.newAgent().start()
    const { sessionId, kernelId } = await create(['sh', '-c', lines(LINES_MAX)])
    await reaches(sessionId, 'TERMINATED')
    const kept = await text(kernelId)
    expect(kept).toHaveLength(LOG_BYTES_PER_KERNEL_MAX)
    expect(kept.slice(-16)).toBe(line(LINES_MAX))
  })

  it('both streams count together', async () => {
    const { create, reaches, text } = given
    await given.newAgent().start()
    const { sessionId, kernelId } = await create([
      'sh',
      '-c',
      `${lines(LINES_MAX / 2)}; ${lines(LINES_MAX / 2 + 2)} >&2`,
    ])
    await reaches(sessionId, 'TERMINATED')
    expect(await text(kernelId, 'STDOUT')).toHaveLength(LOG_BYTES_PER_KERNEL_MAX / 2)
    const errors = await text(kernelId, 'STDERR')
    expect(errors).toHaveLength(LOG_BYTES_PER_KERNEL_MAX / 2 + note(32).length)
    expect(errors.slice(LOG_HEAD_BYTES_PER_STREAM_MAX)).toMatch(note(32))
    expect(errors.slice(-16)).toBe(line(LINES_MAX / 2 + 2))
  })

  it('an agent that returns while the end of a log is sent continues at that byte', async () => {
    const { gateway, create, reaches, text } = given
    const first = given.newAgent()
    await first.start()
    const count = 2 * LINES_MAX
    const { sessionId, kernelId } = await create(['sh', '-c', lines(count)])
    const behind = gateway.hold(({ logs }) =>
      logs.some(({ offset }) => offset > LOG_HEAD_BYTES_PER_STREAM_MAX + 2_000_000),
    )
    await behind.reached
    behind.open()
    await first.stop()
    await given.newAgent().start()
    await reaches(sessionId, 'TERMINATED')
    const kept = await text(kernelId)
    const named = note((count - LINES_MAX) * 16)
    expect(kept).toHaveLength(LOG_BYTES_PER_KERNEL_MAX + named.length)
    expect(kept.slice(LOG_HEAD_BYTES_PER_STREAM_MAX)).toMatch(named)
    expect(kept.slice(-16)).toBe(line(count))
  })

  it('too much for the connection: the pieces get smaller, and each byte is sent once', async () => {
    const { gateway, create, reaches, text } = given
    const takes = 200_000
    const sizeOf = (request: object) => JSON.stringify('logs' in request ? request.logs : []).length
    gateway.lose = (request) => (sizeOf(request) > takes ? 'request' : null)
    await given.newAgent().start()
    const { sessionId, kernelId } = await create(['sh', '-c', 'seq 300000'])
    await reaches(sessionId, 'TERMINATED')
    const all = Array.from({ length: 300_000 }, (_, n) => `${n + 1}\n`)
    expect((await text(kernelId, 'STDOUT')) === all.join('')).toBe(true)
    expect(gateway.lost).toBeGreaterThan(0)
    expect(Math.max(...gateway.syncs.map(sizeOf))).toBeGreaterThan(takes / 2)
  })
})
