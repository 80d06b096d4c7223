import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../../guard/source-files.ts'
import { eventually } from '../../support/eventually.ts'
import { commandLine } from '../../support/programs/command-line.ts'
import { whyNoMounts } from '../../support/run/mounts.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { PATIENT_LEASE, type RemoteFleet, startRemoteFleet, textOf } from './remote-fleet.ts'
import {
  empty,
  fill,
  fillAllBut,
  limitOpenFiles,
  noLimits,
  openFilesOf,
  reached,
  steps,
  useSmallDisks,
} from './small-disks.ts'

/** Disks of an agent that are full, and have space again: what runs goes on, and all else by itself. */

const mountAt = useSmallDisks()

let fleet: RemoteFleet
let token: string

beforeAll(async () => {
  fleet = await startRemoteFleet()
  token = await fleet.token()
})
afterAll(async () => {
  await endKernelsOf(fleet)
  await fleet?.[Symbol.asyncDispose]()
})

async function agentNamed(name: string): Promise<{ refuses: string | null; isolation: string; status: string }> {
  const { agents } = await fleet.graphql('{ agents { edges { node { name status isolation refuses } } } }')
  return agents.edges.map(({ node }: any) => node).find((node: any) => node.name === name)
}

const TERMINATE = `mutation ($id: UUID!) { terminateSession(input: { sessionId: $id }) { __typename } }`

async function outputsOf(id: string): Promise<{ state: string; files: { edges: { node: { path: string } }[] } }> {
  const query = `query ($id: UUID!) { session(id: $id) { outputs { state files(first: 10) { edges { node { path } } } } } }`
  return (await fleet.graphql(query, { id })).session.outputs
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

const noMounts = whyNoMounts()

describe.skipIf(noMounts !== null)(`disks that are full${noMounts === null ? '' : ` (skipped: ${noMounts})`}`, () => {
  test('of an agent: it and its kernels live on, new kernels are refused, lost output is marked; with space all goes on', async () => {
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

    const reprise = commandLine({ REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken })
    const waits = await fleet.createSession({ command: ['echo', 'there was space again'] })
    const { stdout } = await reprise('doctor')
    expect(stdout).toContain('accepts no new kernels: the disk of')
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

  test('of an agent, filled and emptied: output goes on after the mark', async () => {
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
    const reprise = commandLine({ REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken })
    const enter = () => reprise('exec', running, '--no-stdin', '--', 'echo', 'inside')
    const refused = await enter()
    expect(refused).toMatchObject({ status: 5, stdout: '' })
    expect(refused.stderr).toMatch(/ENOSPC.*CHANNEL_NOT_OPENED/)
    const files = readdirSync(fleet.agentDir('marked'), { recursive: true }).map(String)
    expect(files.filter((name) => /exec\./.test(name))).toEqual([])
    empty(disk)
    expect(await enter()).toMatchObject({ stdout: 'inside\n' })
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

  test('of an agent whose programs end or are stopped meanwhile: ends and outputs are true, also after a crash', async () => {
    const disk = dirname(fleet.agentDir('ending'))
    mountAt(disk, '24m')
    const start = () => fleet.startAgent({ name: 'ending', token, args: ['--slots', 'cpu=4,mem=1g'] })
    let agent = await start()
    const begin = async (before = '', input = {}) => {
      const work = await temporaryDirectory('steps')
      const [shell, option, script] = steps(work)
      const id = await fleet.createSession({ command: [shell, option, `${before}${script}`], ...input })
      await reached(work, 1)
      const end = () => {
        for (const step of [1, 2, 3]) writeFileSync(join(work, `go${step}`), '')
      }
      return { id, end }
    }
    const seen = await begin('echo kept >"$REPRISE_OUTPUT_DIR/kept"; ')
    const [unseen, stopped] = [await begin(), await begin()]
    fill(disk)
    await eventually(async () => (await agentNamed('ending')).refuses)

    seen.end()
    await fleet.until(seen.id, ([first]) => first?.status === 'ERROR')
    expect(await fleet.rest(`/v2/sessions/${seen.id}`)).toMatchObject({ exit_code: 3 })
    await eventually(async () => (await outputsOf(seen.id))?.state === 'COMPLETE')
    expect(await outputsOf(seen.id)).toMatchObject({ files: { edges: [{ node: { path: 'kept' } }] } })
    await fleet.graphql(TERMINATE, { id: stopped.id })
    await fleet.until(stopped.id, ([first]) => first?.status === 'CANCELLED' || first?.status === 'TERMINATED')

    await agent.kill()
    unseen.end()
    const kernels = join(fleet.agentDir('ending'), 'kernels')
    const isNoted = (name: string) => {
      const status = join(kernels, name, 'status')
      return existsSync(status) && readFileSync(status, 'latin1').includes('exit 3\n')
    }
    await eventually(() => readdirSync(kernels).some(isNoted))
    agent = await start()
    await fleet.until(unseen.id, ([first]) => first?.status === 'ERROR')
    expect(await fleet.rest(`/v2/sessions/${unseen.id}`)).toMatchObject({ exit_code: 3 })
    await eventually(async () => textOf((await fleet.chain(unseen.id))[0]!).includes('output may be missing here'))
    expect((await agentNamed('ending')).refuses).toMatch(/^the disk of .* is full/)

    empty(disk)
    await eventually(() => readdirSync(kernels).length === 0)
    const next = await fleet.createSession({ command: ['true'] })
    await fleet.until(next, ([first]) => first?.status === 'TERMINATED')
    expect(await agent.stop()).toBe(0)
  })

  test('of an agent where inputs are placed: the attempt fails with the reason, and the next has its space', async () => {
    const disk = dirname(fleet.agentDir('fetching'))
    mountAt(disk, '24m')
    const agent = await fleet.startAgent({ name: 'fetching', token })
    const kept = join(fleet.agentDir('fetching'), 'outputs')
    const made = await fleet.createSession({
      command: ['sh', '-c', 'head -c 6000000 /dev/urandom >"$REPRISE_OUTPUT_DIR/large"'],
    })
    await eventually(async () => (await outputsOf(made))?.state === 'COMPLETE')
    await eventually(() => readdirSync(kept).length === 0)
    fillAllBut(disk, 4_000_000)
    const use = () =>
      fleet.createSession({
        command: ['sh', '-c', 'wc -c <large'],
        inputs: [{ from: made }],
        retryPolicy: { maxRetries: 0 },
      })
    const [failed] = await fleet.until(await use(), ([first]) => first?.status === 'ERROR')
    expect(failed!.statusReason).toMatch(/ENOSPC|the disk of \S+ is full/)
    await eventually(() => readdirSync(join(fleet.agentDir('fetching'), 'kernels')).length === 0)
    empty(disk)
    const used = await use()
    await fleet.until(used, ([first]) => first?.status === 'TERMINATED')
    await eventually(async () => textOf((await fleet.chain(used))[0]!) === '6000000\n')
    expect(await agent.stop()).toBe(0)
  })

  test('that has the log of an agent, too: the agent lives on, and later lines are written', async () => {
    const disk = dirname(fleet.agentDir('logging'))
    mountAt(disk, '24m')
    const log = join(disk, 'log')
    const agent = await fleet.startAgent({ name: 'logging', token, through: ['sh', '-c', `exec "$@" 2>>${log}`, 'sh'] })
    fill(disk)
    // The rest of its last page.
    expect(() => {
      for (;;) appendFileSync(log, 'x')
    }).toThrow(/ENOSPC/)
    await eventually(async () => (await agentNamed('logging')).refuses)
    empty(disk)
    await eventually(async () => (await agentNamed('logging')).refuses === null)
    expect(await agent.stop()).toBe(0)
    expect(readFileSync(log, 'latin1')).toContain('SIGTERM: stopping')
  })

  test('of an agent that starts: isolation is not weakened, and is as before once there is space', async () => {
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

  test('of an agent that has never run: it waits for space, and then starts', async () => {
    const disk = dirname(fleet.agentDir('newborn'))
    mountAt(disk, '24m')
    fill(disk)
    const late = await startsLater('newborn', { REPRISE_ISOLATION: 'none' })
    expect((await agentNamed('newborn')) === undefined).toBe(true)
    empty(disk)
    const agent = await late.agent
    expect(await agentNamed('newborn')).toMatchObject({ status: 'ALIVE', refuses: null })
    await agent.stop()
  })
})

test.skipIf(noLimits !== '')(
  `no further file can be opened by an agent: it and its kernels live on, new kernels are refused; later all goes on${noLimits}`,
  async () => {
    await using patient = await startRemoteFleet({ lease: PATIENT_LEASE })
    const agent = await patient.startAgent({ name: 'opened', token: await patient.token() })
    const work = await temporaryDirectory('steps')
    const running = await patient.createSession({ command: steps(work) })
    await reached(work, 1)
    const most = openFilesOf(agent.pid)
    const fence = () => Number(readFileSync(join(patient.agentDir('opened'), 'fence'), 'latin1').split(' ')[0])
    limitOpenFiles(agent.pid, 3)
    await eventually(() => agent.log.some((line) => /takes no new kernels/.test(line) && /EMFILE/.test(line)))
    // It is renewed meanwhile, through the file that the agent holds open.
    const limited = fence()
    await eventually(() => fence() > limited)
    const waits = await patient.createSession({ command: ['echo', 'opened again'] })
    writeFileSync(join(work, 'go1'), '')
    await reached(work, 2)
    limitOpenFiles(agent.pid, most)
    await patient.until(waits, ([first]) => first?.status === 'TERMINATED')
    for (const step of [2, 3]) writeFileSync(join(work, `go${step}`), '')
    const [whole] = await patient.until(running, ([first]) => first?.status === 'ERROR')
    expect(textOf(whole!)).toBe('step 1\nstep 2\nstep 3\n')
    expect(await agent.stop()).toBe(0)
  },
)

const HERE = 'test/e2e/remote/full-disks.test.ts'
const FAULTS = 'test/integration/agent/agent-faults.test.ts'
const WARDEN = 'test/contract/executor/process-warden.test.ts'
const ENDS = 'of an agent whose programs end or are stopped meanwhile: ends and outputs are true, also after a crash'

/** By the row's first cell: files of tests, each with a title. */
const SHOWN: Record<string, Record<string, string>> = {
  'first start: its id, lock, isolation, store of checkpoints': {
    [FAULTS]: 'of an agent that starts for the first time, with one more of its %s each time',
    [HERE]: 'of an agent that has never run: it waits for space, and then starts',
  },
  'preparing a kernel, extracting its uploaded code': {
    [FAULTS]: 'where kernels are prepared and started, with one more of their files each time',
  },
  'placing the [inputs](outputs.md) of a kernel': {
    [HERE]: 'of an agent where inputs are placed: the attempt fails with the reason, and the next has its space',
  },
  'starting the program of a kernel': {
    [WARDEN]: 'a program does not begin if the disk has no space for the line by which the keeper would know it',
  },
  'renewing the fence': {
    [HERE]:
      'of an agent: it and its kernels live on, new kernels are refused, lost output is marked; with space all goes on',
    [FAULTS]: 'whose fence cannot be written: it accepts no kernels and says why, until the fence is written',
  },
  'the end of a program, also while the agent is down': { [HERE]: ENDS },
  'stopping a kernel, sending the outputs of one that has ended': { [HERE]: ENDS },
  'stopping kernels at the fence of an agent that is gone': { [WARDEN]: 'even if the disk takes no further file' },
  'fetching a checkpoint': {
    'test/e2e/remote/relay-faults.test.ts':
      'of the fetching agent: its attempt begins without the checkpoint, and says why',
  },
  'a program publishes its checkpoint': {
    [FAULTS]: 'where a running program publishes: it is answered once there is space',
  },
  "the agent's own log": {
    [HERE]: 'that has the log of an agent, too: the agent lives on, and later lines are written',
  },
  '`reprise exec`': { [HERE]: 'of an agent, filled and emptied: output goes on after the mark' },
  'removing files that are no longer needed': {
    [FAULTS]: 'where files are removed: that needs no further file, and makes space',
  },
}

test('each row of the table in docs/operation.md is shown by a test', () => {
  const page = readFileSync(join(ROOT, 'docs/operation.md'), 'utf8')
  const section = page.split('\n## Full disks\n')[1]!.split('\n## ')[0]!
  const rows = [...section.matchAll(/^\| (.+?) \|/gm)].map(([, cell]) => cell!).slice(1)
  expect(rows.toSorted()).toEqual(Object.keys(SHOWN).toSorted())
  for (const [file, title] of Object.values(SHOWN).flatMap(Object.entries)) {
    // In this file it is the title of a test and in the table above.
    const found = readFileSync(join(ROOT, file), 'utf8').split(title as string).length - 1
    expect(found, `${file}: ${title}`).toBeGreaterThanOrEqual(file === HERE ? 2 : 1)
  }
})
