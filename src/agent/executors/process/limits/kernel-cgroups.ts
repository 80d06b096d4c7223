import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Controller,
  type KernelLimits,
  limitFiles,
  metersOf,
  type UsageMeters,
  type Version,
} from './cgroup-limits.ts'

/**
 * Cgroups of kernels, one per kernel, below `reprise-<hash of the agent's directory>`. There is one hierarchy (version
 * 2), or one per controller (version 1). A group contains everything that the kernel starts, however that detaches
 * itself. So it shows when the kernel has ended, and what is left to kill. Controllers that are writable also limit it.
 */
export interface KernelCgroups {
  readonly version: 1 | 2
  /** Whether memory limits can be set. */
  readonly limitsMemory: boolean
  /** Whether the operating system counts the memory of each group. */
  readonly metersMemory: boolean
  /** @throws if the operating system refuses */
  create(kernelId: string, limits: KernelLimits): KernelCgroup
  /** Returns the group that an earlier instance created; null if there is none. */
  existing(kernelId: string): KernelCgroup | null
  /** Returns how often the group's memory limit has killed a process. */
  oomKills(group: KernelCgroup): number
  members(group: KernelCgroup): number[]
  /** Kills everything in the group. @returns false while a process in it is still dying */
  empty(group: KernelCgroup): boolean
  /** @returns false while the group still contains a dying process */
  remove(group: KernelCgroup): boolean
  /** Removes the agent's own groups if no kernel's group is left. */
  close(): void
}

export interface KernelCgroup {
  /** The cgroup's directory in the hierarchy that is used to find the kernel's processes. */
  readonly path: string
  /** The cgroup's directories in all hierarchies. */
  readonly paths: readonly string[]
  readonly meters: UsageMeters
}

interface Hierarchy {
  /** The agent's own group in this hierarchy. */
  parent: string
  controllers: ReadonlySet<Controller>
}

const CONTROLLERS: readonly Controller[] = ['pids', 'memory', 'cpu', 'cpuacct']

/** @returns null if no hierarchy is writable. With `memory` false, memory limits are not wanted. */
export function openKernelCgroups(
  agentDir: string,
  { mount = '/sys/fs/cgroup', memory = true }: { mount?: string; memory?: boolean } = {},
): KernelCgroups | null {
  const name = `reprise-${createHash('sha256').update(agentDir).digest('hex').slice(0, 12)}`
  const version = existsSync(join(mount, 'cgroup.controllers')) ? 2 : 1
  const wanted = CONTROLLERS.filter(
    (controller) => (memory || controller !== 'memory') && (version === 1 || controller !== 'cpuacct'),
  )
  const hierarchies = version === 2 ? openVersion2(mount, name, wanted) : openVersion1(mount, name, wanted)
  const [first] = hierarchies
  // In version 1, a fork bomb could outrun the killing without `pids`.
  if (first === undefined || (version === 1 && !first.controllers.has('pids'))) {
    for (const { parent } of hierarchies) removeGroup(parent)
    return null
  }
  return cgroups(version, hierarchies)
}

/** Tries the top of the hierarchy, then this process's own group, which an administrator may have delegated. */
function openVersion2(mount: string, name: string, wanted: readonly Controller[]): Hierarchy[] {
  const own = /^0::(\/.*)$/m.exec(readIfThere('/proc/self/cgroup'))?.[1] ?? '/'
  for (const above of new Set([mount, join(mount, own)])) {
    const parent = join(above, name)
    try {
      accessSync(join(above, 'cgroup.procs'), constants.W_OK)
      mkdirSync(parent, { recursive: true })
      const delegated = wanted.filter((controller) => delegate(above, controller) && delegate(parent, controller))
      const controllers = new Set(delegated.filter((controller) => isUsable(2, parent, controller)))
      if (existsSync(join(parent, 'cgroup.kill'))) return [{ parent, controllers }]
    } catch {
      // The next place is tried.
    }
    removeGroup(parent)
  }
  return []
}

/** @returns false if the controller is not available, or the group contains processes itself */
function delegate(group: string, controller: Controller): boolean {
  try {
    writeFileSync(join(group, 'cgroup.subtree_control'), `+${controller}`)
    return true
  } catch {
    return false
  }
}

function openVersion1(mount: string, name: string, wanted: readonly Controller[]): Hierarchy[] {
  return wanted.flatMap((controller) => {
    const parent = join(mount, controller, name)
    try {
      accessSync(join(mount, controller, 'cgroup.procs'), constants.W_OK)
      mkdirSync(parent, { recursive: true })
      if (isUsable(1, parent, controller)) return [{ parent, controllers: new Set([controller]) }]
    } catch {
      // The controller is not mounted, or its directory belongs to another user.
    }
    removeGroup(parent)
    return []
  })
}

/** Detects at startup, rather than with the first kernel, that limits cannot be set. */
function isUsable(version: Version, parent: string, controller: Controller): boolean {
  const group = join(parent, 'probe')
  try {
    mkdirSync(group, { recursive: true })
    setLimits(version, group, new Set([controller]), { memoryBytes: 64 * 1024 * 1024, processes: 100, cpus: 1 })
    return true
  } catch {
    return false
  } finally {
    removeGroup(group)
  }
}

function setLimits(version: Version, group: string, controllers: ReadonlySet<Controller>, limits: KernelLimits): void {
  for (const { name, value, optional } of limitFiles(version, controllers, limits)) {
    if (optional === true && !existsSync(join(group, name))) continue
    writeFileSync(join(group, name), String(value))
  }
}

function cgroups(version: Version, hierarchies: readonly Hierarchy[]): KernelCgroups {
  const events = version === 2 ? 'memory.events' : 'memory.oom_control'
  const groupIn = (kernelId: string) => (each: Hierarchy) => ({ path: join(each.parent, kernelId), ...each })
  const limitsMemory = hierarchies.some(({ controllers }) => controllers.has('memory'))
  const members = ({ path }: KernelCgroup) => processIds(join(path, 'cgroup.procs'))
  return {
    version,
    limitsMemory,
    metersMemory: limitsMemory && (version === 1 || existsSync(join(hierarchies[0]!.parent, 'memory.peak'))),
    create(kernelId, limits) {
      const needed = hierarchies.filter(
        ({ controllers }, index) =>
          index === 0 ||
          controllers.has('memory') ||
          controllers.has('cpuacct') ||
          (controllers.has('cpu') && limits.cpus !== null),
      )
      const groups = needed.map(groupIn(kernelId))
      for (const { path, controllers } of groups) {
        mkdirSync(path, { recursive: true })
        setLimits(version, path, controllers, limits)
      }
      return asGroup(version, groups)
    },
    existing(kernelId) {
      const groups = hierarchies.map(groupIn(kernelId)).filter(({ path }) => existsSync(path))
      return groups.length === 0 ? null : asGroup(version, groups)
    },
    oomKills({ paths }) {
      const texts = paths.map((path) => readIfThere(join(path, events)))
      return texts.reduce((sum, text) => sum + Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0), 0)
    },
    members,
    empty(group) {
      if (members(group).length === 0) return true
      killAll(version, group)
      return members(group).length === 0
    },
    remove: ({ paths }) => paths.map(removeGroup).every(Boolean),
    close: () => hierarchies.forEach(({ parent }) => removeGroup(parent)),
  }
}

function asGroup(
  version: Version,
  groups: readonly { path: string; controllers: ReadonlySet<Controller> }[],
): KernelCgroup {
  const paths = groups.map(({ path }) => path)
  const pathOf = (wanted: Controller) =>
    version === 2 ? paths[0] : groups.find(({ controllers }) => controllers.has(wanted))?.path
  return { path: paths[0]!, paths, meters: metersOf(version, pathOf) }
}

/** Kills all processes, so that no new one can escape: version 2 kills all at once, version 1 forbids forks first. */
function killAll(version: Version, { path }: KernelCgroup): void {
  try {
    if (version === 2) return writeFileSync(join(path, 'cgroup.kill'), '1')
    writeFileSync(join(path, 'pids.max'), '0')
  } catch {
    // The group was removed meanwhile.
  }
  for (const pid of processIds(join(path, 'cgroup.procs'))) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has ended meanwhile.
    }
  }
}

function processIds(path: string): number[] {
  return readIfThere(path).split('\n').filter(Boolean).map(Number)
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
