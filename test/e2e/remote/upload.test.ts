import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cleanEnvironment, commandLine, MAIN } from '../../support/programs/command-line.ts'
import { blocksOfTest } from '../../support/document-blocks.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { PATIENT_LEASE, startRemoteFleet, textOf, type RemoteFleet } from './remote-fleet.ts'

/** A server, two agents that share no directory, and the command line in a directory of somebody's. */

let fleet: RemoteFleet
let laptop: string

beforeAll(async () => {
  fleet = await startRemoteFleet({ lease: PATIENT_LEASE })
  laptop = await temporaryDirectory('laptop')
  for (const path of ['src', 'data', 'src/deep']) await mkdir(join(laptop, path))
  const files = {
    '.gitignore': 'data/\n*.log\n!kept.log\n',
    'train.sh': '#!/bin/sh\n. src/lib.sh\nsay "$@"\n',
    'src/lib.sh': 'say() { echo "attempt $REPRISE_ATTEMPT: $*"; find . -type f -o -type l | sort | xargs sha1sum; }\n',
    'src/.gitignore': 'secret.txt\n',
    'src/secret.txt': 'no',
    'src/deep/kept.log': 'yes',
    'noise.log': 'no',
    'data/large.bin': 'no',
    [`src/deep/${'long-name-'.repeat(12)}.txt`]: 'a name of more than a hundred bytes',
  }
  for (const [path, text] of Object.entries(files)) await writeFile(join(laptop, path), text)
  await chmod(join(laptop, 'train.sh'), 0o755)
  await symlink('src/lib.sh', join(laptop, 'link.sh'))
})

afterAll(async () => {
  await endKernelsOf(fleet)
  await fleet[Symbol.asyncDispose]()
})

function reprise(...args: string[]) {
  const environment = { REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken, XDG_CONFIG_HOME: laptop }
  return commandLine(environment, laptop)(...args)
}

const RUN = ['--upload', '.', '--retries', '1', '--retry-delay', '0.2', '--rule', 'retry avoid=agent']

test('uploaded code runs, and a retry on another agent finds the same files', async () => {
  for (const name of ['one', 'two']) await fleet.startAgent({ name, token: await fleet.token() })
  const FAILS_ONCE = './train.sh hello; test "$REPRISE_ATTEMPT" = 2'
  const { status, stdout, stderr } = await reprise('run', '-n', 'upload', ...RUN, '--', 'sh', '-c', FAILS_ONCE)
  expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringMatching(/^uploaded 7 files, /m) })
  const [first, second] = stdout.split(/^attempt \d: hello\n/m).slice(1)
  expect(first!.match(/\S+$/gm)).toEqual([
    './.gitignore',
    './link.sh',
    './src/.gitignore',
    './src/deep/kept.log',
    `./src/deep/${'long-name-'.repeat(12)}.txt`,
    './src/lib.sh',
    './train.sh',
  ])
  expect(second).toBe(first)
  const id = /session (\S+)/.exec(stderr)![1]!
  const chain = await fleet.chain(id)
  expect(new Set(chain.map(({ kernels }) => kernels[0]!.agent!.name))).toEqual(new Set(['one', 'two']))
  const sessions = await fleet.sql('SELECT code_sha256 FROM sessions')
  expect(new Set(sessions.map((row) => row['code_sha256']))).toHaveLength(1)

  const again = await reprise('run', '-n', 'upload', '--upload', '.', '--', './train.sh', 'again')
  expect(again).toMatchObject({ status: 0, stderr: expect.stringContaining('the server has these files already') })
  expect(again.stdout).toContain(`again\n${first}`)
})

test('code that the server has deleted is reported, and can be uploaded again', async () => {
  const directory = join(fleet.agentDir('server'), '../checkpoints/blobs')
  const [project] = await readdir(directory)
  await rm(join(directory, project!), { recursive: true })
  const [{ code_sha256: codeSha256 }] = (await fleet.sql('SELECT code_sha256 FROM sessions LIMIT 1')) as [any]
  const id = await fleet.createSession({ command: ['./train.sh'], codeSha256 })
  const [seen] = await fleet.until(id, ([first]) => first!.failureCause !== null)
  expect(seen).toMatchObject({ failureCause: 'IMAGE_PULL_FAILURE' })
  expect(seen!.statusReason).toContain(`the uploaded code ${codeSha256} is gone`)
  const again = await reprise('run', '--upload', '.', '--', './train.sh', 'again')
  expect(again).toMatchObject({ status: 0, stderr: expect.stringContaining('uploaded') })
  expect(textOf((await fleet.chain(id))[0]!)).toBe('')
})

test('a failed session goes on with mended files', async () => {
  await writeFile(join(laptop, 'broken.sh'), 'exit 3\n')
  const failed = await reprise('run', '-n', 'mended', '--upload', 'broken.sh', '--', 'sh', 'broken.sh')
  expect(failed.status).toBe(3)
  await writeFile(join(laptop, 'broken.sh'), 'echo mended\n')
  const again = await reprise('resubmit', 'mended', '--upload', 'broken.sh')
  expect(again).toMatchObject({ status: 0, stderr: expect.stringContaining('uploaded 1 file') })
  const id = /session (\S+)/.exec(failed.stderr)![1]!
  const [first, second] = await fleet.until(id, ([, child]) => child?.status === 'TERMINATED')
  expect([textOf(first!), textOf(second!)]).toEqual(['', 'mended\n'])
  const other = { sessionIds: [id], overrides: { codeSha256: '0'.repeat(64) }, includeSucceeded: true }
  const { resubmitSessions } = await fleet.graphql(
    'mutation ($input: ResubmitSessionsInput!) { resubmitSessions(input: $input) { ... on ResubmitSessionsPayload { refused { code } } } }',
    {
      input: {
        ...other,
        sessionIds: [(await fleet.sql('SELECT id FROM sessions ORDER BY id DESC LIMIT 1'))[0]!['id']],
      },
    },
  )
  expect(resubmitSessions.refused).toEqual([{ code: 'CODE_NOT_FOUND' }])
})

test('files that cannot be uploaded are named, with what to do', async () => {
  const here = await temporaryDirectory('refused')
  await writeFile(join(here, 'train.py'), '')
  await truncate(join(here, 'train.py'), 1024)
  const environment = { REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken, XDG_CONFIG_HOME: laptop }
  const run = (what: string) => commandLine(environment, here)('run', '--upload', what, '--', 'true')
  expect(await run('nowhere')).toMatchObject({ status: 2, stderr: 'error: --upload nowhere: there is no such file\n' })
  await writeFile(join(here, 'data.bin'), '')
  await truncate(join(here, 'data.bin'), 65 * 1024 ** 2)
  expect(await run('.')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(
      /REPRISE_UPLOAD_BYTES_MAX\)\. The largest files are data\.bin \(65 MiB\), train\.py \(1 KiB\); exclude files with a \.gitignore\.$/m,
    ),
  })
  await writeFile(join(here, '.gitignore'), '*.bin\n')
  expect(await run('.')).toMatchObject({ status: 0 })
  await rm(join(here, 'train.py'))
  await symlink('/etc/hostname', join(here, 'link'))
  expect(await run('link')).toMatchObject({ status: 0 })
  expect(await run('.')).toMatchObject({
    status: 2,
    stderr: 'error: --upload: the link link leads to /etc/hostname, which is absolute\n',
  })
})

test('the commands of docs/uploads.md work', async () => {
  const [first, piped, second] = await blocksOfTest('test/e2e/remote/upload.test.ts')
  const study = join(await temporaryDirectory('study'), 'study')
  await mkdir(study)
  await writeFile(join(study, 'train.py'), 'import sys\nprint(sys.argv[1:])\n')
  const env = cleanEnvironment({ REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken, XDG_CONFIG_HOME: laptop })
  const type = async (text: string) => {
    const npx = `npx() { shift; '${process.execPath}' '${MAIN}' "$@"; }`
    return (await promisify(execFile)('bash', ['-ec', `${npx}\n${text}`], { cwd: study, env })).stdout
  }
  expect(await type(first!.text)).toBe("['--epochs', '10']\n")
  expect(await type(piped!.text)).toBe('2\n')
  expect(JSON.parse(await type(second!.text))).toMatchObject({ files: 1 })
})

test('a project cannot see the code of another', async () => {
  const [{ code_sha256: sha256 }] = (await fleet.sql('SELECT code_sha256 FROM sessions LIMIT 1')) as [any]
  await fleet.graphql('mutation { createProject(input: { name: "other" }) { __typename } }')
  const ask = (project: string) =>
    fetch(`${fleet.url}/v2/code/${sha256}?project=${project}`, {
      headers: { authorization: `Bearer ${fleet.adminToken}` },
    })
  expect((await ask('default')).status).toBe(200)
  expect((await ask('other')).status).toBe(404)
  await expect(fleet.createSession({ command: ['true'], project: 'other', codeSha256: sha256 })).rejects.toThrow(
    `project other has no uploaded code ${sha256}`,
  )
})
