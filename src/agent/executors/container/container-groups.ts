import { closeSync, constants, openSync, readdirSync, readSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { guarded } from '../../../waiting/wait.ts'
import { type KernelCgroup, openKernelCgroups } from '../process/limits/kernel-cgroups.ts'
import { readMeters } from '../process/limits/cgroup-limits.ts'
import type { EngineDescription } from './engine/engine-answers.ts'

/**
 * Cgroups of the agent around each container. They exist if the agent may create them, and the engine puts containers
 * there. Such a group has the memory limit and counts usage, and still exists when the engine has removed the
 * container's own group.
 */
export interface ContainerGroups {
  /** @throws if the operating system refuses */
  create(kernelId: string, limits: { memoryBytes: number | null; processes: number }): ContainerGroup
  existing(kernelId: string): ContainerGroup | null
  read(group: ContainerGroup): { peakMemoryBytes: number | null; cpuSeconds: number | null }
  /** Whether a process of the group was killed at the group's memory limit, as far as that can be known. */
  ranOutOfMemory(group: ContainerGroup, memoryBytes: number, exitCode: number): boolean
  /** Removes the group once the engine no longer uses it. */
  remove(group: ContainerGroup): void
  /** Removes groups that earlier instances have left of other kernels. */
  removeOthers(kernelIds: ReadonlySet<string>): void
  close(): void
}

export interface ContainerGroup extends KernelCgroup {
  /** The group's path for the engine, relative to the top of the hierarchies. */
  readonly parent: string
}

const MOUNT = '/sys/fs/cgroup'
const SIGKILLED = 137
/** Name of the group in which Podman runs a container's monitor. */
const CONMON = 'conmon'
const PROBE = 'probe'
const SWEEP_AGAIN_MS = 1_000
/** Peak usage counts as having reached the limit from this share on. */
const FULL = 0.98

/** @returns null if such groups cannot be created here */
export function openContainerGroups(agentDir: string, engine: EngineDescription): ContainerGroups | null {
  if (process.getuid?.() !== 0 || engine.cgroupDriver !== 'cgroupfs') return null
  const groups = openKernelCgroups(agentDir)
  if (groups === null || !groups.limitsMemory) return null
  const { version } = groups
  let own: string | null = null
  let timer: NodeJS.Timeout | undefined
  const leaving = new Set<string>()

  /** Removes empty groups. A container's monitor, which may be in its group, ends a moment later. */
  function sweep(): void {
    timer = undefined
    for (const parent of leaving) if (removeEverywhere(version, parent)) leaving.delete(parent)
    if (leaving.size > 0) timer ??= setTimeout(guarded(sweep, sweepLater), SWEEP_AGAIN_MS).unref()
  }

  /** Schedules another try for groups that could not be removed. */
  function sweepLater(): void {
    timer ??= setTimeout(guarded(sweep, sweepLater), SWEEP_AGAIN_MS).unref()
  }

  const asGroup = (group: KernelCgroup): ContainerGroup => {
    // In version 1 each hierarchy has the group under the same path.
    const below = version === 2 ? MOUNT : dirname(dirname(group.path))
    const parent = `/${relative(below, group.path)}`
    own = dirname(parent)
    return { ...group, parent }
  }
  return {
    create: (kernelId, limits) => asGroup(groups.create(kernelId, { ...limits, cpus: null })),
    existing(kernelId) {
      const group = groups.existing(kernelId)
      return group === null ? null : asGroup(group)
    },
    read: ({ meters }) => readMeters(meters),
    ranOutOfMemory(group, memoryBytes, exitCode) {
      if (groups.oomKills(group) > 0) return true
      // Version 1 counts kills, and how often the limit was reached, only in the container's own group, which is gone.
      const { peakMemoryBytes } = readMeters(group.meters)
      if (version === 2 || (peakMemoryBytes !== null && peakMemoryBytes < memoryBytes * FULL)) return false
      // Cached files can reach the limit, too, but then nothing is killed.
      return hasLoggedOomKill(group.parent) ?? (exitCode === SIGKILLED && peakMemoryBytes !== null)
    },
    remove(group) {
      leaving.add(group.parent)
      sweep()
    },
    removeOthers(kernelIds) {
      const probe = asGroup(groups.create(PROBE, { memoryBytes: null, processes: 1, cpus: null }))
      leaving.add(probe.parent)
      for (const name of readdirSync(dirname(probe.path))) {
        if (statSync(join(dirname(probe.path), name)).isDirectory() && !kernelIds.has(name))
          leaving.add(join(dirname(probe.parent), name))
      }
      sweep()
    },
    close() {
      clearTimeout(timer)
      timer = undefined
      for (const parent of leaving) removeEverywhere(version, parent)
      groups.close()
      if (own !== null) removeEverywhere(version, own)
    },
  }
}

/**
 * Removes the group from all hierarchies. In version 1, engines create groups in every one and leave them there.
 * @returns whether nothing is left
 */
function removeEverywhere(version: 1 | 2, parent: string): boolean {
  const tops = version === 2 ? [MOUNT] : readdirSync(MOUNT).map((hierarchy) => join(MOUNT, hierarchy))
  return tops.map((top) => removeGroup(join(top, parent, CONMON)) && removeGroup(join(top, parent))).every(Boolean)
}

function removeGroup(path: string): boolean {
  try {
    rmdirSync(path)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

/** Longer than any record. */
const RECORD_BYTES_MAX = 8192
const RECORDS_MAX = 200_000

/**
 * Whether the operating system's log reports a kill for lack of memory in this cgroup or one below it; null if the log
 * cannot be read. The log holds some thousand messages.
 */
function hasLoggedOomKill(group: string): boolean | null {
  let fd: number
  try {
    fd = openSync('/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    return null
  }
  try {
    const buffer = Buffer.alloc(RECORD_BYTES_MAX)
    const memcg = new RegExp(`oom_memcg=${group.replaceAll('.', String.raw`\.`)}[,/]`)
    for (let records = 0; records < RECORDS_MAX; records++) {
      const text = readRecord(fd, buffer)
      if (text === null) return false
      if (text.includes('oom-kill:') && memcg.test(text)) return true
    }
    return false
  } finally {
    closeSync(fd)
  }
}

/**
 * Reads one record; null after the last. On EPIPE, old records were overwritten, and reading continues with the oldest.
 */
function readRecord(fd: number, buffer: Buffer): string | null {
  try {
    return buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, null))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPIPE' ? '' : null
  }
}
