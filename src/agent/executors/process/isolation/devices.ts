import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Accelerators: NVIDIA, AMD, and what the direct rendering manager offers. */
const ACCELERATORS = /^(nvidia.*|kfd|dri|accel|davinci.*)$/

/** Slots that need no device. */
const WITHOUT_DEVICE = new Set(['cpu', 'mem'])

export interface Devices {
  nodes: string[]
  /** By which a user that has nothing else may open them. */
  groups: number[]
}

const NONE: Devices = { nodes: [], groups: [] }

/** What a kernel with these slots may use. */
export function devicesFor(slots: Readonly<Record<string, string>>, root = '/dev'): Devices {
  const needed = Object.entries(slots).some(([slot, amount]) => !WITHOUT_DEVICE.has(slot) && Number(amount) > 0)
  if (!needed) return NONE
  const nodes = readdirSync(root)
    .filter((name) => ACCELERATORS.test(name))
    .map((name) => join(root, name))
  const all = nodes.flatMap((path) => (statSync(path).isDirectory() ? filesIn(path) : [path]))
  const groups = all
    .map((path) => statSync(path))
    .filter((stat) => (stat.mode & 0o060) !== 0)
    .map(({ gid }) => gid)
  return { nodes, groups: [...new Set(groups)].filter((gid) => gid !== 0) }
}

function filesIn(directory: string): string[] {
  return readdirSync(directory)
    .map((name) => join(directory, name))
    .filter((path) => !statSync(path).isDirectory())
}
