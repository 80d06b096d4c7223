import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import {
  makeOrdinaryUser,
  type OrdinaryUser,
  whyNoOrdinaryUserOfSlurm,
} from '../../support/containers/ordinary-user.ts'
import { type ProgramOfUser, startAs } from '../../support/containers/program-of-user.ts'
import { eventually } from '../../support/eventually.ts'
import { commandLine } from '../../support/programs/command-line.ts'
import { type SlurmCluster, startSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { PATIENT_LEASE, type RemoteFleet, startRemoteFleet, textOf } from './remote-fleet.ts'
import { chmodSync, lstatSync, mkdtempSync, readdirSync } from 'node:fs'
import { expectMissing, expectPublishedToOutlive, expectUploadOn } from './expect-relay.ts'
import { expectOwnFiles } from './relayed-work.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { jobUsers, USER_NAMES, whyNoJobUsers } from '../../support/slurm/job-users.ts'
import { sharedSlurmCluster } from '../../support/slurm/shared-cluster.ts'
import { endKernelsOf } from './kernel-notes.ts'

const AM_ROOT = whyNoJobUsers() === null

/** On red and blue jobs are those of the project's user, who is another on each. */
type SlurmAgentName = 'plain' | 'red' | 'blue'
type AgentName = 'process' | SlurmAgentName
const SLURM_AGENTS: SlurmAgentName[] = AM_ROOT ? ['plain', 'red', 'blue'] : ['plain']

describe('ordinary slurm', () => {
  const SLOWLY_MS = 120_000
  const LONG = { timeout: 3 * SLOWLY_MS }

  const missing = whyNoSlurmCluster() ?? whyNoOrdinaryUserOfSlurm()

  /** A cluster of an ordinary user, and an agent of the same user that submits to it. */
  describe(`an agent of an ordinary user on Slurm${missing === null ? '' : `: ${missing}`}`, () => {
    const resources = new AsyncDisposableStack()
    let fleet: RemoteFleet
    let user: OrdinaryUser
    let environment: Record<string, string>
    let agentEnvironment: Record<string, string>
    let agent: ProgramOfUser

    beforeAll(async () => {
      if (missing !== null) return
      fleet = resources.use(await startRemoteFleet({ lease: PATIENT_LEASE }))
      environment = { REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken }
      user = resources.use(await makeOrdinaryUser(inject('runDirectory')))
      const program = user.inCheckout('test/support/programs/slurm-cluster-program.ts')
      const cluster = await startAs(user, [user.node, program, join(user.home, 'cluster')])
      const [, , config, shared] = (await cluster.says('cluster ready', SLOWLY_MS)).split(' ')
      agentEnvironment = {
        REPRISE_TOKEN: await fleet.token(),
        REPRISE_EXECUTOR: 'slurm',
        REPRISE_SLURM_DIR: shared!,
        REPRISE_SLURM_PARTITION: 'main',
        REPRISE_SLURM_POLL_MS: '500',
        SLURM_CONF: config!,
      }
      agent = await startAgent()
    }, SLOWLY_MS)
    afterAll(() => resources.disposeAsync())

    async function startAgent(): Promise<ProgramOfUser> {
      const args = ['agent', '--server', fleet.url, '--name', 'ordinary', '--data-dir', join(user.home, 'agent')]
      const started = await startAs(user, [user.node, user.inCheckout('bin/reprise.mjs'), ...args], agentEnvironment)
      await started.says('reprise agent ready', SLOWLY_MS)
      return started
    }

    const create = (script: string, more: object = {}) =>
      fleet.createSession({ command: ['sh', '-c', script], ...more })

    const queued = async () => (await user.run(['squeue', '--noheader'], agentEnvironment)).stdout.trim()

    test.skipIf(missing !== null)('runs sessions that succeed, fail and are stopped', LONG, async () => {
      const [fine, failed, long] = [
        await create('echo out; id -u'),
        await create('exit 7', { retryPolicy: { maxRetries: 1, retryDelay: 0.1 } }),
        await create('trap "echo told; exit 3" TERM; echo begun; while :; do sleep 0.1; done'),
      ]
      const [done] = await fleet.until(fine, ([first]) => first!.status === 'TERMINATED', SLOWLY_MS)
      expect(done).toMatchObject({ result: 'SUCCESS' })
      expect(textOf(done!)).toBe(`out\n${user.uid}\n`)
      const attempts = await fleet.until(failed, (chain) => chain[1]?.failureCause != null, SLOWLY_MS)
      expect(attempts.map(({ failureCause }) => failureCause)).toEqual(['KERNEL_NONZERO_EXIT', 'KERNEL_NONZERO_EXIT'])
      await fleet.until(long, ([first]) => textOf(first!) === 'begun\n', SLOWLY_MS)
      expect(await commandLine(environment)('cancel', long)).toMatchObject({ status: 0 })
      await fleet.until(long, ([first]) => first!.failureCause === 'USER_CANCELLED', SLOWLY_MS)
      await fleet.until(long, ([first]) => textOf(first!).includes('told\n'), SLOWLY_MS)
      await eventually(async () => (await queued()) === '', { withinMs: SLOWLY_MS })
    })

    test.skipIf(missing !== null)(
      'goes on with what ran when it was killed, and with what ended since',
      LONG,
      async () => {
        const gate = join(user.home, 'gate')
        const id = await create(`echo begun; while [ ! -e ${gate} ]; do sleep 0.1; done; echo done`)
        const short = await create(`while [ ! -e ${gate}.short ]; do sleep 0.1; done; echo short`)
        await fleet.until(id, ([first]) => textOf(first!) === 'begun\n', SLOWLY_MS)
        await fleet.until(short, ([first]) => first!.status === 'RUNNING', SLOWLY_MS)
        await agent.kill()
        await user.run(['touch', `${gate}.short`])
        await eventually(async () => (await queued()).split('\n').length === 1, { withinMs: SLOWLY_MS })
        agent = await startAgent()
        const [ended] = await fleet.until(short, ([first]) => first!.status === 'TERMINATED', SLOWLY_MS)
        expect(textOf(ended!)).toBe('short\n')
        await user.run(['touch', gate])
        const [done] = await fleet.until(id, ([first]) => first!.status === 'TERMINATED', SLOWLY_MS)
        expect(textOf(done!)).toBe('begun\ndone\n')
        expect([await fleet.chain(id), await fleet.chain(short)].map(({ length }) => length)).toEqual([1, 1])
      },
    )
  })
})

describe('relay slurm', () => {
  /** Checkpoints and uploads on their way between processes and jobs of two clusters. */

  const SLOWLY_MS = 180_000
  const LONG = { timeout: 3 * SLOWLY_MS }
  const missing = whyNoSlurmCluster()

  describe.skipIf(missing !== null)(`with Slurm${missing === null ? '' : `: ${missing}`}`, LONG, () => {
    let agents: SlurmFleet

    beforeAll(async () => {
      agents = await startSlurmFleet(['process', ...SLURM_AGENTS])
    }, SLOWLY_MS)
    afterAll(() => agents?.[Symbol.asyncDispose]())

    test('goes from processes to jobs, from cluster to cluster and back, and is each time the job’s own', async () => {
      const way = ['process', ...SLURM_AGENTS, 'process', ...SLURM_AGENTS.toReversed()] as const
      const { chainId, uids } = await expectOwnFiles(agents.fleet, way, SLOWLY_MS)
      for (const [index, name] of way.entries()) if (name !== 'process') expect(uids[index]).toBe(agents.uidOn(name))
      for (const path of ['', 'secret', 'deep', 'deep/secret', 'tool', 'link'])
        expect(lstatSync(join(agents.chainsOf(way.at(-1)!), chainId, path)).uid).toBe(uids.at(-1))
    })

    test('checkpoints that cannot be sent or fetched are missing', async () => {
      const name = SLURM_AGENTS.at(-1)!
      await expectMissing(agents.fleet, ['process', name], SLOWLY_MS)
      await expectMissing(agents.fleet, [name, 'process'], SLOWLY_MS)
    })

    test('uploaded code runs in a process, and then in jobs', async () => {
      const way = ['process', ...SLURM_AGENTS] as const
      const uids = await expectUploadOn(agents.fleet, way, SLOWLY_MS)
      for (const [index, name] of way.entries()) if (name !== 'process') expect(uids[index]).toBe(agents.uidOn(name))
    })
  })
})

describe('relay slurm losses', () => {
  /** Checks that the next attempt goes on from a publication after its agent is lost. Both tests wait for a fence. */

  const SLOWLY_MS = 180_000
  const LONG = { timeout: 3 * SLOWLY_MS }
  const missing = whyNoSlurmCluster()

  async function expectToOutlive(from: AgentName, to: AgentName, fenceMs: number): Promise<void> {
    await using agents = await startSlurmFleet([from, to])
    await expectPublishedToOutlive({
      fleet: agents.fleet,
      from,
      to,
      start: () => agents.startAgent(from),
      fenceMs,
      chains: agents.chainsOf(from),
      withinMs: SLOWLY_MS,
    })
  }

  describe
    .skipIf(missing !== null)
    .concurrent(`the agent of a job or a process is lost${missing === null ? '' : `: ${missing}`}`, LONG, () => {
      test('a publication of a job outlives its agent: a job of another cluster goes on from it', async () => {
        // Little more than the shortest with which jobs are started.
        await expectToOutlive(SLURM_AGENTS[1] ?? 'plain', SLURM_AGENTS[2] ?? 'process', 40_000)
      })

      test('a job goes on from the publication of a process whose agent is lost', async () => {
        await expectToOutlive('process', 'plain', 10_000)
      })
    })
})

/** A server and its agents, none of which sees the files of another. Blue has a cluster to itself. */
interface SlurmFleet extends AsyncDisposable {
  readonly fleet: RemoteFleet
  /** Starts the agent, in place of the one of this name. */
  startAgent(name: AgentName): Promise<SpawnedProgram>
  /** Directory of the chains on the agent. */
  chainsOf(name: AgentName): string
  /** The user of the agent's jobs. */
  uidOn(name: SlurmAgentName): number
}

async function startSlurmFleet(names: readonly AgentName[]): Promise<SlurmFleet> {
  const resources = new AsyncDisposableStack()
  const clusters = new Map<AgentName, SlurmCluster>()
  const shared = new Map<AgentName, string>()
  for (const name of names) {
    if (name === 'process') continue
    const cluster =
      name === 'blue'
        ? resources.use(await startSlurmCluster(await temporaryDirectory('slurm')))
        : await sharedSlurmCluster()
    const directory = mkdtempSync(join(cluster.shared, `${name}-`))
    chmodSync(directory, 0o711)
    clusters.set(name, cluster)
    shared.set(name, directory)
  }
  const fleet = resources.use(await startRemoteFleet())
  resources.defer(() => endKernelsOf(fleet))
  const token = await fleet.token()
  const agents = new Map<AgentName, SpawnedProgram>()

  function environmentOf(name: AgentName): Record<string, string> {
    if (name === 'process') return { REPRISE_ISOLATION: AM_ROOT ? 'user' : 'none' }
    return {
      REPRISE_EXECUTOR: 'slurm',
      REPRISE_SLURM_DIR: shared.get(name)!,
      REPRISE_SLURM_POLL_MS: '500',
      ...(name !== 'plain' && { REPRISE_SLURM_USERS: JSON.stringify({ default: USER_NAMES[name] }) }),
      SLURM_CONF: clusters.get(name)!.config,
    }
  }

  const slurmFleet: SlurmFleet = {
    fleet,
    async startAgent(name) {
      await agents.get(name)?.stop()
      const agent = await fleet.startAgent({ name, token, environment: environmentOf(name) })
      agents.set(name, agent)
      return agent
    },
    chainsOf(name) {
      if (name === 'process') return join(fleet.agentDir(name), 'chains')
      // An agent of Slurm has everything below its own id.
      const [agentId] = readdirSync(shared.get(name)!)
      return join(shared.get(name)!, agentId!, 'chains')
    },
    uidOn: (name) => (name === 'plain' ? process.getuid!() : jobUsers()[name]!.uid),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
  for (const name of names) await slurmFleet.startAgent(name)
  return slurmFleet
}
