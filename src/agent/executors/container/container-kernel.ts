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
  /** Names of the projects that may use it; null: all. */
  projects: string[] | null
}

export interface ContainerOptions {
  /** For sessions that name none. */
  image?: string | undefined
  /** Patterns of images that sessions may name; `*` stands for anything. */
  allow: readonly string[]
  pull: PullPolicy
  /** Of images that the agent has pulled and nothing uses. */
  imageKeep: Retention
  /** Docker's config.json. */
  authFile?: string | undefined
  /** `default` for the engine's own, `none`, `host`, or one by name. */
  network: string
  /** What sessions may ask for by name. */
  volumes: readonly ContainerVolume[]
  /** The engine's default where it is not set. */
  runtime?: string | undefined
  processes: number
  shmBytes: number
  /** The image's files cannot be changed. */
  readOnly: boolean
  /** Containers that are created or started at a time. */
  parallel: number
}

export interface ContainerKernel extends KernelEntry {
  /** Its directory has everything that it needs. */
  isPlaced: boolean
  image: ResolvedImage | null
  /** To whom its directories belong; null for the agent's own user. */
  uid: number | null
  memoryLimitBytes: number | null
  /** Written to its run script: what the container is created from. */
  body: CreateBody | null
  containerId: string | null
  /** The first process of its container, as it began; null where it was not seen. */
  first: ProcStat | null
  /** Read when it began: its engine tells of its end by the wall clock. Null where that was in an earlier boot. */
  clocks: ClockReading | null
  /** Read when its end was first known here. */
  noticed: ClockReading | null
  /** The container may have been started, by this instance or an earlier one: one that has ended is not started again. */
  maybeStarted: boolean
  /** As `performance.now()`: that process was found gone, while the engine called the container running. */
  goneAt: number | null
  group: ContainerGroup | null
  follower: LogFollower | null
  /** Its output is complete in its files. */
  logsComplete: boolean
  /** As `performance.now()`: when it was handed over, and then when it began. */
  launchedAt: number
  /** The container has ended; its output is being taken. */
  ending: object | null
  /** As `performance.now()`. */
  killAgainAt: number
  /** The engine is to be asked again, at this time of `performance.now()`. */
  askAt: number
  /** The step of it that is under way; another is to follow. */
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
    killAgainAt: 0,
    askAt: Number.POSITIVE_INFINITY,
    advancing: null,
    again: false,
  }
}

/** By it, the engine refuses a second container of the same assignment. */
export function containerName({ id, assignment }: ContainerKernel): string {
  return `reprise-${id}-${assignment}`
}
