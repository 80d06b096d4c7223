import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ObservedKernel } from '../../../domain/agent/protocol.ts'
import type { Logger } from '../../../observability/log.ts'
import { readControlFile } from '../../control-file.ts'
import { isDropped } from '../../removals.ts'
import type { Executor, ExecutorHooks, ExecutorOffer } from '../executor.ts'
import type { CodeHost } from '../kernels/kernel-code.ts'
import { openChainStore } from '../chain/chain-store.ts'
import { createKernelRegistry } from '../kernels/kernel-registry.ts'
import { observeKernel } from '../kernels/kernel-entry.ts'
import * as directory from '../kernels/kernel-directory.ts'
import { leaveChain } from '../chain/chain-directory.ts'
import type { ChainHost } from '../chain/chain-host.ts'
import { uptimeSeconds } from '../process/proc-stat.ts'
import { createPublisher } from '../chain/publish-checkpoint.ts'
import { relayAtEnd } from '../chain/relay-checkpoint.ts'
import { leftCheckpoint } from '../chain/look-at-checkpoint.ts'
import { createChainDrops } from '../chain/drop-chains.ts'
import { SHIPPED_PRESETS } from '../process/image-preset.ts'
import { kernelPath } from '../../../machine/system-programs.ts'
import { type Capacity, hasChanged } from './capacity.ts'
import { openLease } from './lease.ts'
import { watchPresence } from './presence.ts'
import { launchKernel, prepareKernel } from './prepare-kernel.ts'
import { openSharedDirectory } from './shared-directory.ts'
import { createSlurmCommands, createSlurmContact } from './slurm-commands.ts'
import {
  gangSize,
  giveTo,
  hostOf,
  newSlurmKernel,
  type SlurmHost,
  type SlurmKernel,
  type SlurmOptions,
  type SubmitMark,
} from './slurm-host.ts'
import { partitionGpus } from './slurm-gpus.ts'
import { readJobStatus } from './slurm-status.ts'
import { createSubmitQueue } from './submit/submit-queue.ts'
import { createJobWatch } from './watch/job-watch.ts'
import { cancelJob, showStop, stopUnbegun } from './watch/stop-job.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { wait } from '../../../waiting/wait.ts'

export interface SlurmExecutorOptions {
  /** Holds what only this agent uses, such as its id. */
  agentDir: string
  agentId: string
  log: Logger
  /** Largest archive of a kernel's uploaded code. */
  codeBytesMax: number
  slurm: SlurmOptions
  /** Resources that the agent offers when it starts; null if unknown. */
  offered?: Capacity | null
}

/**
 * Runs kernels as jobs of a Slurm cluster. A kernel's directory, which agent and nodes share, shows whether and how its
 * command ran; Slurm only adds the cause of a failure. The headers of job script, lease and submit queue describe what
 * a crash leaves.
 */
export function createSlurmExecutor(
  { agentDir, agentId, log, codeBytesMax, slurm, offered = null }: SlurmExecutorOptions,
  hooks: ExecutorHooks,
): Executor {
  const shared = openSharedDirectory(slurm.directory, agentId)
  const { registry, port } = createKernelRegistry<SlurmKernel>(
    { kernelsDir: shared.kernels, shared: true, log },
    {
      create: newSlurmKernel,
      prepare: (kernel) => prepareKernel(host, kernel),
      launch: (kernel) => {
        watch.wake()
        return launchKernel(host, kernel)
      },
      stop: (kernel) => stop(host, kernel),
      isAway: () => host.presence.fault !== null,
      isReadable: async () => (await host.presence.look()) === null,
      isEnding: (kernel) => host.presence.fault === null && readJobStatus(kernel).exitCode !== null,
      outsideFault: async () => null,
      isSuspended: ({ row }) => row !== null && row !== 'unknown' && ['SUSPENDED', 'STOPPED'].includes(row.state),
      leftCheckpoint: (kernel) => leftCheckpoint(host, kernel),
      relayCheckpoint: (kernel) => relayAtEnd(host, kernel),
      settled: () => watch.wake(),
      removed(kernel) {
        removeBatch(host, kernel)
        leaveChain(host, kernel)
      },
      recover: async (kernel, record) => recover(host, kernel, record),
    },
    hooks,
  )
  const host: SlurmHost & ChainHost & CodeHost<SlurmKernel> = {
    agentId,
    options: slurm,
    shared,
    presence: watchPresence(shared.root, log, () => registry.changed()),
    chainsDir: shared.chains,
    chainStore: openChainStore({ dir: shared.chains, agentDir, byHand: false }),
    tooLarge: new Map(),
    publishing: new Map(),
    codeBytesMax,
    fetchCode: hooks.fetchCode,
    listInputs: hooks.listInputs,
    blobs: hooks.blobs,
    relay: hooks.relay,
    limits: { chainBytes: null, chainFiles: null },
    presets: SHIPPED_PRESETS,
    path: kernelPath(),
    commands: createSlurmCommands(),
    contact: createSlurmContact(log, (labels) => hooks.labelled?.(labels)),
    lease: openLease(shared.root, log),
    serverHeedsGone: false,
    nodes: [],
    registry,
    log,
    gpusChanged: () => hooks.gpuFigures?.(partitionGpus(host.nodes, registry.kernels.values())),
    enqueue: (kernel) => queue.add(kernel),
    dropStopped: () => queue.dropStopped(),
    wake() {
      watch.wake()
      publisher.wake()
    },
  }
  const queue = createSubmitQueue(host)
  const watch = createJobWatch(host)
  const publisher = createPublisher(host, { elsewhere: true })
  const chains = createChainDrops(host)
  const capacity = createCapacityWatch(host, { offered, offers: (offer) => hooks.offers?.(offer) })

  return {
    ...port,
    name: 'slurm',
    async recover() {
      await port.recover()
      await registry.removals.resume(shared.batches)
      removeBatches(host)
      await chains.resume()
      await capacity.start()
      host.wake()
    },
    observe: () =>
      [...registry.kernels.values()].filter(({ phase }) => phase !== 'REMOVED').map((kernel) => observe(host, kernel)),
    renewed(leftMs, heedsGone = false) {
      host.serverHeedsGone = heedsGone
      host.lease.renew(leftMs)
    },
    chains,
    async close() {
      queue.close()
      await capacity.close()
      await port.close()
      await publisher.close()
      await watch.close()
      await host.lease.close()
      host.presence.close()
    },
  }
}

/** State that is reported to a server which would otherwise start the next attempt while this one may still run. */
const STILL_RUNNING = { status: 'RUNNING', exitCode: null, oomKilled: false, error: null, endedAt: null } as const

function observe({ serverHeedsGone, presence }: SlurmHost, kernel: SlurmKernel): ObservedKernel {
  const { phase, note, startWanted, status, row, lingers, handedOver } = kernel
  const isHeldUp = presence.fault !== null && !handedOver && (phase === 'PREPARING' || phase === 'LAUNCHING')
  const waits = startWanted && note !== null && (phase === 'PREPARED' || phase === 'LAUNCHING')
  return {
    ...observeKernel(kernel),
    ...(lingers && (serverHeedsGone ? { gone: false } : STILL_RUNNING)),
    // While the shared directory is unavailable, the fault is reported as progress and not as a wait in a queue: the
    // time limit for the session's start continues.
    ...(isHeldUp ? { progress: presence.fault } : waits && { waiting: { reason: note } }),
    ...(kernel.gpus !== null && { gpus: kernel.gpus, gpuUsage: kernel.gpuUsage }),
    host: hostOf(kernel),
    slurmJobId: status.began?.jobId ?? (row === null || row === 'unknown' ? null : row.cancelId),
  }
}

function stop(host: SlurmHost, kernel: SlurmKernel): void {
  if (host.presence.fault === null) showStop(host, kernel)
  if (kernel.phase === 'LAUNCHING') return stopUnbegun(host, kernel)
  // The kernels of a gang share the job's script, so only the keeper can stop one of them.
  const alone = gangSize(kernel) === 1
  if (!kernel.asked && alone && (kernel.killAt ?? 0) > Date.now() && cancelJob(host, kernel, 'TERM'))
    host.registry.asked(kernel)
}

/** Watches a kernel that may be in Slurm as if this instance had submitted it. */
function recover(host: SlurmHost, kernel: SlurmKernel, { user = null }: directory.KernelRecord): void {
  const { path } = kernel
  giveTo(kernel, user)
  const text = readControlFile(join(path, 'submit'))
  kernel.status = readJobStatus(kernel)
  const ran = kernel.status.claimed && !kernel.status.never
  if (text === null && !ran) return host.registry.beginAnew(kernel, directory.wasStartOrdered(path))
  kernel.submit = text === null ? null : (JSON.parse(text) as SubmitMark)
  kernel.submissions = kernel.submit?.submissions ?? 1
  kernel.submittedAt = performance.now()
  kernel.rowSince = performance.now()
  kernel.startWanted = true
  kernel.handedOver = true
  kernel.phase = kernel.status.began === null ? 'LAUNCHING' : 'RUNNING'
  if (kernel.phase === 'RUNNING') kernel.startedAt = directory.statusTimes(kernel.outputPath).startedAt
  const isStopped = host.registry.readStop(kernel)
  // An earlier instance has seen it begin. While it runs, the time before this moment is not counted.
  if (kernel.phase === 'RUNNING') kernel.beganAt = uptimeSeconds()
  if (isStopped) host.registry.applyStop(kernel)
}

function removeBatch({ shared, registry }: SlurmHost, { submit }: SlurmKernel): void {
  if (submit === null || !submit.name.startsWith('rp-b')) return
  if ([...registry.kernels.values()].some((other) => other.submit?.name === submit.name)) return
  registry.removals.drop(join(shared.batches, submit.name))
}

/** Removes batches without any remaining kernel. */
function removeBatches({ shared, registry }: SlurmHost): void {
  const needed = new Set([...registry.kernels.values()].map(({ submit }) => submit?.name))
  for (const name of readdirSync(shared.batches)) {
    if (!needed.has(name) && !isDropped(name)) registry.removals.drop(join(shared.batches, name))
  }
}

/**
 * Checks the partition's nodes regularly, and tells the agent when the offer has changed. While Slurm does not answer,
 * the last offer remains valid.
 */
function createCapacityWatch(
  host: SlurmHost,
  { offered: first, offers }: { offered: Capacity | null; offers: (offer: ExecutorOffer) => void },
): { start(): Promise<void>; close(): Promise<void> } {
  const ending = new AbortController()
  let offered = first
  let running: Promise<void> = Promise.resolve()
  host.nodes = first?.nodes ?? []

  async function look(): Promise<void> {
    const { partition, gres, queueFactor } = host.options
    try {
      const now = await host.commands.capacity(partition, gres, queueFactor)
      host.nodes = now.nodes
      host.contact.answered()
      if (offered !== null && !hasChanged(offered, now)) return
      if (offered !== null)
        host.log.info({ before: offered.slots, slots: now.slots }, 'the cluster offers something else now')
      offered = now
      offer(now)
    } catch (error) {
      host.contact.silent(messageOf(error))
    }
  }

  function offer({ slots, slotsPerKernelMax, nodes }: Capacity): void {
    const gpus = partitionGpus(nodes, host.registry.kernels.values())
    offers({ slots, slotsPerKernelMax, ...(gpus.length > 0 && { gpus }) })
  }

  async function run(): Promise<void> {
    while (!ending.signal.aborted) {
      await wait(host.options.capacityMs, { signal: ending.signal, ref: false })
      if (!ending.signal.aborted) await look()
    }
  }

  return {
    async start() {
      if (offered === null) await look()
      else if (offered.nodes.some(({ gpus }) => gpus.length > 0)) offer(offered)
      running = run()
    },
    async close() {
      ending.abort()
      await running
    },
  }
}
