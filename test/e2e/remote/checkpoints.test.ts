import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOfTest, type DocumentBlock } from '../../support/document-blocks.ts'
import { eventually } from '../../support/eventually.ts'
import { cleanEnvironment, type Ended, startCommand } from '../../support/programs/command-line.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { killProcessesIn, processesIn } from '../../integration/agent/processes.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { type RemoteFleet, type Seen, startRemoteFleet, textOf } from './remote-fleet.ts'

/**
 * The programs of docs/checkpoints.md, begun as the page does from a directory that no agent sees, on agents that have no
 * file system in common. Machines die: the agent, its kernels and its directory are gone at once.
 */

let fleet: RemoteFleet
let laptop: string
let commands: string[][]
/** The last lines of runs that nobody interrupts. */
const results = new Map(['count.py', 'count.sh'].map((name) => [name, '41538 primes']))

interface Machine {
  name: string
  agent: SpawnedProgram
}

beforeAll(async () => {
  const blocks = await blocksOfTest('test/e2e/remote/checkpoints.test.ts')
  laptop = await temporaryDirectory('laptop')
  for (const { text } of blocks.filter((block) => nameOf(block) !== null))
    await writeFile(join(laptop, nameOf({ text })!), text)
  const typed = blocks.find((block) => nameOf(block) === null)!.text
  const lines = typed
    .replaceAll(/\\\n */g, '')
    .trim()
    .split('\n')
  commands = lines.map((line) => line.match(/'[^']*'|\S+/g)!.map((word) => word.replaceAll("'", '')))
  const plainly = { cwd: await temporaryDirectory('alone'), env: cleanEnvironment({}) }
  const { stdout } = await promisify(execFile)('python3', [join(laptop, 'train.py')], plainly)
  results.set('train.py', stdout.trim().split('\n').at(-1)!)
  fleet = await startRemoteFleet()
  await fleet.sql('UPDATE resource_groups SET fence_after_ms = 6000')
})

afterAll(async () => {
  await endKernelsOf(fleet)
  await fleet[Symbol.asyncDispose]()
})

/** Its first line says so. */
function nameOf({ text }: Pick<DocumentBlock, 'text'>): string | null {
  return /^# (\S+):/.exec(text)?.[1] ?? null
}

async function machine(name: string): Promise<Machine> {
  const args = ['--slots', 'cpu=4,mem=4g']
  return { name, agent: await fleet.startAgent({ name, token: await fleet.token(), args }) }
}

async function dies({ name, agent }: Machine): Promise<void> {
  await agent.kill()
  const directory = fleet.agentDir(name)
  await killProcessesIn(directory)
  await rm(join(directory, '..'), { recursive: true })
}

interface Work {
  file: string
  chainId: string
  ended: Promise<Ended>
}

function command(...args: string[]) {
  const environment = { REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken, XDG_CONFIG_HOME: laptop }
  return startCommand(args, environment, undefined, laptop)
}

/** Runs the command as the page shows it. */
async function begin([, , ...args]: string[]): Promise<Work> {
  const { ended, output } = command(...args)
  const chainId = await eventually(() => /session (\S+)/.exec(output.stderr)?.[1])
  return { file: args.at(-1)!, chainId, ended }
}

/** Reaches the program alone, not its agent or the kernel's shim. */
function tell({ file, chainId }: Work, { name }: Machine, how: NodeJS.Signals): void {
  const isIts = (pid: string) => commandOf(pid).endsWith(` ${file}`) && chainOf(pid) === chainId
  process.kill(Number(processesIn(fleet.agentDir(name)).find(isIts)), how)
}

/** What the chain has in its directory there is another checkpoint than before. */
async function saves({ chainId }: Work, { name }: Machine, before = ''): Promise<string> {
  const directory = join(fleet.agentDir(name), 'chains', chainId)
  return eventually(() => {
    const file = filesIn(directory).find((each) => !each.startsWith('.') && !each.endsWith('.new'))
    const now = file === undefined ? '' : readFileSync(join(directory, file), 'base64')
    return now !== before && now
  })
}

function filesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : []
}

function commandOf(pid: string): string {
  return readProcess(pid, 'cmdline').replaceAll('\0', ' ').trim()
}

function chainOf(pid: string): string | undefined {
  return /REPRISE_CHAIN_ID=([^\0]*)/.exec(readProcess(pid, 'environ'))?.[1]
}

function readProcess(pid: string, what: string): string {
  try {
    return readFileSync(`/proc/${pid}/${what}`, 'latin1')
  } catch {
    return ''
  }
}

function stepsOf(attempt: Seen | undefined): number[] {
  return [...(attempt === undefined ? '' : textOf(attempt)).matchAll(/^step (\d+)$/gm)].map(([, step]) => Number(step))
}

/** The first attempt has failed, and the servers have a copy of what it has left. */
async function isCopied({ chainId }: Work): Promise<void> {
  await fleet.until(chainId, ([first]) => first!.retryState.phase === 'SCHEDULED')
  // Nothing of it runs any more: what it has published meanwhile does not count.
  const copied = `SELECT FROM checkpoints c JOIN kernels k ON k.session_id = c.chain_id
    WHERE c.chain_id = '${chainId}' AND c.relay_attempt = 1 AND k.confirmed_gone`
  await eventually(async () => (await fleet.sql(copied)).length === 1)
}

const chainDirectory = ({ chainId }: Work, { name }: Machine) => join(fleet.agentDir(name), 'chains', chainId)

/** The second attempt has asked for its publishing, or has the answer. */
const asks = (work: Work, where: Machine) =>
  existsSync(join(chainDirectory(work, where), '.publish')) || hasAnswer(work, where)

function hasAnswer(work: Work, where: Machine): boolean {
  const answer = join(chainDirectory(work, where), '.published')
  if (!existsSync(answer)) return false
  const { attempt, published } = JSON.parse(readFileSync(answer, 'utf8')) as { attempt: number; published: boolean }
  return attempt === 2 && published
}

/** What the second attempt has saved, while it stands still, and its output up to there. */
async function isPublished(work: Work, where: Machine): Promise<void> {
  const { chainId } = work
  const directory = chainDirectory(work, where)
  await eventually(() => !existsSync(join(directory, '.publish')) && hasAnswer(work, where))
  const script = 'import pickle, sys; print(pickle.load(open(sys.argv[1], "rb"))["epoch"])'
  const { stdout } = await promisify(execFile)('python3', ['-c', script, join(directory, 'checkpoint.pt')])
  await fleet.until(chainId, ([, second]) => stepsOf(second).includes(Number(stdout)))
}

async function retryNow(work: Work): Promise<void> {
  expect(await tryRetryNow(work)).toEqual({ __typename: 'RetryNowPayload' })
}

async function tryRetryNow({ chainId }: Work): Promise<unknown> {
  const [tail] = await fleet.sql(`SELECT tail_id FROM chains WHERE chain_id = '${chainId}'`)
  const { retryNow: made } = await fleet.graphql(
    'mutation ($input: RetryNowInput!) { retryNow(input: $input) { __typename } }',
    { input: { sessionId: tail!['tail_id'] } },
  )
  return made
}

/** An agent may be lost before its sessions are known to have failed, and a retry may come by itself. */
async function isRetried(work: Work, attempts: number): Promise<void> {
  await eventually(async () => (await fleet.chain(work.chainId)).length > attempts || void (await tryRetryNow(work)), {
    withinMs: 120_000,
  })
}

/** Returns the checkpoints that the sessions of the chain found, in the order of attempts. */
async function found({ chainId }: Work): Promise<string[]> {
  const rows = await fleet.sql(`SELECT coalesce(c.state::text, 'NONE') AS state, c.from_attempt FROM sessions s
    LEFT JOIN session_checkpoints c ON c.session_id = s.id WHERE s.chain_id = '${chainId}' ORDER BY s.attempt`)
  return rows.map(({ state, from_attempt: from }) => `${state}${from ?? ''}`)
}

test('the second machine goes on where the first died', async () => {
  const { works, first, second, die } = await beginOnFirst('one', 'two')
  await die()
  for (const work of works) {
    await expectDone(work, [first, second], ['NONE', 'FETCHED1'])
    const [before, after] = (await fleet.chain(work.chainId)).map(stepsOf)
    // The step that was under way is done again, and no other.
    expect([before!.length, before!.length + 1]).toContain(after![0])
  }
  await second.agent.stop()
})

test('one that dies in the middle of an attempt takes back to what it has published, or the one before has left', async () => {
  const { works, first, second: other, die } = await beginOnFirst('three', 'four')
  await Promise.all(
    works.map(async (work) => {
      const left = await saves(work, first)
      await retryNow(work)
      await saves(work, first, left)
      // What it has saved, it publishes next.
      if (work.file === 'train.py') await eventually(() => asks(work, first))
      // Until all have come so far.
      tell(work, first, 'SIGSTOP')
      if (work.file === 'train.py') return isPublished(work, first)
      await fleet.until(work.chainId, ([, second]) => stepsOf(second).length > 0)
    }),
  )
  // Its first attempt leaves nothing that anybody knows of.
  const script = 'echo $REPRISE_CHECKPOINT | tee $REPRISE_CHAIN_DIR/state; test $REPRISE_ATTEMPT = 2 || sleep 600'
  const retryPolicy = { maxRetries: 1, retryDelay: 0.1 }
  const unknown = await fleet.createSession({ command: ['sh', '-c', script], retryPolicy })
  await fleet.until(unknown, ([only]) => textOf(only!) === 'none\n')
  await die()
  expect((await fleet.until(unknown, ([, retry]) => retry?.status === 'TERMINATED')).map(textOf)).toEqual([
    'none\n',
    'none\n',
  ])
  for (const work of works) {
    const publishes = work.file === 'train.py'
    await expectDone(work, [first, first, other], ['NONE', 'HERE1', publishes ? 'FETCHED2' : 'FETCHED1'])
    const [, lost, after] = (await fleet.chain(work.chainId)).map(stepsOf)
    if (publishes) expect(after![0]).toBeGreaterThan(lost![0]!)
    else expect(after![0]).toBe(lost![0])
  }
  await other.agent.stop()
})

test.each([
  ['python3', 'count.py'],
  ['sh', 'count.sh'],
])('without the checkpoint that there is, %s %s says so and begins again', async (interpreter, file) => {
  const child = spawn(interpreter, [join(laptop, file)], await lonely())
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await eventually(() => stdout.startsWith('step 1\n'))
  child.kill('SIGKILL')
  await once(child, 'close')
  expect(stderr).toBe('without the checkpoint of attempt 2: from the beginning\n')
})

test('without it, the training leaves the place to another attempt', async () => {
  const { cwd, env } = await lonely()
  const ended = promisify(execFile)('python3', [join(laptop, 'train.py')], { cwd, env })
  await expect(ended).rejects.toMatchObject({ code: 75, stdout: '' })
  expect(readdirSync(cwd)).toEqual([])
})

async function lonely() {
  const cwd = await temporaryDirectory('lonely')
  const given = { REPRISE_CHAIN_DIR: cwd, REPRISE_CHECKPOINT: 'missing', REPRISE_CHECKPOINT_ATTEMPT: '2' }
  return { cwd, env: cleanEnvironment({ ...given, PYTHONUNBUFFERED: '1' }) }
}

/** All programs, each ended once on the first of two machines, in whose directory it would go on. */
async function beginOnFirst(...names: [string, string]) {
  const [first, second] = [await machine(names[0]), await machine(names[1])]
  await command('agents', 'drain', second.name).ended
  const works = await Promise.all(
    commands.map(async (typed) => {
      const work = await begin(typed)
      await saves(work, first)
      tell(work, first, work.file === 'count.py' ? 'SIGKILL' : 'SIGTERM')
      await isCopied(work)
      return work
    }),
  )
  return {
    works,
    first,
    second,
    /** The other one gets the work. */
    async die() {
      const attempts = await Promise.all(works.map(async ({ chainId }) => (await fleet.chain(chainId)).length))
      await dies(first)
      await command('agents', 'resume', second.name).ended
      await eventually(async () => (await fleet.agentStatus(first.name)) === 'LOST')
      for (const [index, work] of works.entries()) await isRetried(work, attempts[index]!)
    },
  }
}

/** It ended well, and all steps were done in their order, whatever was done twice. */
async function expectDone(work: Work, machines: Machine[], states: string[]): Promise<void> {
  const { status, stdout } = await work.ended
  expect([work.file, status, stdout.trim().split('\n').at(-1)]).toEqual([work.file, 0, results.get(work.file)])
  const chain = await fleet.chain(work.chainId)
  expect(chain.map(({ kernels }) => kernels[0]!.agent!.name)).toEqual(machines.map(({ name }) => name))
  expect(await found(work)).toEqual(states)
  let done = 0
  for (const [first, ...others] of chain.map(stepsOf)) {
    expect(first).toBeLessThanOrEqual(done + 1)
    done = first! + others.length
    expect(others).toEqual(Array.from(others, (_, index) => first! + 1 + index))
  }
}
