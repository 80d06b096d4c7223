import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Memory limits by cgroups: one group per kernel below `reprise-<hash of the agent's directory>`. */
export interface MemoryCgroups {
  readonly version: 1 | 2
  /** @returns the group's directory. @throws if the operating system refuses. */
  create(kernelId: string, limitBytes: number): string
  /** The group that an earlier instance created; null if there is none. */
  existing(kernelId: string): string | null
  /** How often the group's limit has killed a process. */
  oomKills(group: string): number
  members(group: string): number[]
  /** @returns false while the group still contains a dying process */
  remove(group: string): boolean
  /** Removes the agent's own group if no kernel's group is left. */
  close(): void
}

/** @returns null if there is no writable memory controller */
export function openMemoryCgroups(agentDir: string, mount = '/sys/fs/cgroup'): MemoryCgroups | null {
  const version = existsSync(join(mount, 'cgroup.controllers')) ? 2 : 1
  const hierarchy = version === 2 ? mount : join(mount, 'memory')
  const parent = join(hierarchy, `reprise-${createHash('sha256').update(agentDir).digest('hex').slice(0, 12)}`)
  try {
    accessSync(join(hierarchy, 'cgroup.procs'), constants.W_OK)
    if (version === 2) delegateMemory(hierarchy)
    mkdirSync(parent, { recursive: true })
    if (version === 2) delegateMemory(parent)
    const groups = cgroups(version, parent)
    probe(groups)
    return groups
  } catch {
    removeGroup(parent)
    return null
  }
}

/** @throws if the controller is not available, or the group contains processes itself */
function delegateMemory(group: string): void {
  writeFileSync(join(group, 'cgroup.subtree_control'), '+memory')
}

/** Detects at startup, rather than with the first kernel, that limits cannot be set. */
function probe(groups: MemoryCgroups): void {
  groups.remove(groups.create('probe', 64 * 1024 * 1024))
}

function cgroups(version: 1 | 2, parent: string): MemoryCgroups {
  const [limit, swapLimit, events] =
    version === 2
      ? ['memory.max', 'memory.swap.max', 'memory.events']
      : ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes', 'memory.oom_control']
  return {
    version,
    create(kernelId, limitBytes) {
      const group = join(parent, kernelId)
      mkdirSync(group, { recursive: true })
      writeFileSync(join(group, limit), String(limitBytes))
      const swap = join(group, swapLimit)
      if (existsSync(swap)) writeFileSync(swap, version === 2 ? '0' : String(limitBytes))
      if (version === 2) writeFileSync(join(group, 'memory.oom.group'), '1')
      return group
    },
    existing: (kernelId) => (existsSync(join(parent, kernelId)) ? join(parent, kernelId) : null),
    oomKills: (group) => Number(/^oom_kill (\d+)$/m.exec(readIfThere(join(group, events)))?.[1] ?? 0),
    members: (group) => readIfThere(join(group, 'cgroup.procs')).split('\n').filter(Boolean).map(Number),
    remove: removeGroup,
    close: () => void removeGroup(parent),
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

function removeGroup(group: string): boolean {
  try {
    rmdirSync(group)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}
