import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Logger } from '../../../observability/log.ts'
import type { ExecutorHooks } from '../executor.ts'
import { SHIPPED_PRESETS, type ImagePresets } from './image-preset.ts'
import { createKeeper } from './keeper.ts'
import { DEFAULT_PATH } from './kernel-environment.ts'
import { giveUpLaunch } from './launch-kernel.ts'
import { openMemoryCgroups, type MemoryCgroups } from './memory-cgroup.ts'
import { createMemoryWatch } from './memory-watch.ts'
import { createNursery } from './nursery.ts'
import { readBootId } from './proc-stat.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'
import { createRemovalQueue } from './removal-queue.ts'
import { handleShimMessage } from './shim-messages.ts'
import { spreadDirectories } from './spread-directories.ts'
import { createTicker } from './ticker.ts'

export type MemoryLimitMode = 'auto' | 'cgroup' | 'watch' | 'off'

export interface ProcessExecutorOptions {
  /** Contains `kernels/` with a directory per kernel, and `chains/` with the directories that attempts share. */
  agentDir: string
  log: Logger
  presets?: ImagePresets
  /** auto: cgroups if they are writable, else the watcher. */
  memoryLimit?: MemoryLimitMode
}

/** `close` ends the timers. The executor sets `removed`. */
export type HostWithClose = ProcessHost & { close(): void }

export function createProcessHost(options: ProcessExecutorOptions, hooks: ExecutorHooks): HostWithClose {
  const { log } = options
  const agentDir = resolve(options.agentDir)
  const [kernelsDir, chainsDir] = [join(agentDir, 'kernels'), join(agentDir, 'chains')]
  for (const path of [kernelsDir, chainsDir]) mkdirSync(path, { recursive: true, mode: 0o700 })
  spreadDirectories([kernelsDir, chainsDir])
  const memoryLimit = options.memoryLimit ?? 'auto'
  const kernels = new Map<string, ProcessKernel>()
  const host: HostWithClose = {
    kernelsDir,
    chainsDir,
    path: process.env['PATH'] ?? DEFAULT_PATH,
    presets: options.presets ?? SHIPPED_PRESETS,
    bootId: readBootId(),
    tokenPrefix: `${randomBytes(6).toString('hex')}-`,
    cgroups: selectCgroups(agentDir, memoryLimit, log),
    kernels,
    nursery: createNursery(kernelsDir, log, {
      message: (message) => handleShimMessage(host, message),
      gone: (reason) => kernels.forEach((kernel) => giveUpLaunch(host, kernel, reason)),
    }),
    keeper: createKeeper(kernelsDir, log),
    log,
    sessionsToSweep: new Set(),
    cgroupsToRemove: new Set(),
    removeDirectory: createRemovalQueue(),
    closed: false,
    removed: () => undefined,
    changed: () => void (host.closed || hooks.changed()),
    wakeTicker() {
      ticker.wake()
      if (memoryLimit !== 'off') memory.wake()
    },
    close() {
      ticker.close()
      memory.close()
    },
  }
  const ticker = createTicker(host)
  const memory = createMemoryWatch(host)
  return host
}

function selectCgroups(agentDir: string, mode: MemoryLimitMode, log: Logger): MemoryCgroups | null {
  if (mode === 'watch' || mode === 'off') return null
  const groups = openMemoryCgroups(agentDir)
  if (groups === null && mode === 'cgroup') log.warn('no writable memory cgroup; memory is watched instead')
  return groups
}
