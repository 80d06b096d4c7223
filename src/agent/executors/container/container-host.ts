import type { Gpus } from '../../gpus/gpu-watch.ts'
import type { Logger } from '../../../observability/log.ts'
import type { CodeHost } from '../kernels/kernel-code.ts'
import type { KernelRegistry } from '../kernels/kernel-steps.ts'
import type { ChainHost } from '../chain/chain-host.ts'
import type { Keeper } from '../process/fence/keeper.ts'
import type { ContainerGroups } from './container-groups.ts'
import type { ContainerKernel, ContainerOptions } from './container-kernel.ts'
import type { EngineContact } from './engine-contact.ts'
import type { Engine } from './engine/engine.ts'
import type { EngineDescription } from './engine/engine-answers.ts'
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
  /** Null if the agent cannot create any. */
  readonly groups: ContainerGroups | null
  readonly images: ImagePuller
  readonly networks: SessionNetworks
  /** Null if the agent sees no GPUs, and then containers get them by their numbers. */
  readonly gpus: Gpus | null
  /** Limits how many containers are created and started at once. */
  readonly limit: LimitFunction
  readonly keeper: Keeper
  readonly registry: KernelRegistry<ContainerKernel>
  readonly log: Logger
  /** Whether the engine has a program that passes on signals and waits for orphans. The first container shows it. */
  hasInit: boolean
  readonly contact: EngineContact
  /** Takes the next step of a kernel, depending on what the engine reports. */
  advance(kernel: ContainerKernel): void
  /** Schedules a check of the kernels. */
  wake(): void
}

/** The users as whom kernels run, and who own their directories. */
interface ContainerUsers {
  /**
   * Returns, for kernels of a project, the owner of their directories, null for the agent's own user, and the user
   * inside.
   */
  of(projectId: string | null): { uid: number | null; inside: string }
  /** Whether other users than the agent's pass through its directories to theirs. */
  readonly areOthers: boolean
}

/**
 * Chooses the users. With root's engine, each project has its own user. The engine of an ordinary user has a user
 * namespace, in which root is that same user: a kernel runs as this root, but without root's rights, and its files
 * belong to the agent.
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
