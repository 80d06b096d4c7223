/** Checkpoints that running programs publish: the agent sees the request, sends a snapshot, and answers. */
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ARCHIVE_END, archiveHeader } from '../../../src/archive/archive-format.ts'
import { PUBLISH_PAUSE_MS } from '../../../src/domain/limits.ts'
import { RepriseError } from '../../../src/domain/errors.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { chainsOnMachines, type Machine } from './chains-on-machines.ts'

const given = useAgentProgram()
const { machine, restart, workGoesTo, retryOn, attempt, record } = chainsOnMachines(given)

/** For a shell: asks, and waits for the answer. */
const PUBLISH = `cd "$REPRISE_CHAIN_DIR"
publish() { rm -f .published; : >.publish; while [ -e .publish ]; do sleep 0.05; done; cat .published; }
`

/** Two machines without a common store; the first has the work. */
async function machines(): Promise<[Machine, Machine]> {
  const all: [Machine, Machine] = [await machine('one'), await machine('two')]
  await workGoesTo(all[0])
  return all
}

async function begin(program: string) {
  return given.create(['sh', '-c', PUBLISH + program], { retryPolicy: { maxRetries: 5, retryDelay: 3600 } })
}

function answerIn({ chainsDir }: { chainsDir: string }, chainId: string) {
  const path = join(chainsDir, chainId, '.published')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>) : undefined
}

const RETRY = `echo "$REPRISE_CHECKPOINT$REPRISE_CHECKPOINT_ATTEMPT: $(ls -A | tr '\\n' ' ')$(cat step)"; exit 3`
const FIRST = `test $REPRISE_ATTEMPT = 1 || { ${RETRY}; }\n`

test('a retry elsewhere continues from the published checkpoint, if nothing else could be sent', async () => {
  const [one, two] = await machines()
  const go = join(await temporaryDirectory('go'), 'go')
  const gate = `until [ -e ${go} ]; do sleep 0.05; done`
  const { sessionId, kernelId } = await begin(`${FIRST}echo 5 >step; publish; ${gate}; echo 6 >step; exit 3`)
  await eventually(async () => (await record(sessionId))?.relay_attempt === 1)
  given.gateway.sendParts = async () => {
    throw new RepriseError('REQUEST_TOO_LARGE', 'no way')
  }
  writeFileSync(go, '')
  await attempt(sessionId, 1)
  const answer = JSON.parse(await given.text(kernelId)) as object
  expect(answer).toEqual({ attempt: 1, published: true, at: expect.any(String), files: 1, bytes: 2, reason: null })
  expect(await record(sessionId)).toMatchObject({ attempt: 1, relay_attempt: 1, of: ['one'], files: 1 })
  await retryOn(sessionId, two)
  expect(await attempt(sessionId, 2)).toBe('fetched1: step 5')
  expect(readFileSync(join(one.chainsDir, sessionId, 'step'), 'utf8')).toBe('6\n')
  for (const { chainsDir } of [one, two])
    expect(readdirSync(chainsDir).filter((name) => /^\.(new|snap)-/.test(name))).toEqual([])
})

test('the copy from the end of the attempt replaces the published one', async () => {
  const [, two] = await machines()
  const { sessionId } = await begin(`${FIRST}echo 5 >step; publish; echo 6 >step; : >.publish; exit 3`)
  await attempt(sessionId, 1)
  await retryOn(sessionId, two)
  expect(await attempt(sessionId, 2)).toBe('fetched1: step 6')
})

test('who publishes all the time has the last state sent, and not each', async () => {
  const [one] = await machines()
  let sent = 0
  const { sendParts } = given.gateway
  given.gateway.sendParts = (...args) => (sent++, sendParts(...args))
  const began = performance.now()
  const { sessionId } = await begin(
    `for step in $(seq 100); do echo $step >step.new; mv step.new step; : >.publish; sleep 0.08; done
    while [ -e .publish ]; do sleep 0.05; done; touch over; exec sleep 1000`,
  )
  await eventually(() => existsSync(join(one.chainsDir, sessionId, 'over')), { withinMs: 120_000 })
  const { relay_sha256: sha256 } = (await record(sessionId))!
  const header = archiveHeader({ kind: 'file', name: 'step', bytes: 4, executable: false, target: null })
  const last = Buffer.concat([header, Buffer.from('100\n'.padEnd(512, '\0')), ARCHIVE_END])
  expect(sha256).toBe(createHash('sha256').update(last).digest('hex'))
  const pauses = Math.floor((performance.now() - began) / PUBLISH_PAUSE_MS)
  expect(sent).toBeGreaterThan(1)
  expect(sent).toBeLessThanOrEqual(1 + pauses)
})

test('the next instance finishes a snapshot that its predecessor began', async () => {
  const [one] = await machines()
  const held = Promise.withResolvers<never>()
  const { sendParts } = given.gateway
  let began = 0
  given.gateway.sendParts = () => (began++, held.promise)
  const { sessionId } = await begin('echo 5 >step; publish; exec sleep 1000')
  await eventually(() => began === 1)
  await one.agent.stop()
  const directory = join(one.chainsDir, sessionId)
  expect(readdirSync(directory).toSorted()).toEqual(['.publish', 'step'])
  given.gateway.sendParts = sendParts
  await restart(one)
  await eventually(() => answerIn(one, sessionId))
  expect(answerIn(one, sessionId)).toMatchObject({ published: true, attempt: 1 })
  await eventually(() => !readdirSync(directory).includes('.publish'))
  expect(await record(sessionId)).toMatchObject({ attempt: 1, relay_attempt: 1 })
})

test('a server that is away is asked again', async () => {
  const [one] = await machines()
  const { offerCheckpoint } = given.gateway
  let failures = 0
  given.gateway.offerCheckpoint = async (...args) => {
    if (failures++ < 2) throw new Error('fetch failed')
    return offerCheckpoint(...args)
  }
  const { sessionId } = await begin('echo 5 >step; publish; exec sleep 1000')
  await eventually(() => answerIn(one, sessionId))
  expect(answerIn(one, sessionId)).toMatchObject({ published: true })
  expect(failures).toBeGreaterThan(2)
})

test('where no other agent needs it, nothing is sent, and the program reads why', async () => {
  const [one, two] = await machines()
  await two.agent.stop()
  await given.db.query(`UPDATE agents SET status = 'TERMINATED' WHERE name = 'two'`)
  const { sessionId } = await begin('echo 5 >step; publish; exec sleep 1000')
  const answer = await eventually(() => answerIn(one, sessionId))
  expect(answer).toMatchObject({ published: false, reason: 'all agents that could need it see the same store' })
  await eventually(() => !readdirSync(join(one.chainsDir, sessionId)).includes('.publish'))
})

const refusals: [string, string, string][] = [
  ['too large', 'truncate -s 64m large; publish', 'MiB (REPRISE_CHECKPOINT_RELAY_MAX)'],
  ['a link out of it', 'ln -s ../../secret out; publish', 'which is outside'],
  ['what is too deep', `mkdir -p ${'d/'.repeat(200)}; publish`, 'levels deep: the limit is 128'],
  ['an absolute link', 'ln -s /etc/passwd out; publish', 'which is absolute'],
  ['a directory as the wish', 'mkdir .publish; touch .publish/kept', '.publish is not a plain file'],
  ['a link as the wish', 'ln -s ../../secret .publish', '.publish is not a plain file'],
  ['a pipe as the wish', 'mkfifo .publish', '.publish is not a plain file'],
]

test.each(refusals)(
  '%s is refused, and the program reads why',
  async (_, program, reason) => {
    const [one] = await machines()
    const { sessionId } = await begin(`echo 5 >step; ${program}; exec sleep 1000`)
    const answer = await eventually(() => answerIn(one, sessionId))
    expect(answer).toMatchObject({ attempt: 1, published: false, files: null, bytes: null })
    expect(answer['reason']).toContain(reason)
    expect(await record(sessionId)).toBeUndefined()
    const isThere = readdirSync(join(one.chainsDir, sessionId)).includes('.publish')
    expect(isThere).toBe(reason.startsWith('.publish'))
  },
  60_000,
)

test('the answer replaces a link in its place, and does not go through it', async () => {
  const [one] = await machines()
  const secret = join(one.agentDir, 'secret')
  writeFileSync(secret, 'untouched')
  const { sessionId } = await begin('echo 5 >step; ln -s ../../secret .published; : >.publish; exec sleep 1000')
  const path = join(one.chainsDir, sessionId, '.published')
  await eventually(() => lstatSync(path, { throwIfNoEntry: false })?.isFile())
  expect(answerIn(one, sessionId)).toMatchObject({ published: true })
  expect(readFileSync(secret, 'utf8')).toBe('untouched')
})

test('neither the wish nor the answer is a checkpoint, or goes along with one', async () => {
  const all = await machines()
  const { sessionId } = await begin(`${FIRST}publish >/dev/null; : >.publish; exit 3`)
  await attempt(sessionId, 1)
  for (const [index, where] of all.entries()) {
    await retryOn(sessionId, where)
    expect(await attempt(sessionId, index + 2)).toBe('none:')
  }
})

test('only the agent of a running kernel publishes, and an earlier request does not replace a later one', async () => {
  await machines()
  const { sessionId, kernelId } = await begin('echo 5 >step; publish; while [ ! -e end ]; do sleep 0.05; done; exit 3')
  await eventually(async () => (await record(sessionId))?.relay_attempt === 1)
  const sql = 'SELECT agent_id AS "agentId", assignment FROM kernels WHERE id = $1'
  const { rows } = await given.db.query<{ agentId: string; assignment: number }>(sql, [kernelId])
  const kernel = { ...rows[0]!, kernelId, generation: 0, running: true }
  const bytes = Buffer.concat([
    archiveHeader({ kind: 'directory', name: 'a', bytes: 0, executable: true, target: null }),
    ARCHIVE_END,
  ])
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const copy = { sha256, archiveBytes: bytes.length, files: 0, bytes: 0 }
  const send = async (request: object) => {
    const chunks = (async function* () {
      yield zstdCompressSync(bytes)
    })()
    return given.gateway.sendCheckpoint({ ...kernel, copy, ...request }, chunks, new AbortController().signal)
  }
  const before = await record(sessionId)
  const { order } = await given.gateway.offerCheckpoint(kernel, new AbortController().signal)
  expect(await send({ order: 0 })).toEqual({ recorded: false })
  expect(await record(sessionId)).toEqual(before)
  expect(await send({ order })).toEqual({ recorded: true })
  expect(await record(sessionId)).toMatchObject({ relay_sha256: sha256 })
  await given.db.query('UPDATE kernels SET terminated_at = now() WHERE id = $1', [kernelId])
  await expect(send({ order: order! + 1 })).rejects.toMatchObject({ code: 'KERNEL_NOT_FOUND' })
  await given.db.query('UPDATE kernels SET terminated_at = NULL WHERE id = $1', [kernelId])
})
