import { join } from 'node:path'
import { readGpus } from '../../../domain/agent/kernel-report.ts'
import { AGENT_GPUS_MAX } from '../../../domain/limits.ts'
import { type Gpu, GPU_SLOTS, gpusAskedFor, type GpuUsage, type ObservedGpu } from '../../../domain/gpu.ts'
import { type CountedUsage, usageOf } from '../../gpus/gpu-usage.ts'
import { idleStop } from '../../gpus/kernel-gpus.ts'
import { readBeginning } from '../../control-file.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import type { Node } from './capacity.ts'
import { DEVICES_FILE, DEVICE_USE_FILE } from './gpu-scripts.ts'
import { hostOf, type SlurmHost, type SlurmKernel } from './slurm-host.ts'

/**
 * The GPUs of jobs. Slurm assigns them; the job itself writes to the kernel's directory which it has, and its keeper
 * what they do. A job's user may write anything there, so that all is read with limits and checked.
 */

const FILE_BYTES_MAX = 64 * 1024
/** Interval at which the use of a running job's GPUs is read. Its keeper writes it every 15 s. */
const USE_INTERVAL_MS = 15_000
const MIB = 1024 ** 2

/** Reads which GPUs the job has, once that is there. @returns whether it is news */
export function readDevices(kernel: SlurmKernel, names: readonly string[] | null): boolean {
  if (kernel.gpus !== null || kernel.status.began === null) return false
  if (names !== null && !names.includes(DEVICES_FILE)) return false
  const text = readBeginning(join(kernel.outputPath, DEVICES_FILE), FILE_BYTES_MAX)
  kernel.gpus = text === null ? null : parseDevices(text)
  return kernel.gpus !== null
}

/** @returns null if that is not what a job writes, perhaps because it is being written */
export function parseDevices(text: string): Gpu[] | null {
  try {
    const devices = JSON.parse(text) as unknown
    if (!Array.isArray(devices)) return null
    return readGpus(devices.map((device: object) => ({ ...device, slot: 'cuda.device' })))
  } catch {
    return null
  }
}

/**
 * Reads what the GPUs of a running job do, and stops it if all of them have been idle for as long as its session
 * allows.
 */
export function watchDevices(host: SlurmHost, kernel: SlurmKernel, now: number): void {
  if (kernel.gpus === null || kernel.phase !== 'RUNNING' || now - kernel.gpuUsageAt < USE_INTERVAL_MS) return
  kernel.gpuUsageAt = now
  const use = readUse(kernel)
  if (use === null) return
  kernel.gpuUsage = use.usage
  host.registry.changed()
  const limitMs = kernel.spec.gpuIdleTimeoutMs ?? null
  const idleMs = use.idleSeconds * 1000
  if (limitMs === null || idleMs < limitMs || kernel.killAt !== null) return
  const { graceMs, error } = idleStop(kernel, idleMs)
  host.registry.stop(kernel, graceMs, error)
}

/** Takes what a job that has ended has used. Its time is exact; there is no sample of its last seconds. */
export function concludeDevices(kernel: SlurmKernel): void {
  const { gpus, status } = kernel
  if (gpus === null) return
  const usage = readUse(kernel)?.usage ?? kernel.gpuUsage
  const seconds = status.ranSeconds === null ? null : gpus.length * status.ranSeconds
  if (usage === null && seconds === null) return
  kernel.gpuUsage = { ...(usage ?? NOTHING_KNOWN), gpuSeconds: seconds ?? usage!.gpuSeconds }
}

const NOTHING_KNOWN: Omit<GpuUsage, 'gpuSeconds'> = {
  peakMemoryBytes: null,
  meanUtilization: null,
  peakUtilization: null,
  energyJoules: null,
}

interface DeviceUse {
  usage: GpuUsage
  /** How long all of them have been idle. */
  idleSeconds: number
}

function readUse({ outputPath }: SlurmKernel): DeviceUse | null {
  const text = readBeginning(join(outputPath, DEVICE_USE_FILE), FILE_BYTES_MAX)
  return text === null ? null : parseUse(text)
}

/** Parses the line that `count_devices` of the keeper writes. @returns null if that is another text */
export function parseUse(text: string): DeviceUse | null {
  const words = /^((?:\d{1,15}|-) ){6}\d{1,15}\n/.exec(text)?.[0].trim().split(' ')
  if (words === undefined) return null
  const [peak, most, busy, known, energy, gpuSeconds, idle] = words.map((word) => (word === '-' ? null : Number(word)))
  const counted: CountedUsage = {
    at: 0,
    peakMemoryBytes: peak == null ? null : peak * MIB,
    peakUtilization: most == null ? null : Math.min(1, most / 100),
    busySeconds: (busy ?? 0) / 100,
    busyKnownSeconds: known ?? 0,
    energyJoules: energy ?? null,
    gpuSeconds: gpuSeconds ?? 0,
  }
  return { usage: usageOf(counted), idleSeconds: idle ?? 0 }
}

export function asksForGpus({ resourceSlots }: SlurmKernel['spec']): boolean {
  return GPU_SLOTS.some((slot) => gpusAskedFor(resourceSlots, slot) > 0)
}

/**
 * Lists the GPUs of the partition's usable nodes. Slurm tells the number of them and perhaps their types, which count
 * as their models; their memory is unknown. Those of which a job has reported that it has them bear their own UUIDs,
 * and the others names that are made up.
 *
 * If there are more than an agent may report, the rarest types come first, and each in whole nodes: placement counts by
 * the slots how many kernels there may be, and needs this list for the models.
 */
export function partitionGpus(nodes: readonly Node[], kernels: Iterable<SlurmKernel>): ObservedGpu[] {
  const all = nodes.filter(({ usable }) => usable).flatMap(gpusOfNode)
  const listed = all.length <= AGENT_GPUS_MAX ? all : someOf(all)
  for (const kernel of kernels) if (!hasEnded(kernel)) markHeld(listed, kernel)
  return listed.map(({ gpu }) => gpu)
}

function someOf(all: readonly ListedGpu[]): ListedGpu[] {
  const types = [...Map.groupBy(all, ({ gpu }) => gpu.name).values()].toSorted((a, b) => a.length - b.length)
  const chosen = new Set<ListedGpu>()
  for (const [at, alike] of types.entries()) {
    const room = Math.floor((AGENT_GPUS_MAX - chosen.size) / (types.length - at))
    const nodes = [...Map.groupBy(alike, ({ node }) => node).values()]
    let taken = 0
    for (const each of nodes) {
      if (taken + each.length > room) break
      taken += each.length
      for (const one of each) chosen.add(one)
    }
  }
  return all.filter((one) => chosen.has(one))
}

interface ListedGpu {
  node: string
  gpu: ObservedGpu
}

function gpusOfNode({ name: node, gpus }: Node): ListedGpu[] {
  return gpus
    .flatMap(({ slot, type, count }) => Array.from({ length: count }, () => ({ slot, type })))
    .map(({ slot, type }, index) => {
      const uuid = `${node}-${type ?? 'gpu'}-${index}`.replaceAll(/[^A-Za-z0-9-]/g, '-').slice(-80)
      const figures = { temperatureCelsius: null, usedMemoryBytes: null, utilization: null }
      return {
        node,
        gpu: { slot, uuid, index, name: type ?? 'GPU', memoryBytes: null, kernelId: null, fault: null, ...figures },
      }
    })
}

function markHeld(listed: readonly ListedGpu[], kernel: SlurmKernel): void {
  const here = listed.filter(({ node, gpu }) => node === hostOf(kernel) && gpu.kernelId === null)
  for (const { uuid, index, name } of kernel.gpus ?? []) {
    const free = here.filter(({ gpu }) => gpu.kernelId === null)
    const found = free.find(({ gpu }) => name.toLowerCase().includes(gpu.name.toLowerCase())) ?? free[0]
    if (found !== undefined) Object.assign(found.gpu, { uuid, index, kernelId: kernel.id })
  }
}
