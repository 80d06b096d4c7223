import { join } from 'node:path'
import { z } from 'zod'
import { type Gpu, type GpuNeed, meetsNeed, type ObservedGpu } from '../../domain/gpu.ts'
import { messageOf } from '../../observability/error-message.ts'
import type { Logger } from '../../observability/log.ts'
import { guarded } from '../../waiting/wait.ts'
import { readControlFile, writeControlFile } from '../control-file.ts'
import { assignGpus, assignPart, type HeldGpus } from './assign-gpus.ts'
import type { DetectedGpu, GpuDriver, GpuSample, LinkRank } from './gpu-driver.ts'
import { isNamedLost, isSameBus, openKernelLog } from './gpu-faults.ts'
import { addSamples, type CountedUsage, NO_USAGE } from './gpu-usage.ts'

/** Interval at which the agent looks for GPUs that have come, gone or broken. */
const LOOK_MS = 60_000
/** Interval of samples while a kernel has a GPU. */
const SAMPLE_MS = 5_000

/** What a kernel asks for. */
export interface GpuWish {
  slot: string
  count: number
  /** The part of one GPU; null for whole ones. */
  part: number | null
  /** What the GPUs must be like; null if any will do. */
  need: GpuNeed | null
}

/** The GPUs of this machine: which there are, which kernel has which, and which are broken. */
export interface Gpus {
  /** Whether this machine has GPUs that the agent assigns. Otherwise it leaves device nodes and environment alone. */
  readonly known: boolean
  /** Why GPUs cannot be seen now, as text for people; null if they can, or if there are none. */
  readonly fault: string | null
  /** How many kernels may share a GPU; 1 if each has its own. */
  readonly sharing: number
  /** All GPUs, in the order of their indexes. */
  observe(): ObservedGpu[]
  /** GPUs in service, by slot. */
  offered(): Record<string, string>
  /**
   * Chooses GPUs that no other kernel has.
   * @returns null if there are too few
   */
  assign(wish: GpuWish, held: HeldGpus): DetectedGpu[] | null
  /** Those with these UUIDs, as far as they are still there. */
  find(uuids: readonly string[]): DetectedGpu[]
  /** Those with these UUIDs, also if they have disappeared since the agent was started. */
  describe(uuids: readonly string[]): Gpu[]
  /** Device nodes that a program needs for these GPUs. */
  nodes(gpus: readonly DetectedGpu[]): string[]
  /** Device nodes of this machine's other GPUs, which the program must not open. */
  otherNodes(gpus: readonly DetectedGpu[]): string[]
  /** Begins to watch. `held` is asked at each look. Called once. */
  watch(watcher: GpuWatcher): void
  /** Counts what the kernel uses from now on, or on top of what an earlier instance has counted. */
  begin(kernelId: string, earlier?: CountedUsage): void
  /** What the kernel has used so far; null if nothing is counted. */
  usage(kernelId: string): CountedUsage | null
  /** Counts the time to the end of the kernel, for which there is no sample. @param count their number, or a part of one */
  end(kernelId: string, count: number): void
  forget(kernelId: string): void
  /** Puts a GPU back into service; with a MIG instance also its GPU. @returns false if there is no such GPU, or it is in service */
  giveBack(uuid: string): boolean
  /** Takes a GPU out of service until it is given back; a kernel that has it runs on. @returns false if it already is */
  takeOut(uuid: string, reason: string): boolean
  /** Looks now, instead of at the next interval. Never rejects. */
  look(): Promise<void>
  close(): void
}

export interface GpuWatcher {
  held(): HeldGpus
  /** These GPUs are out of service from now on: their kernels cannot go on. */
  lost(uuids: readonly string[], reason: string): void
  /** There are new samples. */
  sampled(): void
  /** `observe()`, `offered()` or `fault` has changed. */
  changed(): void
  /** No more samples follow. The agent stops, and its kernels may run on. */
  closing(): void
}

const reasons = z.record(z.string(), z.string())
const savedSchema = z.object({ faults: reasons, taken: reasons.default({}) })
type OutOfService = z.output<typeof savedSchema>

export interface GpuOptions {
  drivers: readonly GpuDriver[]
  /** UUIDs of the only GPUs to use; null for all. */
  only: readonly string[] | null
  /** How many kernels may share a GPU. If missing, each has its own. */
  sharing?: number | undefined
  agentDir: string
  log: Logger
}

/** Looks for GPUs once, and then returns. Never rejects: a tool that fails is a fault to report, not to stop at. */
export async function openGpus({ drivers, only, sharing = 1, agentDir, log }: GpuOptions): Promise<Gpus> {
  const file = join(agentDir, 'gpus.json')
  const ending = new AbortController()
  /** Out of service until a person gives them back, with the reason. Kept across restarts. */
  const saved = readSaved(file)
  const faults = new Map(Object.entries(saved.faults))
  /** Those that people have taken out. They are watched as before: one that breaks is among the faults, too. */
  const taken = new Map(Object.entries(saved.taken))
  const samples = new Map<string, GpuSample>()
  const used = new Map<string, CountedUsage>()
  /** All that were found since the start. */
  const seen = new Map<string, DetectedGpu>()
  const kernelLog = openKernelLog()
  let found: DetectedGpu[] = []
  let links: LinkRank = () => 0
  let fault: string | null = null
  let known = false
  let watcher: GpuWatcher | null = null
  let timer: NodeJS.Timeout | undefined
  let lookedAt = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | null = null

  const inService = () => (fault === null ? found.filter(({ uuid, parent }) => faultOf(uuid, parent) === null) : [])
  const reasonOf = (uuid: string) => faults.get(uuid) ?? taken.get(uuid) ?? null
  const faultOf = (uuid: string, parent: string | null) => reasonOf(uuid) ?? (parent && reasonOf(parent))

  /** @returns whether anything has changed */
  async function list(): Promise<boolean> {
    const before = JSON.stringify([found, fault])
    const listed: DetectedGpu[] = []
    const said: string[] = []
    for (const driver of drivers) {
      try {
        listed.push(...(await driver.list(ending.signal)))
      } catch (error) {
        if (ending.signal.aborted) return false
        said.push(messageOf(error))
      }
    }
    fault = said.length === 0 ? null : said.join('; ')
    if (fault === null) {
      const wanted = listed.filter(({ uuid }) => only === null || only.includes(uuid))
      const gone = found.filter(({ uuid }) => !wanted.some((each) => each.uuid === uuid))
      found = wanted.toSorted((a, b) => a.index - b.index)
      for (const gpu of found) seen.set(gpu.uuid, gpu)
      lose(gone, 'it has disappeared')
    } else {
      const lost = found.filter(({ busId }) => busId !== '' && isNamedLost(fault!, busId))
      lose(lost, fault)
    }
    known ||= found.length > 0
    const changed = JSON.stringify([found, fault]) !== before
    if (changed && fault === null && found.length > 1) await readLinks()
    return changed
  }

  async function readLinks(): Promise<void> {
    for (const driver of drivers) {
      try {
        links = await driver.links(ending.signal)
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'the connections between GPUs are unknown')
      }
    }
  }

  async function sample(): Promise<void> {
    for (const driver of drivers) {
      try {
        for (const each of await driver.sample(ending.signal)) {
          const before = samples.get(each.uuid)
          samples.set(each.uuid, each)
          const more = (each.uncorrectedErrors ?? 0) - (before?.uncorrectedErrors ?? each.uncorrectedErrors ?? 0)
          if (more > 0) lose(parts(each.uuid), `${more} uncorrected memory errors (ECC)`)
        }
      } catch (error) {
        if (ending.signal.aborted) return
        log.debug({ error: messageOf(error) }, 'GPUs could not be sampled')
        for (const { uuid } of found.filter(({ slot }) => slot === driver.slot)) forgetFigures(uuid)
      }
    }
    countUsage()
  }

  /** A figure of earlier would look like one of now: a GPU that was idle then may be busy. */
  function forgetFigures(uuid: string): void {
    const before = samples.get(uuid)
    const none = { temperatureCelsius: null, usedMemoryBytes: null, utilization: null, powerWatts: null }
    if (before !== undefined) samples.set(uuid, { ...before, ...none })
  }

  /** Adds the newest samples to what the kernels have used. */
  function countUsage(): void {
    const now = performance.now()
    const all = [...(watcher?.held() ?? [])].flatMap(([uuid, holdings]) => holdings.map((each) => ({ uuid, ...each })))
    for (const [kernelId, own] of Map.groupBy(all, (each) => each.kernelId)) {
      const each = own.map(({ uuid }) => samples.get(uuid))
      used.set(kernelId, addSamples(used.get(kernelId), each, now, own[0]!.part))
    }
    watcher?.sampled()
  }

  const parts = (uuid: string) => found.filter((gpu) => gpu.uuid === uuid || gpu.parent === uuid)

  /** Takes GPUs out of service if a kernel has them, or if they are still there. */
  function lose(gpus: readonly DetectedGpu[], reason: string): void {
    const held: HeldGpus = watcher?.held() ?? new Map()
    const lost = gpus.filter(({ uuid }) => !faults.has(uuid) && (held.has(uuid) || parts(uuid).length > 0))
    if (lost.length === 0) return
    for (const { uuid, index, name } of lost) {
      faults.set(uuid, reason)
      log.error({ uuid, index, name, reason }, 'a GPU is out of service')
    }
    save()
    watcher?.lost(
      lost.map(({ uuid }) => uuid),
      reason,
    )
    watcher?.changed()
  }

  function save(): void {
    try {
      writeControlFile(file, JSON.stringify({ faults: Object.fromEntries(faults), taken: Object.fromEntries(taken) }))
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'which GPUs are out of service could not be recorded')
    }
  }

  async function look(): Promise<void> {
    const wasFault = fault
    for (const { busId, reason } of kernelLog.read()) {
      lose(
        found.filter((gpu) => isSameBus(gpu.busId, busId)),
        reason,
      )
    }
    const listed = await list()
    lookedAt = performance.now()
    if (fault !== wasFault) log.warn({ fault }, fault === null ? 'GPUs can be seen again' : 'GPUs cannot be seen')
    await sample()
    if (listed) watcher?.changed()
  }

  const lookOnce = () => (looking ??= look().finally(() => (looking = null)))

  async function turn(): Promise<void> {
    if (performance.now() - lookedAt >= LOOK_MS) await lookOnce()
    else if ((watcher?.held().size ?? 0) > 0) await sample()
  }

  const failed = (error: unknown) => log.error({ error: messageOf(error) }, 'a look at the GPUs failed')

  await lookOnce()
  const gpus: Gpus = {
    get known() {
      return known
    },
    get fault() {
      return fault
    },
    observe() {
      const held: HeldGpus = watcher?.held() ?? new Map()
      return found.map(({ slot, uuid, index, name, memoryBytes, parent }) => {
        const { temperatureCelsius = null, usedMemoryBytes = null, utilization = null } = samples.get(uuid) ?? {}
        const figures = { temperatureCelsius, usedMemoryBytes, utilization }
        const why = faultOf(uuid, parent)
        return {
          slot,
          uuid,
          index,
          name,
          memoryBytes,
          kernelId: held.get(uuid)?.[0]?.kernelId ?? null,
          fault: why,
          ...figures,
        }
      })
    },
    offered: () => {
      const counts = Map.groupBy(inService(), ({ slot }) => slot)
      const slots = new Set([...counts.keys(), ...found.map(({ slot }) => slot)])
      return Object.fromEntries([...slots].map((slot) => [slot, String(counts.get(slot)?.length ?? 0)]))
    },
    sharing,
    assign({ slot, count, part, need }, held) {
      const suitable = inService().filter((gpu) => gpu.slot === slot && meetsNeed(gpu, need))
      if (part !== null) return assignPart(suitable, part, { held, sharing })
      const free = suitable.filter(({ uuid }) => !held.has(uuid))
      return assignGpus(free, count, links)
    },
    find: (uuids) => found.filter(({ uuid }) => uuids.includes(uuid)),
    nodes: (chosen) => drivers.flatMap((driver) => driver.nodes(chosen.filter(({ slot }) => slot === driver.slot))),
    otherNodes: (chosen) =>
      drivers.flatMap((driver) => driver.otherNodes(chosen.filter(({ slot }) => slot === driver.slot))),
    watch(given) {
      watcher = given
      const pulse = () => {
        timer = setTimeout(
          guarded(() => void turn().catch(failed).finally(pulse), failed),
          SAMPLE_MS,
        ).unref()
      }
      if (drivers.length > 0) pulse()
    },
    describe: (uuids) =>
      uuids.flatMap((uuid) => {
        const gpu = seen.get(uuid)
        if (gpu === undefined) return []
        const { slot, index, name, memoryBytes } = gpu
        return [{ slot, uuid, index, name, memoryBytes }]
      }),
    begin: (kernelId, earlier = NO_USAGE) => void used.set(kernelId, { ...earlier, at: performance.now() }),
    usage: (kernelId) => used.get(kernelId) ?? null,
    end(kernelId, count) {
      const before = used.get(kernelId)
      if (before === undefined) return
      const seconds = Math.max(0, performance.now() - before.at) / 1000
      used.set(kernelId, { ...before, at: performance.now(), gpuSeconds: before.gpuSeconds + count * seconds })
    },
    forget: (kernelId) => used.delete(kernelId),
    giveBack(uuid) {
      const parent = found.find((gpu) => gpu.uuid === uuid)?.parent ?? null
      // A part is out of service if its whole is.
      const outs = [faults, taken].flatMap((out) => [out.delete(uuid), parent !== null && out.delete(parent)])
      if (!outs.includes(true)) return false
      save()
      log.info({ uuid }, 'a GPU is back in service')
      watcher?.changed()
      return true
    },
    takeOut(uuid, reason) {
      if (reasonOf(uuid) !== null) return false
      taken.set(uuid, reason)
      save()
      log.info({ uuid, reason }, 'a GPU is out of service')
      watcher?.changed()
      return true
    },
    async look() {
      // One that runs already may have read the older figures.
      await looking
      await lookOnce()
    },
    close() {
      watcher?.closing()
      ending.abort()
      clearTimeout(timer)
      kernelLog.close()
    },
  }
  return gpus
}

function readSaved(file: string): OutOfService {
  const none = { faults: {}, taken: {} }
  const text = readControlFile(file)
  if (text === null) return none
  try {
    return savedSchema.parse(JSON.parse(text))
  } catch {
    return none
  }
}
