import { once } from 'node:events'
import { readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { fixedPort } from '../../support/agents/fixed-port.ts'
import { makeOrdinaryUser, type OrdinaryUser, whyNoOrdinaryUser } from '../../support/containers/ordinary-user.ts'
import { type ProgramOfUser, startAs } from '../../support/containers/program-of-user.ts'
import { BASE_IMAGE } from '../../support/containers/engines.ts'
import { archiveBase } from '../../support/containers/private-engine.ts'
import { eventually } from '../../support/eventually.ts'
import { commandLine, startCommand } from '../../support/programs/command-line.ts'
import { PATIENT_LEASE, type RemoteFleet, startRemoteFleet, textOf } from './remote-fleet.ts'
import { skipReason } from '../../support/distribution.ts'
import { endKernelsOf, lives, notingProgram } from './kernel-notes.ts'
import { lstatSync } from 'node:fs'
import { expectOwnFiles } from './relayed-work.ts'
import { execFile, execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { promisify } from 'node:util'

const run = promisify(execFile)

describe('ordinary user', () => {
  const SLOWLY_MS = 120_000
  const LONG = { timeout: 3 * SLOWLY_MS }
  const MAIN = 'bin/reprise.mjs'

  const missing = whyNoOrdinaryUser()

  /** Podman as its package has it, and an agent that is told no more than that it runs containers. */
  describe(`an agent of an ordinary user${missing === null ? '' : `: ${missing}`}`, () => {
    const resources = new AsyncDisposableStack()
    let fleet: RemoteFleet
    let user: OrdinaryUser
    let environment: Record<string, string>
    let token: string
    let podman: ProgramOfUser
    let agent: ProgramOfUser

    beforeAll(async () => {
      if (missing !== null) return
      fleet = resources.use(await startRemoteFleet({ lease: PATIENT_LEASE }))
      environment = { REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken }
      user = resources.use(await makeOrdinaryUser(inject('runDirectory')))
      // The other runtime wants cgroups of one version only.
      const settings = join(user.home, '.config/containers')
      await asUser('mkdir', '-p', settings)
      await writeFile(join(settings, 'containers.conf'), '[engine]\nruntime = "runc"\n')
      podman = await startPodman()
      await asUser('podman', 'import', await archiveBase(user.home), BASE_IMAGE)
      token = await fleet.token()
      agent = await startAgent()
    }, SLOWLY_MS)
    afterAll(() => resources.disposeAsync())

    async function asUser(...words: string[]): Promise<string> {
      const { status, stdout, stderr } = await user.run(words)
      if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}: ${stderr}`)
      return stdout
    }

    const startPodman = () => startAs(user, ['podman', 'system', 'service', '--time=0'])

    /** The service is a child of it, in which the user has users of its own. */
    async function killPodman(): Promise<void> {
      const gone = once(podman.child, 'exit')
      await asUser('pkill', '-KILL', '--full', '^podman system service')
      await gone
    }

    async function startAgent(): Promise<ProgramOfUser> {
      const args = ['agent', '--executor', 'container', '--server', fleet.url, '--name', 'ordinary']
      const words = [user.node, user.inCheckout(MAIN), ...args, '--data-dir', join(user.home, 'agent')]
      const started = await startAs(user, words, { REPRISE_TOKEN: token })
      await started.says('reprise agent ready', SLOWLY_MS)
      return started
    }

    const create = (script: string, more: object = {}) =>
      fleet.createSession({ image: BASE_IMAGE, command: ['sh', '-c', script], ...more })

    test.skipIf(missing !== null)('runs sessions that succeed, fail and are stopped', LONG, async () => {
      const [fine, failed, long] = [
        await create('echo out; id -u'),
        await create('exit 7', { retryPolicy: { maxRetries: 0 } }),
        await create('echo begun; sleep 1000'),
      ]
      const [done] = await fleet.until(fine, ([first]) => first!.status === 'TERMINATED', SLOWLY_MS)
      expect(done).toMatchObject({ result: 'SUCCESS' })
      // Inside it is root, and outside the agent's user.
      expect(textOf(done!)).toBe('out\n0\n')
      const [wrong] = await fleet.until(failed, ([first]) => first!.failureCause !== null, SLOWLY_MS)
      expect(wrong).toMatchObject({ status: 'ERROR', failureCause: 'KERNEL_NONZERO_EXIT' })
      await fleet.until(long, ([first]) => textOf(first!) === 'begun\n', SLOWLY_MS)
      expect(await commandLine(environment)('cancel', long)).toMatchObject({ status: 0 })
      await fleet.until(long, ([first]) => first!.failureCause === 'USER_CANCELLED', SLOWLY_MS)
      await eventually(async () => (await asUser('podman', 'ps', '--all', '--quiet')) === '', { withinMs: SLOWLY_MS })
    })

    test.skipIf(missing !== null)('enters a session, and reaches its loopback port', LONG, async () => {
      const port = await fixedPort()
      const program = `echo from inside >index.html; exec httpd -f -p 127.0.0.1:${port} -h "$PWD"`
      const id = await create(program, { sessionType: 'INTERACTIVE' })
      await fleet.until(id, ([first]) => first!.status === 'RUNNING', SLOWLY_MS)
      const words = ['exec', id, '--', 'sh', '-c', 'cat; exit 42']
      expect(await startCommand(words, environment, 'over there').ended).toMatchObject({
        status: 42,
        stdout: 'over there',
      })
      const forward = startCommand(['port-forward', id, `0:${port}`], environment)
      const [, here] = await eventually(() => /:(\d+) is forwarded/.exec(forward.output.stdout))
      expect(await (await fetch(`http://127.0.0.1:${here}/`)).text()).toBe('from inside\n')
      forward.child.kill('SIGINT')
      await forward.ended
      await commandLine(environment)('cancel', id)
    })

    test.skipIf(missing !== null)('is warned of limits that its engine cannot set, as doctor does', async () => {
      const controllers = await asUser('podman', 'info', '--format', '{{.Host.CgroupControllers}}')
      const controls = { memory: 'memory', cpu: 'CPU', pids: 'processes' }
      const lacks = Object.entries(controls).flatMap(([controller, what]) =>
        new RegExp(`\\b${controller}\\b`).test(controllers) ? [] : [what],
      )
      const warned = agent.lines.filter((line) => line.includes('cannot bound'))
      expect(warned).toHaveLength(lacks.length === 0 ? 0 : 1)
      // What it finds of the rest of the installation is not asked here.
      const { stdout } = await user.run([user.node, user.inCheckout(MAIN), 'doctor', '--json'])
      const { findings } = JSON.parse(stdout) as { findings: { what: string }[] }
      const found = expect.stringMatching(
        lacks.length === 0
          ? /rootless, at \S+$/
          : new RegExp(`rootless, at \\S+, cannot limit ${new Intl.ListFormat('en-GB').format(lacks)}$`),
      ) as string
      expect(findings.find(({ what }) => what === 'container engine')).toMatchObject({
        state: lacks.length === 0 ? 'ok' : 'warning',
        found,
      })
    })

    test.skipIf(missing !== null)('goes on with the kernels that ran when it was killed', LONG, async () => {
      const id = await create('echo begun; sleep 6; echo done')
      await fleet.until(id, ([first]) => textOf(first!) === 'begun\n', SLOWLY_MS)
      await agent.kill()
      agent = await startAgent()
      const [done] = await fleet.until(id, ([first]) => first!.status === 'TERMINATED', SLOWLY_MS)
      expect(textOf(done!)).toBe('begun\ndone\n')
      expect(await fleet.chain(id)).toHaveLength(1)
    })

    test.skipIf(missing !== null)(
      'says by a label that its engine does not answer, for as long as that is so',
      LONG,
      async () => {
        const labels = async () => {
          const { agents } = await fleet.graphql('{ agents { edges { node { labels { key value } } } } }')
          return agents.edges[0].node.labels as { key: string; value: string }[]
        }
        expect(await labels()).toEqual([])
        await killPodman()
        await eventually(async () => (await labels()).length > 0, { withinMs: SLOWLY_MS })
        expect(await labels()).toEqual([{ key: 'engine', value: 'unreachable' }])
        podman = await startPodman()
        await eventually(async () => (await labels()).length === 0, { withinMs: SLOWLY_MS })
      },
    )
  })
})

describe('namespace', () => {
  /** An agent on a network of its own, whose cable to the server is pulled: packets vanish, and no connection is told. */

  const why = skipReason('network-namespaces', whyNoNamespaces())

  describe.skipIf(why !== null)(`in a network namespace${why === null ? '' : ` (skipped: ${why})`}`, () => {
    let cable: Cable
    let fleet: RemoteFleet

    beforeAll(async () => {
      cable = await layCable()
      fleet = await startRemoteFleet({ host: cable.address })
    })
    afterAll(async () => {
      await cable.set('up')
      await endKernelsOf(fleet)
      await fleet[Symbol.asyncDispose]()
      await cable.remove()
    })

    test('an agent whose cable is pulled stops its kernels, and comes back when it is plugged in', async () => {
      await fleet.sql('UPDATE resource_groups SET fence_after_ms = 6000, stop_grace_ms = 1000')
      const { through, plug: spawned } = cable
      await fleet.startAgent({ name: 'cut-off', token: await fleet.token(), through, spawned })
      const command = ['sh', '-c', notingProgram(fleet, 'pulled', { first: 2_000, later: 5 })]
      const retryPolicy = { maxRetries: 2, retryDelay: 0.1, jitter: 'NONE' }
      const id = await fleet.createSession({ command, retryPolicy })
      await eventually(async () => (await lives(fleet, 'pulled')).length === 1, { withinMs: 120_000 })
      await fleet.until(id, ([first]) => first!.status === 'RUNNING')
      await fleet.startAgent({ name: 'beside', token: await fleet.token() })

      await cable.set('down')
      const chain = await fleet.until(id, (attempts) => attempts.at(-1)!.status === 'TERMINATED')
      expect(chain).toMatchObject([
        { status: 'ERROR', failureCause: 'AGENT_TRANSIENT', kernels: [{ agent: { name: 'cut-off' } }] },
        { status: 'TERMINATED', kernels: [{ agent: { name: 'beside' } }] },
      ])
      const [first, second] = await lives(fleet, 'pulled')
      expect(first!.told).toBe(true)
      expect(second!.firstAt).toBeGreaterThan(first!.lastAt)

      await cable.set('up')
      await eventually(async () => (await fleet.agentStatus('cut-off')) === 'ALIVE', { withinMs: 120_000 })
      expect(await lives(fleet, 'pulled')).toHaveLength(2)
    })
  })
})

describe('relay users', () => {
  /** Agents on which projects have user ids of their own, each from another range. */

  const RANGES = { one: [2_000_100_000, 2_000_100_999], two: [2_000_200_000, 2_000_200_999] } as const

  let fleet: RemoteFleet

  beforeAll(async () => {
    fleet = await startRemoteFleet()
    const token = await fleet.token()
    for (const [name, range] of Object.entries(RANGES)) {
      const environment = { REPRISE_ISOLATION: 'user', REPRISE_ISOLATION_UIDS: range.join('-') }
      if (isRoot) await fleet.startAgent({ name, token, environment })
    }
  })
  afterAll(async () => {
    await endKernelsOf(fleet)
    await fleet[Symbol.asyncDispose]()
  })

  const isRoot = process.getuid?.() === 0

  describe.skipIf(!isRoot)(`user ids${isRoot ? '' : ' (skipped: only root can give them)'}`, () => {
    test('a fetched checkpoint belongs to the user of the project on the fetching agent, which reads, changes and removes it', async () => {
      const { chainId, uids } = await expectOwnFiles(fleet, ['one', 'two', 'one'])
      for (const [index, name] of (['one', 'two', 'one'] as const).entries()) {
        const [first, last] = RANGES[name]
        expect(uids[index]).toBeGreaterThanOrEqual(first)
        expect(uids[index]).toBeLessThanOrEqual(last)
      }
      const directory = join(fleet.agentDir('two'), 'chains', chainId)
      for (const name of ['', 'secret', 'deep', 'deep/secret', 'tool', 'link'])
        expect(lstatSync(join(directory, name))).toMatchObject({ uid: uids[1], gid: uids[1] })
    })
  })
})

/** Why network namespaces cannot be used here; null if they can. */
function whyNoNamespaces(): string | null {
  if (process.platform !== 'linux') return 'only Linux has them'
  if (process.getuid!() !== 0) return 'they need root'
  try {
    execFileSync('unshare', ['-n', 'ip', 'link', 'show', 'lo'], { stdio: 'ignore' })
    const [one, other] = linkNames()
    execFileSync('ip', ['link', 'add', one, 'type', 'veth', 'peer', 'name', other], { stdio: 'ignore' })
    execFileSync('ip', ['link', 'del', one], { stdio: 'ignore' })
    return null
  } catch (error) {
    return `unshare and ip cannot make them: ${(error as Error).message.split('\n')[0]}`
  }
}

/** A virtual cable to a process in a network namespace of its own. */
interface Cable {
  /** Address of this end. */
  readonly address: string
  /** Command prefix that starts the process in the namespace. */
  readonly through: readonly string[]
  /** Moves the other end into the process's namespace. */
  plug(pid: number): Promise<void>
  /** `down`: packets are dropped silently. */
  set(state: 'up' | 'down'): Promise<void>
  remove(): Promise<void>
}

/** Namespace and cable disappear with the last process in the namespace. */
async function layCable(): Promise<Cable> {
  const [here, there] = linkNames()
  const subnet = `10.213.${randomInt(256)}`
  const ip = (...args: string[]) => run('ip', args)
  await ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there)
  await ip('addr', 'add', `${subnet}.1/30`, 'dev', here)
  await ip('link', 'set', here, 'up')
  return {
    address: `${subnet}.1`,
    through: ['unshare', '-n'],
    async plug(pid) {
      // Until the process has its own namespace, the other end would stay in this one.
      await eventually(async () => (await namespaceOf(pid)) !== (await namespaceOf('self')))
      await ip('link', 'set', there, 'netns', String(pid))
      const inside = (...args: string[]) => run('nsenter', ['-t', String(pid), '-n', 'ip', ...args])
      await inside('addr', 'add', `${subnet}.2/30`, 'dev', there)
      await inside('link', 'set', there, 'up')
    },
    async set(state) {
      await ip('link', 'set', here, state)
    },
    async remove() {
      await ip('link', 'del', here).catch(() => {})
    },
  }
}

function namespaceOf(pid: number | 'self'): Promise<string> {
  return readlink(`/proc/${pid}/ns/net`)
}

function linkNames(): [string, string] {
  const name = `rp${randomInt(1_000_000)}`
  return [`${name}a`, `${name}b`]
}
