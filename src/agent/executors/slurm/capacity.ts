import { isDeepStrictEqual } from 'node:util'
import { GPU_SLOTS, type GpuSlot } from '../../../domain/gpu.ts'

/** Resources that a partition offers. Amounts are exact decimals as text, with `mem` in bytes. */
export interface Capacity {
  /** Sum over all usable nodes, including what other jobs use, times `factor`. */
  slots: Record<string, string>
  /** Largest amount of each resource on a single node, including nodes that are down, which may return at any time. */
  slotsPerKernelMax: Record<string, string>
  nodes: readonly Node[]
}

export const SINFO_FORMAT = 'NodeList:|,StateLong:|,CPUsState:|,Memory:|,Gres:|'

const MIB = 1024 * 1024
const UNUSABLE = /^(down|drain|fail|maint|planned|reboot|power|inval|unk|no_respond|future|perfctrs)/

export interface Node {
  name: string
  /** The node accepts jobs: it can start them at once, or after those that it has now. */
  usable: boolean
  /** Everything that the node has, including what is in use. */
  amounts: Map<string, number>
  gpus: readonly NodeGpus[]
}

/** GPUs of one type on a node. */
export interface NodeGpus {
  slot: GpuSlot
  /** The type's name in Slurm; null if it has none. */
  type: string | null
  count: number
}

/**
 * @param gres slot → name of Slurm's generic resource
 * @param factor slots offered, as a multiple of what the nodes have
 * @throws if a line does not have SINFO_FORMAT
 */
export function parseCapacity(text: string, gres: Readonly<Record<string, string>>, factor: number): Capacity {
  const nodes = parseNodes(text, gres)
  const usable = nodes.filter((node) => node.usable)
  const names = ['cpu', 'mem', ...Object.keys(gres)]
  const each = (of: readonly Node[], combine: (amounts: number[]) => number) =>
    Object.fromEntries(
      names
        .map((name): [string, number] => [name, combine(of.map(({ amounts }) => amounts.get(name) ?? 0))])
        .filter(([name, amount]) => amount > 0 || name === 'cpu' || name === 'mem')
        .map(([name, amount]) => [name, String(Math.floor(amount))]),
    )
  return {
    slots: each(usable, (amounts) => amounts.reduce((sum, amount) => sum + amount, 0) * factor),
    slotsPerKernelMax: each(nodes, (amounts) => Math.max(0, ...amounts)),
    nodes,
  }
}

/**
 * A smaller relative change of the sums causes no new registration, because nodes of large clusters go down and return
 * all the time.
 */
const CHANGE_MIN = 0.05

/** Returns whether the offer has changed enough for a new registration. */
export function hasChanged(offered: Capacity, now: Capacity): boolean {
  const slots = new Set([offered, now].flatMap((each) => Object.keys(each.slots)))
  const moved = [...slots].some((slot) => {
    const [before, after] = [Number(offered.slots[slot] ?? 0), Number(now.slots[slot] ?? 0)]
    return Math.abs(after - before) > before * CHANGE_MIN
  })
  const models = ({ nodes }: Capacity) => new Set(nodes.filter(({ usable }) => usable).flatMap(modelsOf))
  return (
    moved ||
    !isDeepStrictEqual(offered.slotsPerKernelMax, now.slotsPerKernelMax) ||
    !isDeepStrictEqual(models(offered), models(now))
  )
}

function modelsOf({ gpus }: Node): string[] {
  return gpus.map(({ slot, type, count }) => `${slot} ${type} ${count}`)
}

/** Parses the list of nodes. A node is listed once for each partition, and is returned once. */
function parseNodes(text: string, gres: Readonly<Record<string, string>>): Node[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return [...new Map(lines.map((line) => parseNode(line, gres)).map((node) => [node.name, node])).values()]
}

function parseNode(line: string, gres: Readonly<Record<string, string>>): Node {
  const [name, state, cpus, memory, resources] = line.split('|')
  // The counts are: allocated, idle, other, total.
  const total = Number(cpus?.split('/')[3])
  if (!name || !state || !Number.isFinite(total) || !/^\d+\+?$/.test(memory ?? '')) {
    throw new Error(`sinfo answers with a line of another format: ${line.slice(0, 200)}`)
  }
  const generic = Object.entries(gres).map(([slot, wanted]): [string, number] => [
    slot,
    kindsOf(resources ?? '', wanted).reduce((sum, { count }) => sum + count, 0),
  ])
  const gpus = GPU_SLOTS.flatMap((slot) =>
    kindsOf(resources ?? '', gres[slot] ?? '').map((kind): NodeGpus => ({ slot, ...kind })),
  )
  return {
    name,
    usable: !state.includes('*') && !UNUSABLE.test(state),
    amounts: new Map([['cpu', total], ['mem', Number.parseInt(memory!, 10) * MIB], ...generic]),
    gpus,
  }
}

/** Finds a resource in a list of generic resources: `gpu:a100:4(S:0-1),gpu:2` has four GPUs of a type, and two others. */
function kindsOf(resources: string, wanted: string): { type: string | null; count: number }[] {
  return resources
    .replaceAll(/\([^)]*\)/g, '')
    .split(',')
    .map((part) => part.split(':'))
    .filter(([name]) => name === wanted)
    .map((part) => ({ type: part.length > 2 ? part[1]! : null, count: Number.parseInt(part.at(-1) ?? '', 10) || 0 }))
}
