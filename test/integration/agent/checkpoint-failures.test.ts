/** The table of failures in docs/checkpoints.md: each row is shown here, or by the test that is named. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { createHttpGateway } from '../../../src/agent/http-gateway.ts'
import { receiveKernelParts } from '../../../src/services/agent/kernel-blobs.ts'
import { createDirectoryBlobStore } from '../../../src/services/blob/directory-blob-store.ts'
import { ROOT } from '../../guard/source-files.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { TEST_RELAY } from '../../support/servers/test-code.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { chainsOnMachines, type Machine } from './chains-on-machines.ts'
import { killProcessesIn } from './processes.ts'

const given = useAgentProgram()
const { machine, restart, workGoesTo, begin, retryOn, attempt, found } = chainsOnMachines(given)

/** The checkpoints that the next attempts find: one on the agent with the directory, and one on another agent. */
interface Shown {
  there?: string
  elsewhere: string
}

/** By the row's first cell. */
const SHOWN_HERE: Record<string, () => Promise<Shown>> = {
  'The program exits with a code other than 0': () => bothWays('exit 3'),
  'The program is killed while it writes': () => bothWays('echo torn >state.new; kill -9 $$'),
  'The machine restarts in the middle of an attempt': async () => {
    const machines = await two()
    const chains = [await beginOn(machines.one, 'sleep 600'), await beginOn(machines.one, 'sleep 600')] as const
    for (const chainId of chains) await eventually(() => stateOf(machines.one, chainId) === '1')
    await machines.one.agent.stop()
    await killProcessesIn(machines.one.agentDir)
    await restart(machines.one)
    return goOn(machines, chains)
  },
  "The disk with the agent's data is lost": async () => {
    const machines = await two()
    const chains = await beginBoth(machines, 'exit 3')
    await machines.one.agent.stop()
    await rm(machines.one.chainsDir, { recursive: true })
    await restart(machines.one)
    return goOn(machines, chains)
  },
  'The network fails, or the server is killed, while the copy is sent': async () => {
    const { offerCheckpoint, sendParts } = given.gateway
    let failures = 0
    given.gateway.offerCheckpoint = (request, signal) =>
      failures++ < 2 ? Promise.reject(new Error('connect ECONNREFUSED')) : offerCheckpoint(request, signal)
    given.gateway.sendParts = async (request, body, signal) => {
      if (failures++ > 5) return sendParts(request, body, signal)
      // The first ones do not arrive, and the answer to the others does not.
      if (failures > 4) await sendParts(request, body, signal)
      throw new Error('socket hang up')
    }
    const shown = await bothWays('exit 3')
    expect(failures).toBeGreaterThan(5)
    return shown
  },
  'The disk is full while the program writes': async () =>
    bothWays('head -c 1000000 /dev/zero >state.new && mv state.new state; rm -f state.new; exit 3', {
      one: await smallDisk(),
    }),
  'The disk is full where the next attempt begins': async () => {
    const machines = await two({ two: await smallDisk() })
    const chainId = await beginOn(machines.one, LARGE)
    await attempt(chainId, 1)
    const elsewhere = await nextOn(machines.two, chainId)
    expect((await found(chainId, 2))?.note).toMatch(/; the servers have a copy, but it could not be written: ENOSPC/)
    return { elsewhere }
  },
  "The server's disk is full": async () => {
    const relay = { ...TEST_RELAY, blobs: createDirectoryBlobStore({ directory: await smallDisk() }) }
    given.gateway.sendParts = (request, body) => receiveKernelParts({ db: given.db, relay }, request, body)
    return bothWays(LARGE)
  },
  'It is larger than `REPRISE_CHECKPOINT_RELAY_MAX`': () => bothWays('truncate -s 65m large; exit 3'),
  'A proxy before the server refuses it as too large (413), or permanently for another reason': async () => {
    await using proxy = await refusingProxy(413)
    given.gateway.sendParts = proxy.gateway.sendParts
    const shown = await bothWays('exit 3')
    expect(proxy.requests()).toBe(2)
    return shown
  },
  'The server, or a proxy before it, refuses it temporarily (503)': async () => {
    await using proxy = await refusingProxy(503)
    const { sendParts } = given.gateway
    let isRefused = true
    given.gateway.sendParts = (...args) => (isRefused ? proxy.gateway.sendParts(...args) : sendParts(...args))
    const machines = await two()
    const goesTo = async (where: Machine) => {
      isRefused = true
      const refused = proxy.requests()
      // Content that the servers have already is not sent.
      const chainId = await beginOn(machines.one, 'head -c 8 /dev/urandom >unique; exit 3')
      await eventually(async () => (await phaseOf(chainId)) === 'SCHEDULED null')
      await retryOn(chainId, where)
      await eventually(async () => (await phaseOf(chainId)) === 'HELD PARENT_ALIVE')
      expect(proxy.requests()).toBeGreaterThan(refused)
      // The retry is due: it begins as soon as the copy has arrived.
      isRefused = false
      return foundBySecond(chainId)
    }
    return { there: await goesTo(machines.one), elsewhere: await goesTo(machines.two) }
  },
  'It has a link that leaves its directory': () => bothWays('ln -s /etc/hostname link; exit 3'),
}

async function phaseOf(chainId: string): Promise<string | undefined> {
  const { rows } = await given.db.query<{ phase: string; reason: string | null }>(
    `SELECT d.phase, d.hold_reason AS reason FROM retry_decisions d JOIN sessions s ON s.id = d.session_id
     WHERE s.chain_id = $1 AND s.attempt = 1`,
    [chainId],
  )
  return rows[0] && `${rows[0].phase} ${rows[0].reason}`
}

/** Answers all requests with this status, as soon as it has read a part of the body. */
async function refusingProxy(status: number) {
  let requests = 0
  const proxy = createServer((request, response) => {
    requests += 1
    request.once('data', () => response.writeHead(status).end('<html>refused</html>')).resume()
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return {
    gateway: createHttpGateway({ urls: [url], token: 'x', log: pino({ enabled: false }) }),
    requests: () => requests,
    [Symbol.asyncDispose]: async () => void proxy.close(),
  }
}

const LARGE = 'head -c 1000000 /dev/urandom >large; exit 3'

/** The file of the test, and its title. */
const SHOWN_ELSEWHERE: Record<string, readonly [string, string]> = {
  'The agent is restarted': [
    'test/e2e/remote/remote-agents.test.ts',
    'an agent that is killed finds its kernels again, and no line is missing',
  ],
  'The machine is lost between two attempts': [
    'test/e2e/remote/checkpoints.test.ts',
    'the second machine goes on where the first died',
  ],
  'The machine is lost in the middle of an attempt': [
    'test/e2e/remote/checkpoints.test.ts',
    'one that dies in the middle of an attempt takes back to what it has published, or the one before has left',
  ],
  'The shared file system is not mounted': [
    'test/integration/agent/checkpoints.test.ts',
    'a directory that is not the one it was is not taken for an empty store',
  ],
  '`REPRISE_CHECKPOINT_RELAY_MAX` is 0': [
    'test/integration/agent/checkpoints.test.ts',
    'a retry elsewhere learns that the checkpoint is missing, and a retry back finds no old one',
  ],
}

const rows = tableUnder('What each failure leaves')

test('each row is shown by a test', () => {
  const shown = [...Object.keys(SHOWN_HERE), ...Object.keys(SHOWN_ELSEWHERE)]
  expect(rows.map(({ failure }) => failure).toSorted()).toEqual(shown.toSorted())
  for (const [file, title] of Object.values(SHOWN_ELSEWHERE))
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(`'${title}'`)
})

const shownHere = rows.filter(({ failure }) => failure in SHOWN_HERE)

test.for(shownHere)('$failure', async ({ failure, there, elsewhere }, { skip }) => {
  skip(/disk is full/.test(failure) && process.getuid!() !== 0, 'mounts file systems')
  const shown = await SHOWN_HERE[failure]!()
  expect(shown).toEqual({ ...(shown.there !== undefined && { there: wordOf(there) }), elsewhere: wordOf(elsewhere) })
  expect(shown.there === undefined).toBe(there === '')
})

/** The word at the start of the cell. */
function wordOf(cell: string): string | undefined {
  return /^`(\w+)`/.exec(cell)?.[1]
}

interface Row {
  failure: string
  there: string
  elsewhere: string
}

/** The table under a heading of the page. */
function tableUnder(heading: string): Row[] {
  const page = readFileSync(join(ROOT, 'docs/checkpoints.md'), 'utf8')
  const section = page.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!
  const lines = section.split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) => {
    const [failure, there, elsewhere] = line.split('|').slice(1, -1)
    return { failure: failure!.trim(), there: there!.trim(), elsewhere: elsewhere!.trim() }
  })
}

async function two(disks: { one?: string; two?: string } = {}) {
  return { one: await machine('one', disks.one), two: await machine('two', disks.two) }
}

const mounts: string[] = []
afterEach(() => {
  for (const path of mounts.splice(0)) execFileSync('umount', ['--lazy', path])
})

/** A file system of 64 KiB. */
async function smallDisk(): Promise<string> {
  const path = await temporaryDirectory('disk')
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'reprise-test', path])
  mounts.push(path)
  return path
}

/** Says what it finds, leaves `state` with its attempt, and then does this in the directory. */
async function beginOn(where: Machine, then = 'exit 3'): Promise<string> {
  await workGoesTo(where)
  return begin(`cd "$REPRISE_CHAIN_DIR"; echo "$REPRISE_CHECKPOINT:$(cat state 2>/dev/null)"
    test $REPRISE_ATTEMPT = 1 || exit 0; printf 1 >state; ${then}`)
}

function stateOf({ chainsDir }: Machine, chainId: string): string {
  const path = join(chainsDir, chainId, 'state')
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

/** The second attempt goes there. */
async function nextOn(where: Machine, chainId: string): Promise<string> {
  await retryOn(chainId, where)
  return foundBySecond(chainId)
}

/** Returns what the second attempt finds: all that the first has left whole, or nothing. */
async function foundBySecond(chainId: string): Promise<string> {
  const [state, left] = (await attempt(chainId, 2)).split(':')
  expect(left).toBe(state === 'missing' ? '' : '1')
  return state!
}

type Machines = Awaited<ReturnType<typeof two>>

async function bothWays(then: string, disks: { one?: string } = {}): Promise<Shown> {
  const machines = await two(disks)
  return goOn(machines, await beginBoth(machines, then))
}

/** Two chains that fail like this, one after the other. */
async function beginBoth({ one }: Machines, then: string): Promise<readonly [string, string]> {
  const first = await beginOn(one, then)
  await attempt(first, 1)
  const second = await beginOn(one, then)
  await attempt(second, 1)
  return [first, second]
}

async function goOn({ one, two: other }: Machines, [here, away]: readonly [string, string]): Promise<Shown> {
  for (const chainId of [here, away]) expect(await attempt(chainId, 1)).toBe('none:')
  return { there: await nextOn(one, here), elsewhere: await nextOn(other, away) }
}
