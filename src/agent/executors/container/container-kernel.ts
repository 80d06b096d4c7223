import type { Retention } from '../../../domain/retention.ts'
import type { PullPolicy, ResolvedImage } from './engine/pull-image.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { type GpuKernel, NO_GPUS } from '../../gpus/kernel-gpus.ts'
import { newKernelEntry } from '../kernels/kernel-entry.ts'
import { memoryLimit } from '../process/process-host.ts'
import type { ProcStat } from '../process/proc-stat.ts'
import type { ContainerGroup } from './container-groups.ts'
import type { CreateBody } from './engine/engine-client.ts'
import type { LogFollower } from './follow-logs.ts'
import type { ClockReading } from '../time-limit.ts'

/** A directory that sessions may ask for by name. */
export interface ContainerVolume {
  name: string
  source: string
  readOnly: boolean
  /** Names of the projects that may use it; null for all. */
  projects: string[] | null
}

export interface ContainerOptions {
  /** Image of sessions that name none. */
  image?: string | undefined
  /** Patterns of images that sessions may name; `*` matches any text. */
  allow: readonly string[]
  pull: PullPolicy
  /** How long to keep images that the agent has pulled and nothing uses. */
  imageKeep: Retention
  /** Docker's config.json. */
  authFile?: string | undefined
  /** `default` for the engine's own, `none`, `host`, or the name of a network. */
  network: string
  /** Volumes that sessions may ask for by name. */
  volumes: readonly ContainerVolume[]
  /** If not set, the engine's default. */
  runtime?: string | undefined
  processes: number
  shmBytes: number
  /** The image's files cannot be changed. */
  readOnly: boolean
  /** Number of containers that are created or started at the same time. */
  parallel: number
}

export interface ContainerKernel extends GpuKernel {
  /** Its directory contains everything that the kernel needs: uploaded code and checkpoint. */
  isPlaced: boolean
  image: ResolvedImage | null
  /** The owner of its directories; null for the agent's own user. */
  uid: number | null
  memoryLimitBytes: number | null
  /** The request that creates the container, as written to its run script. */
  body: CreateBody | null
  containerId: string | null
  /** The container's first process, read when the container began; null if the process was already gone then. */
  first: ProcStat | null
  /**
   * The clocks when the container began. They convert the engine's wall-clock times to uptimes. Null if it began before
   * the machine's last restart.
   */
  clocks: ClockReading | null
  /** The clocks when this agent first noticed that the container had ended. */
  noticed: ClockReading | null
  /**
   * Whether this or an earlier instance of the agent may have started the container. If so, a container that has ended
   * is not started again.
   */
  maybeStarted: boolean
  /**
   * Time of `performance.now()` at which the container's process was first found gone although the engine reported it
   * as running.
   */
  goneAt: number | null
  group: ContainerGroup | null
  follower: LogFollower | null
  /** The kernel's log files contain the complete output. */
  logsComplete: boolean
  /**
   * Time of `performance.now()` at which the start was ordered; once the container has begun, the time at which it
   * began.
   */
  launchedAt: number
  /** Set once the container has ended, while its output is fetched. */
  ending: object | null
  /** Asks its processes to end; null if that has not begun. */
  terminating: Promise<void> | null
  /** The container is being stopped, and its first process is suspended until the others have ended. */
  held: boolean
  /** Time of `performance.now()` before which the kernel is not killed again. */
  killAgainAt: number
  /** Time of `performance.now()` at which the engine has to be asked again. */
  askAt: number
  /** The step that is in progress. `again` is true if another must follow. */
  advancing: Promise<void> | null
  again: boolean
}

export function newContainerKernel(spec: KernelSpec, assignment: number, path: string): ContainerKernel {
  return {
    ...newKernelEntry(spec, assignment, path),
    ...NO_GPUS,
    token: String(assignment),
    isPlaced: false,
    image: null,
    uid: null,
    memoryLimitBytes: memoryLimit(spec),
    body: null,
    containerId: null,
    first: null,
    clocks: null,
    noticed: null,
    maybeStarted: false,
    goneAt: null,
    group: null,
    follower: null,
    logsComplete: false,
    launchedAt: 0,
    ending: null,
    terminating: null,
    held: false,
    killAgainAt: 0,
    askAt: Number.POSITIVE_INFINITY,
    advancing: null,
    again: false,
  }
}

/** Returns the container's name, by which the engine refuses a second container of the same assignment. */
export function containerName({ id, assignment }: ContainerKernel): string {
  return `reprise-${id}-${assignment}`
}
