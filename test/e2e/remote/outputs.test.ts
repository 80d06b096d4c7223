import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { lstat, mkdir, readdir, readFile, readlink, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../../src/client/node/index.ts'
import { cleanEnvironment, commandLine, MAIN } from '../../support/programs/command-line.ts'
import { blocksOfTest } from '../../support/document-blocks.ts'
import { eventually } from '../../support/eventually.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { startS3 } from '../../contract/blob/s3-server.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { PATIENT_LEASE, startRemoteFleet, type RemoteFleet } from './remote-fleet.ts'

/** A server, two agents that share no directory, and somebody who wants the results on their own machine. */

let fleet: RemoteFleet
let laptop: string
let agents: Record<string, SpawnedProgram>
let token: string

beforeAll(async () => {
  fleet = await startRemoteFleet({ lease: PATIENT_LEASE })
  laptop = await temporaryDirectory('laptop')
  token = await fleet.token()
  agents = {}
  for (const name of ['one', 'two']) agents[name] = await fleet.startAgent({ name, token })
})

afterAll(async () => {
  await endKernelsOf(fleet)
  await fleet[Symbol.asyncDispose]()
})

function reprise(...args: string[]) {
  const environment = { REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken, XDG_CONFIG_HOME: laptop }
  return commandLine(environment, laptop)(...args)
}

/** Fails with what the command says. */
async function done(...args: string[]) {
  const ended = await reprise(...args)
  expect(ended.status, ended.stderr).toBe(0)
  return ended
}

const read = (...path: string[]) => readFile(join(laptop, ...path), 'utf8')

async function outputsOf(sessionId: string) {
  const { session } = await fleet.graphql(OUTPUTS, { id: sessionId })
  return session.retryChain.map(
    ({ outputs }: any) => outputs && { ...outputs, files: undefined, paths: pathsOf(outputs) },
  )
}

function pathsOf({ files }: any): string[] {
  return files.edges.map(({ node }: any) => node.path)
}

const OUTPUTS = `query ($id: UUID!) { session(id: $id) { retryChain { outputs { state id bytes fileCount reasons completedAt
  files(first: 100) { edges { node { path bytes sha256 executable linkTarget modifiedAt text } } } } } } }`

/** The first attempt leaves half a result and fails; the second one leaves all of it. */
const TWICE = `mkdir -p results/deep
echo "half of attempt $REPRISE_ATTEMPT" > results/table.csv
echo log > ignored.log
test "$REPRISE_ATTEMPT" = 2 || exit 3
echo "attempt $REPRISE_ATTEMPT" > results/table.csv
printf '#!/bin/sh\\n' > results/deep/plot.sh; chmod +x results/deep/plot.sh
ln -s ../table.csv results/deep/link
echo junk > results/junk.tmp
echo '{"loss": 0.1}' > "$REPRISE_OUTPUT_DIR/metrics.json"
: > results/empty`

const RETRY = ['--retries', '1', '--retry-delay', '0.2', '--rule', 'retry avoid=agent']

test('the results of a retried chain come back to the directory of the person who ran it', async () => {
  const wanted = ['--output', 'results/**', '--output', '!*.tmp', '--download', 'out']
  const run = await reprise('run', '-n', 'train', ...RETRY, ...wanted, '--', 'sh', '-c', TWICE)
  expect(run).toMatchObject({ status: 0, stdout: expect.stringMatching(/^5 files, .* of attempt 2 in out$/m) })
  expect((await readdir(join(laptop, 'out'), { recursive: true })).toSorted()).toEqual([
    'metrics.json',
    'results',
    'results/deep',
    'results/deep/link',
    'results/deep/plot.sh',
    'results/empty',
    'results/table.csv',
  ])
  expect(await read('out/results/table.csv')).toBe('attempt 2\n')
  expect(await read('out/metrics.json')).toBe('{"loss": 0.1}\n')
  expect(await readlink(join(laptop, 'out/results/deep/link'))).toBe('../table.csv')
  expect((await lstat(join(laptop, 'out/results/deep/plot.sh'))).mode & 0o777).toBe(0o755)

  const id = /session (\S+)/.exec(run.stderr)![1]!
  const chain = await fleet.chain(id)
  expect(new Set(chain.map(({ kernels }) => kernels[0]!.agent!.name))).toHaveLength(2)
  const [first, second] = await outputsOf(id)
  expect(first).toMatchObject({ state: 'COMPLETE', paths: ['results/table.csv'], fileCount: 1 })
  expect(second).toMatchObject({ state: 'COMPLETE', fileCount: 5, bytes: expect.any(Number) })
  const events = await fleet.sql(`SELECT data FROM session_events WHERE type = 'session.outputs_complete'`)
  expect(events.map(({ data }) => data.files)).toEqual([1, 5])

  const list = await reprise('outputs', 'train')
  expect(list).toMatchObject({ status: 0, stdout: expect.stringMatching(/results\/deep\/link → \.\.\/table\.csv/) })
  const half = await reprise('download', 'train', '--attempt', '1', '--to', 'half')
  expect(half).toMatchObject({ status: 0 })
  expect(await read('half/results/table.csv')).toBe('half of attempt 1\n')
  await done('download', 'train', '--all-attempts', '--to', 'all')
  expect((await readdir(join(laptop, 'all'))).toSorted()).toEqual(['attempt-1', 'attempt-2'])
  expect(await reprise('info', id)).toMatchObject({ stdout: expect.stringContaining('reprise download') })
})

describe('a download', () => {
  test('continues where it was interrupted, skips what is there, and replaces other files only by request', async () => {
    const made = 'mkdir r; seq 1 300000 > r/large; echo small > r/small'
    expect(await reprise('run', '-n', 'again', '--output', 'r/', '--', 'sh', '-c', made)).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/2 files, .*: reprise download again/),
    })
    await done('download', 'again', '--to', 'again')
    const whole = await readFile(join(laptop, 'again/r/large'))
    await mkdir(join(laptop, 'part/r'), { recursive: true })
    await writeFile(join(laptop, 'part/r/large.reprise-part'), whole.subarray(0, 1_000_000))
    await done('download', 'again', '--to', 'part')
    expect((await readFile(join(laptop, 'part/r/large'))).equals(whole)).toBe(true)
    expect((await readdir(join(laptop, 'part/r'))).toSorted()).toEqual(['large', 'small'])
    const once = await reprise('download', 'again', '--to', 'part')
    expect(once).toMatchObject({ status: 0, stdout: expect.stringContaining('2 of them were there already') })

    await truncate(join(laptop, 'part/r/large'), 10)
    const refused = await reprise('download', 'again', '--to', 'part')
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('r/large would be replaced') })
    await done('download', 'again', '--to', 'part', '--force')
    expect((await readFile(join(laptop, 'part/r/large'))).equals(whole)).toBe(true)
  })

  test('writes through no link', async () => {
    const outside = await temporaryDirectory('outside')
    await mkdir(join(laptop, 'linked'))
    await symlink(outside, join(laptop, 'linked/r'))
    const refused = await reprise('download', 'again', '--to', 'linked', '--force')
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('is in the way') })
    expect(await readdir(outside)).toEqual([])
  })

  test('says that files are of a failed attempt, and refuses while the chain goes on', async () => {
    const failed = await reprise('run', '-n', 'failed', '--output', 'core', '--', 'sh', '-c', 'echo x > core; exit 4')
    expect(failed.status).toBe(4)
    const got = await reprise('download', 'failed', '--to', 'failed')
    expect(got).toMatchObject({ status: 1, stderr: expect.stringMatching(/^no attempt has succeeded: .* attempt 1/) })
    expect(await read('failed/core')).toBe('x\n')

    const waits = ['--retries', '1', '--retry-delay', '3600', '--output', 'core']
    expect(await reprise('create', '-n', 'waits', ...waits, '--', 'sh', '-c', 'echo y > core; exit 4')).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('reprise download'),
    })
    const early = await eventually(
      async () => {
        const refused = await reprise('download', 'waits', '--to', 'waits')
        return refused.stderr.includes('--attempt 1') && refused
      },
      { withinMs: 60_000 },
    )
    expect(early).toMatchObject({ status: 1, stderr: expect.stringMatching(/^the work is not done yet/) })
    await done('download', 'waits', '--attempt', '1', '--to', 'waits')
    await done('cancel', 'waits')
  })
})

test('outputs that no session asked for are announced, and downloaded', async () => {
  const run = await done(
    'run',
    '-n',
    'unasked',
    '--',
    'sh',
    '-c',
    'head -c 20M /dev/zero > "$REPRISE_OUTPUT_DIR/zeros"',
  )
  expect(run.stderr).toMatch(/^(1 file, 20 MiB|its outputs are on the way): reprise download unasked$/m)
  await done('download', 'unasked', '--to', 'unasked')
  expect((await lstat(join(laptop, 'unasked/zeros'))).size).toBe(20 * 2 ** 20)
  const silent = await done('run', '-n', 'silent', '--', 'true')
  expect(silent.stderr).not.toContain('download')

  await using client = createClient({ url: fleet.url, token: fleet.adminToken })
  for await (const file of client.outputFiles(/session (\S+)/.exec(silent.stderr)![1]!)) expect(file).toBeUndefined()
  const go = join(fleet.shared, 'go')
  const script = `until [ -e ${go} ]; do sleep 0.1; done; echo 42 > "$REPRISE_OUTPUT_DIR/answer"`
  const sessionId = await fleet.createSession({ command: ['sh', '-c', script] })
  const waited = client.waitForOutputs(sessionId)
  await fleet.until(sessionId, ([first]) => first!.status === 'RUNNING')
  await writeFile(go, '')
  expect(await waited).toMatchObject({ state: 'COMPLETE', fileCount: 1 })
})

test('what cannot be taken is named, and nothing of the machine is taken', async () => {
  const strange = `mkdir r; cd r; mkfifo pipe; ln -s /etc/passwd leaves; ln -s ../../.. climbs; echo fine > fine
printf x > "$(printf 'bad\\377name')"`
  await reprise('run', '-n', 'strange', '--output', 'r/**', '--', 'sh', '-c', strange)
  const got = await reprise('download', 'strange', '--to', 'strange')
  expect(got.status).toBe(1)
  for (const said of [
    'r/pipe was skipped: it is a FIFO',
    'r/leaves: it is a link',
    'r/climbs: it is a link',
    'not UTF-8',
  ])
    expect(got.stderr).toContain(said)
  expect(await readdir(join(laptop, 'strange/r'))).toEqual(['fine'])

  const nothing = 'mkdir dir; touch model.pt log.txt'
  const run = await reprise('run', '-n', 'nothing', '--output', 'results/**', '--', 'sh', '-c', nothing)
  const words = 'no file matches results/**; the working directory contains dir/, log.txt, model.pt'
  expect(run).toMatchObject({ status: 0, stderr: expect.stringContaining(words) })
  const none = await reprise('run', '-n', 'quiet', '--output', 'a', '--output-when', 'failure', '--', 'touch', 'a')
  expect(none.stderr).toContain('it asked for outputs of attempts that fail')
  await done('wait', 'nothing', '--outputs')
  const bad = await reprise('create', '--output', '/etc/passwd', '--', 'true')
  expect(bad).toMatchObject({ status: 2, stderr: expect.stringContaining('relative to the working directory') })
})

test('REST sends files with ranges, and all of them as an archive, which browsers only save', async () => {
  const id = (await fleet.sql(`SELECT id FROM sessions WHERE name = 'train' AND attempt = 2`))[0]!['id']
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${fleet.url}/v2/sessions/${id}/outputs${path}`, {
      headers: { authorization: `Bearer ${fleet.adminToken}`, ...headers },
    })
  expect(await (await get('?match=*.csv')).json()).toMatchObject({
    state: 'COMPLETE',
    file_count: 5,
    files: { items: [{ path: 'results/table.csv', bytes: 10, executable: false }] },
  })
  const file = await get('/files/results/table.csv')
  expect(Object.fromEntries(file.headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="table.csv"; filename*=UTF-8''table.csv`,
    'content-security-policy': 'sandbox',
    'x-content-type-options': 'nosniff',
    etag: `"${createHash('sha256').update('attempt 2\n').digest('hex')}"`,
  })
  expect(await file.text()).toBe('attempt 2\n')
  const part = await get('/files/results/table.csv', { range: 'bytes=8-' })
  expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 8-9/10', '2\n'])
  expect((await get('/files/results/table.csv', { range: 'bytes=10-' })).status).toBe(416)
  for (const path of ['/files/nowhere', '/files/../../../../etc/passwd', '/files/%2e%2e%2fx', '/files/a%00'])
    expect((await get(path)).status, path).toBe(404)

  const archive = join(laptop, 'outputs.tar')
  await writeFile(archive, Buffer.from(await (await get('.tar')).arrayBuffer()))
  const { stdout } = await promisify(execFile)('tar', ['-tvf', archive])
  expect(stdout).toMatch(/-rwxr-xr-x .* results\/deep\/plot\.sh\n/)
  expect(stdout).toMatch(/lrwxr-xr-x .* results\/deep\/link -> \.\.\/table\.csv\n/)

  const { createDownload } = await fleet.graphql(LINK, { input: { sessionId: id, path: 'results/table.csv' } })
  const followed = () => fetch(`${fleet.url}${createDownload.link}`)
  expect(await (await followed()).text()).toBe('attempt 2\n')
  expect((await followed()).status).toBe(401)
})

const LINK = `mutation ($input: CreateDownloadInput!) { createDownload(input: $input) {
  ... on CreateDownloadPayload { link } ... on Error { message } } }`

test('outputs arrive although agent and server are killed when the program ends', async () => {
  const slow = 'for i in 1 2 3 4 5 6; do seq $i 400000 > r.$i; done; while [ ! -e "$0" ]; do sleep 0.1; done'
  const mark = join(fleet.shared, 'end')
  const id = await fleet.createSession({ command: ['sh', '-c', slow, mark], outputs: { paths: ['r.*'] } })
  const [{ kernels }] = (await fleet.until(id, ([first]) => first!.status === 'RUNNING')) as any
  await fleet.server.kill()
  await writeFile(mark, '')
  const name = kernels[0].agent.name as string
  await agents[name]!.kill()
  await fleet.restartServer()
  agents[name] = await fleet.startAgent({ name, token })
  const [outputs] = await eventually(
    async () => {
      const found = await outputsOf(id)
      return found[0].state === 'COMPLETE' && found
    },
    { withinMs: 120_000, what: 'the outputs' },
  )
  expect(outputs).toMatchObject({ fileCount: 6, reasons: [] })
  await done('download', id, '--to', 'crashed')
  for (const first of [1, 6]) {
    const expected = `${Array.from({ length: 400_001 - first }, (_, at) => first + at).join('\n')}\n`
    expect((await read(`crashed/r.${first}`)) === expected).toBe(true)
  }
  await eventually(async () => (await readdir(join(fleet.agentDir(name), 'outputs'))).length === 0, {
    withinMs: 30_000,
  })
})

test('a second session finds the outputs of the first one on another agent, and the commands of docs/outputs.md work', async () => {
  const here = await temporaryDirectory('pipeline')
  const env = cleanEnvironment({ REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken, XDG_CONFIG_HOME: laptop })
  const type = async (text: string) => {
    const npx = `npx() { shift; '${process.execPath}' '${MAIN}' "$@"; }`
    return (await promisify(execFile)('bash', ['-ec', `${npx}\n${text}`], { cwd: here, env })).stdout
  }
  const [first, pipeline] = await blocksOfTest('test/e2e/remote/outputs.test.ts')
  expect(await type(first!.text)).toMatch(/42\n$/)
  expect(await type(pipeline!.text)).toMatch(/^sum: 1\+2\+3\n/m)

  const [agent] = await fleet.sql(`SELECT k.agent_id AS id FROM sessions s JOIN kernels k ON k.session_id = s.id
    WHERE s.name = 'prepare'`)
  const elsewhere = ['--exclude-agent', agent!['id'], '--input', 'prepare:in']
  const far = await reprise('run', '-n', 'far', ...elsewhere, '--', 'cat', 'in/data/numbers')
  expect(far).toMatchObject({ status: 0, stdout: '1\n2\n3\n' })
  await reprise('run', '-n', 'without', '--', 'true')
  const without = await reprise('run', '-n', 'lacking', '--input', 'without', '--', 'true')
  expect(without).toMatchObject({ status: 125, stderr: expect.stringContaining('has none') })
})

test('equal contents are sent and stored once', async () => {
  const sent = async () => Number((await fleet.sql('SELECT count(*) FROM blobs'))[0]!['count'])
  const before = await sent()
  const same = ['--output', 'same', '--', 'sh', '-c', 'seq 7 90000 > same']
  await done('run', '-n', 'same', ...same)
  expect(await sent()).toBe(before + 1)
  await done('run', '-n', 'same', ...same)
  expect(await sent()).toBe(before + 1)
})

test('outputs in place stay on the disk of the agent, where others find them, as long as they are kept', async () => {
  const work = 'mkdir r; echo here > r/a; echo scratch > scratch'
  const ran = await reprise('run', '-n', 'place', '--output', 'r/**', '--output-in-place', '--', 'sh', '-c', work)
  const [, node, directory] = /1 file, 5 B, which stay on (\S+) in (\/.+)$/m.exec(ran.stderr) ?? []
  expect(await readFile(join(directory!, 'r/a'), 'utf8'), ran.stderr).toBe('here\n')
  // This machine has that disk.
  await done('download', 'place', '--to', 'from-place')
  expect(await read('from-place/r/a')).toBe('here\n')
  const [{ id }] = (await fleet.sql(`SELECT id FROM sessions WHERE name = 'place'`)) as [{ id: string }]
  const headers = { authorization: `Bearer ${fleet.adminToken}` }
  const refused = await fetch(`${fleet.url}/v2/sessions/${id}/outputs/files/r/a`, { headers })
  expect([refused.status, await refused.json()]).toMatchObject([409, { code: 'OUTPUTS_IN_PLACE' }])
  expect((await fetch(`${fleet.url}/v2/sessions/${id}/outputs.tar`, { headers })).status).toBe(409)

  const reads = ['--input', 'place:in', '--', 'cat', 'in/r/a']
  expect(await reprise('run', ...reads)).toMatchObject({ status: 0, stdout: 'here\n' })
  await writeFile(join(directory!, 'r/a'), 'else\n')
  const changed = await reprise('run', ...reads)
  expect(changed).toMatchObject({ status: 125, stderr: expect.stringContaining('it has changed since') })
  const damaged = await reprise('download', 'place', '--to', 'damaged')
  expect(damaged).toMatchObject({ status: 1, stderr: expect.stringContaining('was changed') })

  const restart = async () => {
    await agents[node!]!.kill()
    agents[node!] = await fleet.startAgent({ name: node!, token })
  }
  await restart()
  await done('run', '--', 'true')
  expect(await readFile(join(directory!, 'r/a'), 'utf8')).toBe('else\n')
  await fleet.sql(`UPDATE session_outputs SET state = 'EXPIRED', files = 0, bytes = 0 WHERE session_id = '${id}'`)
  await restart()
  await eventually(() => !existsSync(directory!), { withinMs: 30_000 })
})

test('in a bucket: code, checkpoints and outputs go there, and a link leads to it', async () => {
  await using s3 = await startS3()
  const { bucket, endpoint, accessKeyId, secretAccessKey } = s3.options
  await fleet.server.stop()
  await fleet.restartServer({
    REPRISE_BLOB_URL: `s3://${bucket}/of/us`,
    REPRISE_S3_ENDPOINT: endpoint,
    REPRISE_S3_LINK_ENDPOINT: endpoint,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  })
  await mkdir(join(laptop, 'code'))
  await writeFile(join(laptop, 'code/numbers'), '1 2 3\n')
  // Three parts, and small ones.
  const work =
    'cp code/numbers results; head -c 20000000 /dev/zero >zeros; echo 1 >"$REPRISE_CHAIN_DIR/kept"; exit $((3 - $REPRISE_ATTEMPT))'
  const options = ['--upload', join(laptop, 'code'), '--output', 'results', '--output', 'zeros', '--retries', '2']
  const ran = await reprise('run', '-n', 'bucket', ...options, '--retry-delay', '0.1', '--', 'sh', '-c', work)
  expect(ran, ran.stderr).toMatchObject({ status: 0 })
  await done('wait', 'bucket', '--outputs')
  await done('download', 'bucket', '--to', 'from-bucket')
  expect(await read('from-bucket/results')).toBe('1 2 3\n')
  expect((await read('from-bucket/zeros')).length).toBe(20_000_000)

  const [row] = await fleet.sql(`SELECT tail_id AS id FROM chains WHERE name = 'bucket'`)
  const input = { sessionId: row!['id'], path: 'results' }
  const { createDownload } = await fleet.graphql(LINK, { input })
  const answer = await fetch(`${fleet.url}${createDownload.link}`, { redirect: 'manual' })
  expect(answer.status).toBe(302)
  const location = new URL(answer.headers.get('location')!)
  expect(location.origin).toBe(endpoint)
  const file = await fetch(location)
  expect(await file.text()).toBe('1 2 3\n')
  expect(file.headers.get('content-disposition')).toMatch(/^attachment/)
  await fleet.server.stop()
  await fleet.restartServer()
})
