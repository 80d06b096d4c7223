import { chmodSync, mkdtempSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { jobUsers, USER_NAMES, whyNoJobUsers } from '../../support/slurm/job-users.ts'
import { sharedSlurmCluster } from '../../support/slurm/shared-cluster.ts'
import { type SlurmCluster, startSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { type RemoteFleet, startRemoteFleet } from './remote-fleet.ts'

export const AM_ROOT = whyNoJobUsers() === null

/** On red and blue jobs are those of the project's user, who is another on each. */
export type SlurmAgentName = 'plain' | 'red' | 'blue'
export type AgentName = 'process' | SlurmAgentName
export const SLURM_AGENTS: SlurmAgentName[] = AM_ROOT ? ['plain', 'red', 'blue'] : ['plain']

/** A server and its agents, none of which sees the files of another. Blue has a cluster to itself. */
export interface SlurmFleet extends AsyncDisposable {
  readonly fleet: RemoteFleet
  /** Starts the agent, in place of the one of this name. */
  startAgent(name: AgentName): Promise<SpawnedProgram>
  /** Where the agent has directories of chains. */
  chainsOf(name: AgentName): string
  /** The user of the agent's jobs. */
  uidOn(name: SlurmAgentName): number
}

export async function startSlurmFleet(names: readonly AgentName[]): Promise<SlurmFleet> {
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
