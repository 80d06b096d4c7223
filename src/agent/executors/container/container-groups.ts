import { closeSync, constants, openSync, readdirSync, readSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { guarded } from '../../../waiting/wait.ts'
import { type KernelCgroup, openKernelCgroups } from '../process/limits/kernel-cgroups.ts'
import { readMeters } from '../process/limits/cgroup-limits.ts'
import type { EngineDescription } from './engine/engine.ts'

/**
 * A cgroup of the agent's around each container, where the agent may make one and the engine puts containers where it is
 * told. It has the memory limit and counts, and is still there when the engine has removed the container's own.
 */
export interface ContainerGroups {
  /** @throws if the operating system refuses */
  create(kernelId: string, limits: { memoryBytes: number | null; processes: number }): ContainerGroup
  existing(kernelId: string): ContainerGroup | null
  read(group: ContainerGroup): { peakMemoryBytes: number | null; cpuSeconds: number | null }
  /** Whether its memory limit has ended a process of it, as far as that can be told. */
  ranOutOfMemory(group: ContainerGroup, memoryBytes: number, exitCode: number): boolean
  /** When the engine has left it. */
  remove(group: ContainerGroup): void
  /** Removes what earlier instances have left of other kernels. */
  removeOthers(kernelIds: ReadonlySet<string>): void
  close(): void
}

export interface ContainerGroup extends KernelCgroup {
  /** For the engine: from the top of the hierarchies. */
  readonly parent: string
}

const MOUNT = '/sys/fs/cgroup'
const SIGKILLED = 137
/** Where Podman has what watches a container. */
const CONMON = 'conmon'
const PROBE = 'probe'
const SWEEP_AGAIN_MS = 1_000
/** A limit that is reached is used up but for less than this. */
const FULL = 0.98

/** @returns null where it cannot be done */
export function openContainerGroups(agentDir: string, engine: EngineDescription): ContainerGroups | null {
  if (process.getuid?.() !== 0 || engine.cgroupDriver !== 'cgroupfs') return null
  const groups = openKernelCgroups(agentDir)
  if (groups === null || !groups.limitsMemory) return null
  const { version } = groups
  let own: string | null = null
  let timer: NodeJS.Timeout | undefined
  const leaving = new Set<string>()

  /** What watches a container, and is in the group with it, ends a moment later. */
  function sweep(): void {
    timer = undefined
    for (const parent of leaving) if (removeEverywhere(version, parent)) leaving.delete(parent)
    if (leaving.size > 0) timer ??= setTimeout(guarded(sweep, sweepLater), SWEEP_AGAIN_MS).unref()
  }

  /** What could not be looked at now is looked at again. */
  function sweepLater(): void {
    timer ??= setTimeout(guarded(sweep, sweepLater), SWEEP_AGAIN_MS).unref()
  }

  const asGroup = (group: KernelCgroup): ContainerGroup => {
    // In version 1 each hierarchy has it under the same path.
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
      if (exitCode === 0) return false
      if (groups.oomKills(group) > 0) return true
      if (version === 2) return false
      // Version 1 counts kills only in the container's own group, which is gone.
      const logged = hasLoggedOomKill(group.parent)
      if (logged !== null) return logged
      // Files that are kept in memory reach the limit, too, but kill nothing.
      return exitCode === SIGKILLED && (readMeters(group.meters).peakMemoryBytes ?? 0) >= memoryBytes * FULL
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

/** In version 1 engines make groups in every hierarchy, and leave them there. @returns whether nothing is left */
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
 * Whether the operating system's log has a kill for lack of memory in this cgroup or one below it; null where the log
 * cannot be read. It goes back some thousand messages.
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

/** One at a time; null behind the last. EPIPE: the log has overtaken the reader, who goes on with the oldest. */
function readRecord(fd: number, buffer: Buffer): string | null {
  try {
    return buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, null))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPIPE' ? '' : null
  }
}
