import { chmodSync, mkdirSync, realpathSync } from 'node:fs'
import { messageOf } from '../../../observability/error-message.ts'
import { appendToLog } from '../kernels/kernel-logs.ts'
import { OUTPUT_LOST } from '../kernels/kernel-entry.ts'
import { readStatus, spreadDirectories } from '../kernels/kernel-directory.ts'
import { newProcessKernel, type ProcessHost, type ProcessKernel, type ProcessLimits } from './process-host.ts'
import type { Executor, ExecutorHooks } from '../executor.ts'
import { createChainDrops } from '../chain/drop-chains.ts'
import { connectToKernel } from './exec/connect-to-kernel.ts'
import { execInKernel } from './exec/exec-in-kernel.ts'
import { runningKernel } from './exec/enter-kernel.ts'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { UPLOAD_BYTES_DEFAULT } from '../../../domain/limits.ts'
import type { Logger } from '../../../observability/log.ts'
import { kernelPath } from '../../../machine/system-programs.ts'
import { ChainStoreError, openChainStore } from '../chain/chain-store.ts'
import { createKernelRegistry } from '../kernels/kernel-registry.ts'
import { parseStatus } from '../kernels/shim-status.ts'
import { createChainWatch, overfull } from '../chain/chain-watch.ts'
import { leaveChain } from '../chain/chain-directory.ts'
import { createPublisher } from '../chain/publish-checkpoint.ts'
import { relayAtEnd } from '../chain/relay-checkpoint.ts'
import { leftCheckpoint } from '../chain/look-at-checkpoint.ts'
import { type ImagePresets, SHIPPED_PRESETS } from './image-preset.ts'
import { createKeeper } from './fence/keeper.ts'
import { leaveCgroup } from './end-kernel.ts'
import { giveUpLaunch, launchKernel, prepareKernel } from './launch-kernel.ts'
import { recoverKernel } from './recover-kernel.ts'
import { stopCommand } from './signal-kernel.ts'
import { forkServerEntry } from './isolation/fork-server-entry.ts'
import { ancestors, isBelow, isOpenToAll } from './isolation/hidden-paths.ts'
import { type Isolation, NO_ISOLATION } from './isolation/isolation.ts'
import { type KernelCgroups, openKernelCgroups } from './limits/kernel-cgroups.ts'
import { createMemoryWatch } from './limits/memory-watch.ts'
import { createForkServer } from './fence/fork-server.ts'
import { readBootId } from './proc-stat.ts'
import { createProcessWatch, handleShimMessage } from './process-watch.ts'
import type { Gpus } from '../../gpus/gpu-watch.ts'
import { concludeUsage, type GpuWishes, watchGpus, withGpus } from '../../gpus/kernel-gpus.ts'

/**
 * Runs kernels as processes on this machine (Linux only, since it reads /proc). Each runs under a shim in its own
 * session, so it outlives the agent. The headers of shim, fork server and kernel directory describe what a crash
 * leaves.
 */
export function createProcessExecutor(options: ProcessExecutorOptions, hooks: ExecutorHooks): Executor {
  const { host, port: common, close } = createProcessHost(options, hooks)
  const chains = createChainDrops(host)
  let gpuWishes: GpuWishes | null = null
  return {
    ...common,
    name: 'process',
    observe: () =>
      common.observe().map((report) => withGpus(host.gpus, report, host.registry.kernels.get(report.kernelId))),
    async recover() {
      host.keeper.open()
      host.forkServer.open()
      await common.recover()
      gpuWishes = watchGpus(host, common, hooks)
      await chains.resume()
    },
    async exec(kernelId, assignment, request) {
      return execInKernel(host, runningKernel(host, kernelId, assignment), request)
    },
    async connect(kernelId, assignment, port) {
      return connectToKernel(host, runningKernel(host, kernelId, assignment), port)
    },
    chains,
    returnGpus: (uuids) => gpuWishes?.giveBack(uuids),
    takeGpus: (takes) => gpuWishes?.takeOut(takes),
    spaceIsBack() {
      for (const kernel of host.registry.kernels.values()) if (kernel.phase === 'RUNNING') markLoss(host, kernel)
    },
    async close() {
      const closed = close()
      await common.close()
      await closed
      host.forkServer.close()
      host.keeper.close(host.registry.kernels.size > 0)
      host.cgroups?.close()
      host.gpus?.close()
    },
  }
}

/** Marks a loss of output in the log file, behind the last output that was written. Later output follows the mark. */
function markLoss({ log }: ProcessHost, { id, outputPath }: ProcessKernel): void {
  try {
    appendToLog(outputPath, 'STDOUT', OUTPUT_LOST)
  } catch (error) {
    log.warn({ kernelId: id, error: messageOf(error) }, 'a loss of output could not be marked')
  }
}

export type MemoryLimitMode = 'auto' | 'cgroup' | 'watch' | 'off'

export interface ProcessExecutorOptions {
  /** Contains `kernels/` with a directory per kernel. */
  agentDir: string
  /** Contains the directories that attempts share. If not configured, that is `chains/` in the agent's directory. */
  chainsDir?: string | undefined
  log: Logger
  presets?: ImagePresets
  /** 'auto' uses cgroups if they are writable, otherwise the memory watch. */
  memoryLimit?: MemoryLimitMode
  isolation?: Isolation
  limits?: Partial<ProcessLimits>
  /** Largest archive of a kernel's uploaded code. */
  codeBytesMax?: number
  /** Null if the agent assigns no GPUs. */
  gpus?: Gpus | null
  /** Mount point of the cgroups; null means to use none. */
  cgroupMount?: string | null
}

export const DEFAULT_LIMITS: ProcessLimits = {
  processes: 4096,
  openFiles: 65_536,
  chainBytes: 64 * 1024 ** 3,
  chainFiles: 1_000_000,
}

/** @returns the host that all steps share, the registry's part of the port, and a function that ends the timers */
function createProcessHost(options: ProcessExecutorOptions, hooks: ExecutorHooks) {
  const { log, isolation = NO_ISOLATION } = options
  mkdirSync(options.agentDir, { recursive: true, mode: 0o700 })
  const agentDir = realpathSync(options.agentDir)
  const [kernelsDir, wanted] = [join(agentDir, 'kernels'), options.chainsDir ?? join(agentDir, 'chains')]
  // Kernels that run under other user ids must be able to pass through these directories to their own.
  const shared = isolation.uids !== null
  mkdirSync(wanted, { recursive: true })
  chmodSync(wanted, shared ? 0o711 : 0o700)
  const chainsDir = realpathSync(wanted)
  if (options.chainsDir !== undefined) assertReachable(chainsDir, isolation)
  spreadDirectories([chainsDir])
  const { registry, port } = createKernelRegistry<ProcessKernel>(
    { kernelsDir, shared, log },
    {
      create: newProcessKernel,
      prepare: (kernel) => prepareKernel(host, kernel),
      launch: (kernel) => launchKernel(host, kernel),
      stop: (kernel) => stopCommand(host, kernel),
      // Either its end is known and its leftovers are being killed, or the shim has recorded the end and its message is
      // under way.
      isEnding: ({ ending, path }) => ending !== null || parseStatus(readStatus(path)).exitCode !== null,
      outsideFault: ({ spec }) => overfull(host, spec),
      exec: (kernel, request) => execInKernel(host, kernel, request),
      leftCheckpoint: (kernel) => leftCheckpoint(host, kernel),
      relayCheckpoint: (kernel) => relayAtEnd(host, kernel),
      settled(kernel) {
        concludeUsage(host.gpus, kernel)
        host.wake()
      },
      // The server must know the end first: only the group shows a later instance that memory ran out.
      async remove(kernel) {
        if (kernel.cgroup !== null) leaveCgroup(host, kernel.cgroup)
        kernel.cgroup = null
        host.wake()
      },
      removed(kernel) {
        host.gpus?.forget(kernel.id)
        leaveChain(host, kernel)
      },
      recover: (kernel, record) => recoverKernel(host, kernel, record),
    },
    hooks,
  )
  const memoryLimit = options.memoryLimit ?? 'auto'
  const host: ProcessHost = {
    registry,
    chainsDir,
    chainStore: openChainStore({ dir: chainsDir, agentDir, byHand: options.chainsDir !== undefined }),
    tooLarge: new Map(),
    publishing: new Map(),
    path: kernelPath(),
    presets: options.presets ?? SHIPPED_PRESETS,
    bootId: readBootId(),
    tokenPrefix: `${randomBytes(6).toString('hex')}-`,
    isolation,
    cgroups: selectCgroups(agentDir, memoryLimit, options.cgroupMount, log),
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    codeBytesMax: options.codeBytesMax ?? UPLOAD_BYTES_DEFAULT,
    fetchCode: hooks.fetchCode,
    listInputs: hooks.listInputs,
    blobs: hooks.blobs,
    relay: hooks.relay,
    gpus: options.gpus ?? null,
    forkServer: createForkServer(kernelsDir, () => forkServerEntry(isolation, agentDir), log, {
      message: (message) => handleShimMessage(host, message),
      gone: (reason) => registry.kernels.forEach((kernel) => giveUpLaunch(host, kernel, reason)),
    }),
    keeper: createKeeper(kernelsDir, log),
    log,
    cgroupsToRemove: new Set(),
    wake() {
      ticker.wake()
      memory.wake()
      chains.wake()
      publisher.wake()
    },
  }
  const ticker = createProcessWatch(host)
  const memory = createMemoryWatch(host, memoryLimit !== 'off')
  const chains = createChainWatch(host)
  const publisher = createPublisher(host)
  const close = () => {
    for (const each of [ticker, memory, chains]) each.close()
    return publisher.close()
  }
  return { host, port, close }
}

/** @throws ChainStoreError if kernels could not reach the directory */
function assertReachable(chainsDir: string, { uids, namespaces }: Isolation): void {
  if (uids === null || (namespaces !== null && isBelow(chainsDir, namespaces.mask))) return
  const closed = ancestors(chainsDir).find((path) => !isOpenToAll(path))
  if (closed === undefined) return
  throw new ChainStoreError(
    `REPRISE_CHAINS_DIR (--chains-dir): kernels run as other users, who may not enter ${closed}`,
  )
}

function selectCgroups(
  agentDir: string,
  mode: MemoryLimitMode,
  mount: string | null | undefined,
  log: Logger,
): KernelCgroups | null {
  const memory = mode === 'auto' || mode === 'cgroup'
  const groups = mount === null ? null : openKernelCgroups(agentDir, { memory, ...(mount !== undefined && { mount }) })
  if (mode === 'cgroup' && groups?.limitsMemory !== true)
    log.warn('no writable memory cgroup; memory is watched instead')
  return groups
}
