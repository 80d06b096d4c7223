import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { commandLine } from '../../support/programs/command-line.ts'
import { whyNoMounts } from '../../support/run/mounts.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { type RemoteFleet, startRemoteFleet, textOf } from './remote-fleet.ts'

/** Disks of an agent and of a server that are full, and have space again: what runs goes on, and all else by itself. */

let fleet: RemoteFleet
let token: string
const mounts: string[] = []

beforeAll(async () => {
  fleet = await startRemoteFleet()
  token = await fleet.token()
})
afterAll(async () => {
  await endKernelsOf(fleet)
  await fleet?.[Symbol.asyncDispose]()
  for (const path of mounts) execFileSync('umount', ['--lazy', path])
})

function mountAt(path: string, size: string): void {
  mkdirSync(path, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'reprise-test', path])
  mounts.push(path)
}

/** Until not one byte more can be written. */
function fill(path: string): void {
  const fd = openSync(join(path, 'ballast'), 'w')
  try {
    for (let bytes = 65_536; bytes >= 1;) {
      try {
        writeSync(fd, Buffer.alloc(bytes, 1))
      } catch {
        bytes = Math.floor(bytes / 2)
      }
    }
  } finally {
    closeSync(fd)
  }
  expect(statfsSync(path).bavail).toBe(0)
}

const empty = (path: string) => rmSync(join(path, 'ballast'))

async function agentNamed(name: string): Promise<{ refuses: string | null; isolation: string; status: string }> {
  const { agents } = await fleet.graphql('{ agents { edges { node { name status isolation refuses } } } }')
  return agents.edges.map(({ node }: any) => node).find((node: any) => node.name === name)
}

/** An agent that is started, has nothing that it could write to, and says so. */
async function startsLater(name: string, environment: Record<string, string>) {
  const log = join(await temporaryDirectory('log'), 'log')
  const through = ['sh', '-c', `exec "$@" 2>>${log}`, 'sh']
  const agent = fleet.startAgent({ name, token, environment, through })
  await eventually(
    () => existsSync(log) && readFileSync(log, 'utf8').includes('the agent cannot start yet; trying again'),
  )
  return { agent }
}

const fenceOf = (name: string) => Number(readFileSync(join(fleet.agentDir(name), 'fence'), 'latin1').split(' ')[0])

/** Writes a line, and then each time that a step is allowed; ends with 3 at the last. */
function steps(directory: string): string[] {
  const script = `n=0; while [ $n -lt 3 ]; do n=$((n + 1)); echo step $n; echo $n >>${directory}/alive
    while [ ! -e ${directory}/go$n ]; do sleep 0.05; done; done; exit 3`
  return ['sh', '-c', script]
}
const reached = (directory: string, step: number) =>
  eventually(
    () => existsSync(join(directory, 'alive')) && readFileSync(join(directory, 'alive'), 'utf8').includes(`${step}\n`),
  )

const noMounts = whyNoMounts()

describe.skipIf(noMounts !== null)(`disks that are full${noMounts === null ? '' : ` (skipped: ${noMounts})`}`, () => {
  test('of an agent: it and its kernels live on, new ones are refused, lost output is marked, and all goes on with space', async () => {
    const disk = dirname(fleet.agentDir('filled'))
    mountAt(disk, '24m')
    let agent = await fleet.startAgent({ name: 'filled', token })
    const work = await temporaryDirectory('steps')
    const running = await fleet.createSession({ command: steps(work) })
    const ending = await temporaryDirectory('steps')
    const ends = await fleet.createSession({ command: steps(ending) })
    await reached(work, 1)
    await reached(ending, 1)
    const fence = fenceOf('filled')

    fill(disk)
    const refusal = await eventually(async () => (await agentNamed('filled')).refuses)
    expect(refusal).toMatch(/^the disk of .* is full/)
    // What it has to write down is renewed: without, its keeper would kill what runs.
    await eventually(() => fenceOf('filled') > fence + 2)
    writeFileSync(join(work, 'go1'), '')
    await reached(work, 2)
    for (const step of [1, 2, 3]) writeFileSync(join(ending, `go${step}`), '')
    const [ended] = await fleet.until(ends, ([first]) => first?.status === 'ERROR')
    expect(ended!.statusReason).not.toMatch(/vanished|lost/)
    await eventually(async () => textOf((await fleet.chain(ends))[0]!).includes('output may be missing here'))

    const waits = await fleet.createSession({ command: ['echo', 'there was space again'] })
    const { stdout } = await commandLine({ REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken })('doctor')
    expect(stdout).toContain('takes no new kernels: the disk of')
    const page = await (
      await fetch(`${fleet.url}/metrics`, { headers: { authorization: `Bearer ${fleet.adminToken}` } })
    ).text()
    expect(page).toMatch(/^bai_agents_refusing 1$/m)
    expect((await fleet.chain(waits))[0]!.status).toBe('PENDING')

    // It is started again while there is no space: it takes up its kernels, and goes on to refuse others.
    expect(await agent.stop()).toBe(0)
    agent = await fleet.startAgent({ name: 'filled', token })
    await eventually(async () => /^the disk of .* is full/.test((await agentNamed('filled')).refuses ?? ''))
    empty(disk)
    await eventually(async () => (await agentNamed('filled')).refuses === null)
    await fleet.until(waits, ([first]) => first?.status === 'TERMINATED')
    for (const step of [2, 3]) writeFileSync(join(work, `go${step}`), '')
    const [whole] = await fleet.until(running, ([first]) => first?.status === 'ERROR')
    expect(whole!.statusReason).not.toMatch(/vanished|lost|fenced/)
    expect(await agent.stop()).toBe(0)
  })

  test('of an agent, filled and emptied: output goes on behind the mark', async () => {
    const disk = dirname(fleet.agentDir('marked'))
    mountAt(disk, '24m')
    const agent = await fleet.startAgent({ name: 'marked', token })
    const work = await temporaryDirectory('steps')
    const running = await fleet.createSession({ command: steps(work) })
    await reached(work, 1)
    fill(disk)
    await eventually(async () => (await agentNamed('marked')).refuses)
    writeFileSync(join(work, 'go1'), '')
    await reached(work, 2)
    empty(disk)
    await eventually(async () => (await agentNamed('marked')).refuses === null)
    for (const step of [2, 3]) writeFileSync(join(work, `go${step}`), '')
    await fleet.until(running, ([first]) => first?.status === 'ERROR')
    const text = await eventually(async () => {
      const said = textOf((await fleet.chain(running))[0]!)
      return said.includes('step 3') && said
    })
    expect(text).toMatch(/^step 1\n[^]*\[reprise: the agent's disk was full; output may be missing here\]\nstep 3\n$/)
    expect(await agent.stop()).toBe(0)
  })

  test('of an agent that starts: isolation does not become weaker, and is as before once there is space', async () => {
    const disk = dirname(fleet.agentDir('isolated'))
    mountAt(disk, '24m')
    const environment = { REPRISE_ISOLATION: 'auto', REPRISE_ALLOW_UNSAFE_PATHS: 'true' }
    let agent = await fleet.startAgent({ name: 'isolated', token, environment })
    const { isolation } = await agentNamed('isolated')
    await agent.stop()
    fill(disk)
    const late = await startsLater('isolated', environment)
    empty(disk)
    agent = await late.agent
    expect(await agentNamed('isolated')).toMatchObject({ isolation, refuses: null })
    await agent.stop()
  })

  test('of the server: an upload is refused with a code of its own, and taken once there is space', async () => {
    const disk = await temporaryDirectory('uploads')
    mountAt(disk, '4m')
    await fleet.server.stop()
    await fleet.restartServer({ REPRISE_CHECKPOINT_DIR: disk })
    const content = await temporaryDirectory('content')
    writeFileSync(join(content, 'hello.sh'), 'echo hello\n'.repeat(10_000))
    const archive = execFileSync('tar', ['--format=ustar', '-C', content, '-cf', '-', 'hello.sh'])
    const upload = async () => {
      const sha256 = createHash('sha256').update(archive).digest('hex')
      const response = await fetch(`${fleet.url}/v2/code/${sha256}?project=default`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${fleet.adminToken}`, 'content-type': 'application/x-tar' },
        body: archive as unknown as BodyInit,
      })
      return { status: response.status, body: await response.text() }
    }
    fill(disk)
    const refused = await upload()
    expect({ status: refused.status, code: (JSON.parse(refused.body) as { code: string }).code }).toEqual({
      status: 507,
      code: 'SERVER_DISK_FULL',
    })
    const ready = await (await fetch(`${fleet.url}/readyz`)).text()
    expect(ready).toContain('the disk of uploads and copies of checkpoints is full')
    const metrics = await (
      await fetch(`${fleet.url}/metrics`, { headers: { authorization: `Bearer ${fleet.adminToken}` } })
    ).text()
    expect(metrics).toMatch(/^bai_disk_full_total [1-9]/m)
    empty(disk)
    expect((await upload()).status).toBeLessThan(300)
    await fleet.server.stop()
    await fleet.restartServer()
  })
})
