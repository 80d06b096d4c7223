import type { Retention } from '../../../domain/retention.ts'
import type { PullPolicy, ResolvedImage } from './engine/pull-image.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { type KernelEntry, newKernelEntry } from '../kernels/kernel-entry.ts'
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
  /** Patterns of images that sessions may name; `*` stands for anything. */
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

export interface ContainerKernel extends KernelEntry {
  /** Its directory has everything that it needs. */
  isPlaced: boolean
  image: ResolvedImage | null
  /** The owner of its directories; null for the agent's own user. */
  uid: number | null
  memoryLimitBytes: number | null
  /** The request that creates the container, as written to its run script. */
  body: CreateBody | null
  containerId: string | null
  /** The first process of its container, as it began; null if it was not seen. */
  first: ProcStat | null
  /**
   * The clocks when it began, which convert the engine's wall-clock times. Null if that was before the machine
   * restarted.
   */
  clocks: ClockReading | null
  /** The clocks when its end was first known here. */
  noticed: ClockReading | null
  /** This or an earlier instance may have started the container. Then, if it has ended, it is not started again. */
  maybeStarted: boolean
  /** A time of `performance.now()`, at which its process was gone although the engine reported it as running. */
  goneAt: number | null
  group: ContainerGroup | null
  follower: LogFollower | null
  /** Its files contain its complete output. */
  logsComplete: boolean
  /** A time of `performance.now()`: when it was handed over, and later when it began. */
  launchedAt: number
  /** Set once the container has ended, while its output is fetched. */
  ending: object | null
  /** Asks its processes to end; null if that has not begun. */
  terminating: Promise<void> | null
  /** It is being stopped, and its first process is suspended until the others have ended. */
  held: boolean
  /** A time of `performance.now()`. */
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
