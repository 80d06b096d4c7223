import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { DetectedGpu, GpuDriver, GpuSample, LinkRank } from './gpu-driver.ts'
import { runTool } from './gpu-driver.ts'

/**
 * NVIDIA's GPUs, as `nvidia-smi` reports them, which every machine with the driver has. The columns and their units are
 * those of `nvidia-smi --help-query-gpu`: memory in MiB, temperature in degrees Celsius, power in watts.
 */
export function nvidiaDriver(tool: string, devices = '/dev'): GpuDriver {
  return {
    slot: 'cuda.device',
    tool,
    async list(signal) {
      const rows = await query(tool, LIST, signal)
      const gpus = rows.map(parseGpu)
      if (!gpus.some(({ mig }) => mig)) return gpus.map(({ gpu }) => gpu)
      const instances = parseInstances(await runTool(tool, ['-L'], signal))
      return gpus.flatMap(({ gpu, mig }) => {
        if (!mig) return [gpu]
        const parts = instances.filter(({ parent }) => parent === gpu.uuid)
        return parts.map(({ uuid, profile, memoryBytes }) => ({
          ...gpu,
          uuid,
          name: `${gpu.name} MIG ${profile}`,
          memoryBytes,
          parent: gpu.uuid,
        }))
      })
    },
    sample: async (signal) => (await query(tool, SAMPLE, signal)).map(parseSample),
    links: async (signal) => parseLinks(await runTool(tool, ['topo', '-m'], signal)),
    nodes: (gpus) => nodesOf(gpus, devices),
    otherNodes(gpus) {
      const own = nodesOf(gpus, devices)
      return namesIn(devices)
        .filter((name) => /^nvidia\d+$/.test(name) || CONTROL.includes(name))
        .map((name) => join(devices, name))
        .filter((path) => !own.includes(path))
    },
  }
}

const LIST = 'index,uuid,name,memory.total,driver_version,pci.bus_id,mig.mode.current'
const SAMPLE = 'uuid,temperature.gpu,memory.used,utilization.gpu,power.draw,ecc.errors.uncorrected.volatile.total'
const MIB = 1024 ** 2

async function query(tool: string, columns: string, signal: AbortSignal): Promise<string[][]> {
  const text = await runTool(tool, [`--query-gpu=${columns}`, '--format=csv,noheader,nounits'], signal)
  return text
    .split('\n')
    .filter((line) => line.includes(','))
    .map((line) => line.split(',').map((cell) => cell.trim()))
}

function parseGpu([index = '', uuid = '', name = '', memory = '', driver = '', busId = '', mig = '']: string[]) {
  const gpu: DetectedGpu = {
    slot: 'cuda.device',
    uuid,
    index: Number(index),
    name,
    memoryBytes: scaled(memory, MIB),
    driver,
    busId,
    parent: null,
  }
  return { gpu, mig: mig === 'Enabled' }
}

/** Parses `nvidia-smi -L`, which lists the instances of each GPU below it. */
export function parseInstances(text: string) {
  const found: { parent: string; uuid: string; profile: string; memoryBytes: number | null }[] = []
  let parent = ''
  for (const line of text.split('\n')) {
    parent = /^GPU \d+: .*\(UUID: (GPU-[^)]+)\)/.exec(line)?.[1] ?? parent
    const [, profile, uuid] = /^\s+MIG (\S+)\s.*\(UUID: (MIG-[^)]+)\)/.exec(line) ?? []
    if (profile === undefined || uuid === undefined) continue
    const gib = /\.(\d+)gb/.exec(profile)?.[1]
    found.push({ parent, uuid, profile, memoryBytes: gib === undefined ? null : Number(gib) * 1024 ** 3 })
  }
  return found
}

function parseSample([uuid = '', temperature = '', used = '', busy = '', power = '', ecc = '']: string[]): GpuSample {
  return {
    uuid,
    temperatureCelsius: scaled(temperature, 1),
    usedMemoryBytes: scaled(used, MIB),
    utilization: scaled(busy, 0.01),
    powerWatts: scaled(power, 1),
    uncorrectedErrors: scaled(ecc, 1),
  }
}

/** Drivers write `[N/A]` or `[Not Supported]` for what a GPU does not report. */
function scaled(text: string, unit: number): number | null {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) * unit : null
}

/** Kinds of connections by `nvidia-smi topo -m`, the slowest first. NVLink is `NV` and the number of links. */
const CONNECTIONS = ['SYS', 'NODE', 'PHB', 'PXB', 'PIX']

/** Parses `nvidia-smi topo -m`. @returns the rank of the connection between two GPUs by their indexes, 0 if unknown */
export function parseLinks(text: string): LinkRank {
  const rows = new Map<number, string[]>()
  for (const line of text.split('\n')) {
    const cells = stripVTControlCharacters(line).split(/\s+/)
    const [, index] = /^GPU(\d+)$/.exec(cells[0] ?? '') ?? []
    if (index !== undefined && cells[1] !== undefined && !/^GPU\d/.test(cells[1]))
      rows.set(Number(index), cells.slice(1))
  }
  const columns = [...rows.keys()].toSorted((a, b) => a - b)
  return (a, b) => {
    const connection = rows.get(a)?.[columns.indexOf(b)] ?? ''
    const [, links] = /^NV(\d+)$/.exec(connection) ?? []
    return links === undefined ? CONNECTIONS.indexOf(connection) + 1 : CONNECTIONS.length + Number(links)
  }
}

/** Nodes that every program on an NVIDIA GPU opens. */
const CONTROL = ['nvidiactl', 'nvidia-uvm', 'nvidia-uvm-tools', 'nvidia-modeset']

function nodesOf(gpus: readonly DetectedGpu[], devices: string): string[] {
  if (gpus.length === 0) return []
  const own = [...new Set(gpus.map((gpu) => `nvidia${minorOf(gpu)}`))]
  const instances = gpus.some(({ parent }) => parent !== null) ? ['nvidia-caps'] : []
  return [...CONTROL, ...own, ...instances].map((name) => join(devices, name))
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** The number in the name of a GPU's node. It differs from its index on machines where a GPU was replaced. */
function minorOf({ busId, index }: DetectedGpu): number {
  const root = '/proc/driver/nvidia/gpus'
  try {
    // The driver's directories have the domain in four digits, the tool in eight.
    const name = readdirSync(root).find((each) => busId.toLowerCase().endsWith(each.toLowerCase()))
    const text = readFileSync(join(root, name!, 'information'), 'latin1')
    return Number(/^Device Minor:\s+(\d+)/m.exec(text)?.[1] ?? index)
  } catch {
    return index
  }
}
