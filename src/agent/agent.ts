import { createGpuFigures } from './gpus/gpu-figures.ts'
import { lstatSync, mkdirSync } from 'node:fs'
import { v7 as uuidv7, validate } from 'uuid'
import type { AgentIsolation, AgentVolume, DialChannel, Gateway, RegisterRequest } from '../domain/agent/protocol.ts'
import type { ErrorCode } from '../domain/errors.ts'
import type { Warning } from '../domain/warning.ts'
import type { Logger } from '../observability/log.ts'
import { acquireAgentLock } from './agent-lock.ts'
import { createChangeSignal, type LoopParts, runAgentLoop } from './agent-loop.ts'
import { type BlobExchange, type Executor, type ExecutorHooks, FENCED, isOver } from './executors/executor.ts'
import { fetchBlob } from './executors/kernels/fetch-blob.ts'
import { GPU_FAULT_LENGTH_MAX, LABELS_MAX } from '../domain/limits.ts'
import { createChainReports, createChainSizes } from './chain-reports.ts'
import { createChannels } from './channels.ts'
import { createFence } from './fence.ts'
import { createLogShipper } from './log-shipper.ts'
import { createRefusals, watchDisk } from './disk-watch.ts'
import { join } from 'node:path'
import { readControlFile, writeControlFile } from './control-file.ts'

/** Time between the fence's expiry and SIGKILL; well below the margin that the server waits after the fence. */
const FENCE_GRACE_MS = 5_000

export interface AgentOptions {
  gateway: Gateway
  /** If missing, the agent opens no channels. */
  dial?: DialChannel
  createExecutor(hooks: ExecutorHooks, agentId: string): Executor
  /** Used by one agent at a time: holds its id, lock, fence and the executor's files. */
  agentDir: string
  name: string
  resourceGroup: string
  address: string
  version: string
  slots: Record<string, string>
  /** True if a person configured `slots`; those that the executor finds later are then ignored. */
  slotsByHand?: boolean
  /** Slots that a single kernel can have. If missing, a kernel can have all of them. */
  slotsPerKernelMax?: Record<string, string>
  /** Whether others can reach ports of its kernels at its address. If missing, they can. */
  ports?: boolean
  /** Directories that its kernels can ask for by name. If missing, there are none. */
  volumes?: AgentVolume[]
  /** Warnings for the people who run this agent. */
  warnings?: Warning[]
  labels: Record<string, string>
  /** If missing, the agent does not report its isolation. */
  isolation?: AgentIsolation
  /**
   * Set for an agent that currently cannot isolate kernels as it used to. It calls `tell` with the reason, and with
   * null once isolation works again. If missing, isolation works.
   */
  guardIsolation?(tell: (reason: string | null) => void): { close(): void }
  log: Logger
  /** If the server refuses the first registration with one of these codes, the agent stops and `done` rejects. */
  fatalErrors?: readonly ErrorCode[]
  /** Called after each registration, including repeated ones. */
  onRegistered?: () => void
}

export interface Agent {
  /**
   * Resolves once the kernels of earlier instances are recovered; registration continues in the background.
   *
   * @throws if another agent runs in the directory
   */
  start(): Promise<void>
  /** Leaves the kernels running. */
  stop(): Promise<void>
  /** 'superseded': another instance of this agent has registered, and this one has stopped. */
  readonly done: Promise<'stopped' | 'superseded'>
}

export function createAgent(options: AgentOptions): Agent {
  const { agentDir, log } = options
  const ending = new AbortController()
  const done = Promise.withResolvers<'stopped' | 'superseded'>()
  const changes = createChangeSignal()
  let running: Promise<void> | null = null

  async function run(): Promise<{ reason: Promise<'stopped' | 'superseded'> }> {
    mkdirSync(agentDir, { recursive: true, mode: 0o700 })
    await using resources = new AsyncDisposableStack()
    const lock = acquireAgentLock(agentDir)
    resources.defer(() => lock.release())
    const known = { ...identityOf(options), agentId: loadAgentId(agentDir), instanceId: uuidv7() }
    const { agentId } = known
    const { gateway } = options
    let outdated = false
    const refusals = createRefusals(log, () => {
      const { reason } = refusals
      if (reason === null) delete identity.refuses
      else identity.refuses = reason
      outdated = true
      changes.raise()
    })
    const figures = createGpuFigures()
    const blobs: BlobExchange = {
      have: (request, signal) => gateway.haveBlobs({ agentId, ...request }, signal),
      send: (request, body, signal, onSent) => gateway.sendParts({ agentId, ...request }, body, signal, onSent),
      fetch: ({ sha256, ...request }, signal) =>
        fetchBlob((asked, own) => gateway.fetchBlob({ agentId, ...request, ...asked }, own), sha256, { signal, log }),
    }
    const hooks: ExecutorHooks = {
      changed: changes.raise,
      refusal: () => refusals.reason,
      diskIsFull: () => refusals.has('disk'),
      offers({ slots, slotsPerKernelMax, gpus }) {
        Object.assign(identity, { slotsPerKernelMax }, options.slotsByHand !== true && { slots })
        if (gpus === undefined) delete identity.gpus
        else identity.gpus = gpus
        outdated = true
        changes.raise()
      },
      gpus({ gpus, slots, fault, sharing }) {
        identity.gpus = gpus
        if (sharing > 1) identity.gpuSharing = sharing
        if (fault === null) delete identity.gpuFault
        else identity.gpuFault = fault.slice(0, GPU_FAULT_LENGTH_MAX)
        identity.slots = withGpuSlots(options, slots)
        outdated = true
        changes.raise()
      },
      gpuFigures(gpus) {
        identity.gpus = gpus
        figures.note(gpus)
      },
      labelled(labels) {
        const all = { ...options.labels, ...labels }
        if (Object.keys(all).length > LABELS_MAX) return
        identity.labels = all
        outdated = true
        changes.raise()
      },
      fetchCode: (kernel, signal) => blobs.fetch({ ...kernel, purpose: 'CODE', sha256: null }, signal),
      listInputs: (request, signal) => gateway.listInputs({ agentId, ...request }, signal),
      reportOutputs: (report, signal) => gateway.reportOutputs({ agentId, ...report }, signal),
      relay: { offer: (request, signal) => gateway.offerCheckpoint({ agentId, ...request }, signal), blobs },
      blobs,
    }
    const executor = options.createExecutor(hooks, agentId)
    const identity: RegisterRequest = {
      ...known,
      executor: executor.name,
      judgesTime: true,
      ...(executor.chains && { chainStore: executor.chains.store }),
    }
    const disk = watchDisk(agentDir, refusals, () => executor.spaceIsBack?.())
    resources.defer(() => disk.close())
    const guard = options.guardIsolation?.((reason) => refusals.set('isolation', reason))
    resources.defer(() => guard?.close())
    resources.defer(() => executor.close())
    const fence = createFence(
      agentDir,
      () => stopAll(executor, log),
      log,
      (reason) => refusals.set('fence', reason),
    )
    resources.defer(() => fence.close())
    await executor.recover()
    fence.resume()
    const shipper = createLogShipper(executor, log)
    const chains = createChainReports(executor.chains, log)
    const sizes = createChainSizes(executor.chains, log)
    const channels = createChannels({ executor, dial: options.dial ?? nobody, log })
    resources.defer(() => channels.close())
    const kept = resources.move()
    const registerAgain = () => {
      const before = outdated
      outdated = false
      return before
    }
    const parts = {
      ...options,
      executor,
      identity,
      registerAgain,
      shipper,
      chains,
      sizes,
      figures,
      channels,
      fence,
      changes,
    }
    return { reason: loop(kept, { ...parts, signal: ending.signal }) }
  }

  return {
    async start() {
      const { reason } = await run()
      running = reason.then((value) => {
        if (value === 'superseded') log.error('another process has taken over this agent; this one has stopped')
        done.resolve(value)
      }, done.reject)
    },
    async stop() {
      ending.abort()
      if (running === null) done.resolve('stopped')
      await running
    },
    done: done.promise,
  }
}

/** Slots that a person configured are an upper bound. */
function withGpuSlots({ slots, slotsByHand }: AgentOptions, found: Record<string, string>): Record<string, string> {
  if (slotsByHand !== true) return { ...slots, ...found }
  const known = Object.entries(slots).map(([slot, amount]) => {
    const bound = Object.hasOwn(found, slot) ? Math.min(Number(amount), Number(found[slot])) : amount
    return [slot, String(bound)]
  })
  return Object.fromEntries(known) as Record<string, string>
}

const nobody: DialChannel = () => Promise.reject(new Error('this agent opens no channels'))

async function loop(resources: AsyncDisposableStack, parts: LoopParts): Promise<'stopped' | 'superseded'> {
  await using _ = resources
  return await runAgentLoop(parts)
}

function identityOf(options: AgentOptions) {
  const {
    name,
    resourceGroup,
    address,
    version,
    slots,
    slotsPerKernelMax,
    ports,
    volumes,
    warnings,
    labels,
    isolation,
  } = options
  return {
    name,
    resourceGroup,
    address,
    version,
    slots,
    labels,
    ...(slotsPerKernelMax !== undefined && { slotsPerKernelMax }),
    ...(ports !== undefined && { ports }),
    ...(volumes !== undefined && { volumes }),
    ...(warnings !== undefined && { warnings }),
    ...(isolation !== undefined && { isolation }),
  }
}

/** Stops all kernels. The server treats them as gone once its margin after the fence has passed. */
function stopAll(executor: Executor, log: Logger): void {
  const live = executor.observe().filter((kernel) => !isOver(kernel))
  if (live.length > 0)
    log.warn({ kernels: live.length }, 'no answer from the server for too long: stopping all kernels')
  for (const { kernelId, assignment } of live) executor.stop(kernelId, assignment, FENCE_GRACE_MS, FENCED)
}

/**
 * Returns the agent's id, which is generated at the first start and kept in `agent.json`. The caller holds the agent's
 * lock.
 */
function loadAgentId(agentDir: string): string {
  const path = join(agentDir, 'agent.json')
  const known = readAgentId(path)
  if (known !== null) return known
  const agentId = uuidv7()
  writeControlFile(path, `${JSON.stringify({ agentId })}\n`)
  return agentId
}

/** @throws if the file exists but is unreadable: with a new id the agent would lose its running kernels */
function readAgentId(path: string): string | null {
  const text = readControlFile(path)
  if (text === null) {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null
    throw new Error(`${path} is not a regular file`)
  }
  const { agentId } = JSON.parse(text) as { agentId?: unknown }
  if (typeof agentId !== 'string' || !validate(agentId)) throw new Error(`${path} holds no agent id`)
  return agentId
}
