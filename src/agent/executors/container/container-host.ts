import type { Logger } from '../../../observability/log.ts'
import type { CodeHost } from '../kernels/kernel-code.ts'
import type { KernelRegistry } from '../kernels/kernel-registry.ts'
import type { ChainHost } from '../chain/chain-host.ts'
import type { Keeper } from '../process/fence/keeper.ts'
import type { ContainerGroups } from './container-groups.ts'
import type { ContainerKernel, ContainerOptions } from './container-kernel.ts'
import type { EngineContact } from './engine-contact.ts'
import type { Engine, EngineDescription } from './engine/engine.ts'
import type { ImagePuller } from './engine/pull-image.ts'
import type { SessionNetworks } from './session-networks.ts'
import type { LimitFunction } from 'p-limit'
import { DEFAULT_UIDS, openProjectUids, type UidRange } from '../process/isolation/project-uids.ts'

/** The state that all steps of a kernel's life share. */
export interface ContainerHost extends Omit<ChainHost, 'registry'>, Omit<CodeHost<ContainerKernel>, 'registry'> {
  readonly agentId: string
  readonly agentDir: string
  readonly bootId: string
  readonly options: ContainerOptions
  readonly engine: Engine
  readonly description: EngineDescription
  readonly users: ContainerUsers
  /** Null where the agent can make none. */
  readonly groups: ContainerGroups | null
  readonly images: ImagePuller
  readonly networks: SessionNetworks
  /** In which containers are created and started. */
  readonly limit: LimitFunction
  readonly keeper: Keeper
  readonly registry: KernelRegistry<ContainerKernel>
  readonly log: Logger
  /** The engine has a program that passes on signals and waits for orphans; found out with the first container. */
  hasInit: boolean
  readonly contact: EngineContact
  /** Takes the next step of a kernel, as the engine tells. */
  advance(kernel: ContainerKernel): void
  /** Schedules a look at the kernels. */
  wake(): void
}

/** As whom kernels run, and to whom their directories belong. */
interface ContainerUsers {
  /** Of kernels of a project: the owner of its directories, null for the agent's own user, and the user inside. */
  of(projectId: string | null): { uid: number | null; inside: string }
  /** Whether others than the agent pass through its directories to theirs. */
  readonly areOthers: boolean
}

/**
 * With root's engine each project has a user of its own. The engine of an ordinary user has a user namespace, in which
 * root is that very user: a kernel runs as this root, without any of its rights, and its files are the agent's.
 */
export function openContainerUsers(
  agentDir: string,
  engine: EngineDescription,
  range: UidRange | undefined,
): ContainerUsers {
  if (engine.rootless) return { areOthers: false, of: () => ({ uid: null, inside: '0:0' }) }
  const uids = openProjectUids(agentDir, range ?? DEFAULT_UIDS)
  return {
    areOthers: true,
    of(projectId) {
      const uid = uids.of(projectId)
      return { uid, inside: `${uid}:${uid}` }
    },
  }
}
