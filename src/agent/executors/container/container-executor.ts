import { chmodSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { ObservedKernel } from '../../../domain/agent/protocol.ts'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import type { Gpus } from '../../gpus/gpu-watch.ts'
import { concludeUsage, type GpuWishes, recoverGpus, watchGpus, withGpus } from '../../gpus/kernel-gpus.ts'
import { openChainStore } from '../chain/chain-store.ts'
import { readControlFile } from '../../control-file.ts'
import type { Executor, ExecutorHooks } from '../executor.ts'
import { createKernelRegistry } from '../kernels/kernel-registry.ts'
import { observeKernel } from '../kernels/kernel-entry.ts'
import * as directory from '../kernels/kernel-directory.ts'
import { spreadDirectories } from '../kernels/kernel-directory.ts'
import { parseStatus } from '../kernels/shim-status.ts'
import { createChainWatch, overfull } from '../chain/chain-watch.ts'
import { foundBefore, leaveChain } from '../chain/chain-directory.ts'
import type { ChainLimits } from '../chain/chain-host.ts'
import { createChainDrops } from '../chain/drop-chains.ts'
import { createPublisher } from '../chain/publish-checkpoint.ts'
import { relayAtEnd } from '../chain/relay-checkpoint.ts'
import { leftCheckpoint } from '../chain/look-at-checkpoint.ts'
import { MAY_HAVE_RUN, mayHaveRunBefore } from '../process/recover-kernel.ts'
import { runningKernel } from '../process/exec/enter-kernel.ts'
import { createKeeper } from '../process/fence/keeper.ts'
import type { UidRange } from '../process/isolation/project-uids.ts'
import { readBootId } from '../process/proc-stat.ts'
import { advanceKernel } from './advance-kernel.ts'
import { openContainerGroups } from './container-groups.ts'
import { type ContainerHost, openContainerUsers } from './container-host.ts'
import { type ContainerKernel, containerName, type ContainerOptions, newContainerKernel } from './container-kernel.ts'
import { AGENT_LABEL } from './engine/engine-client.ts'
import { createContainerWatch } from './container-watch.ts'
import { openEngineContact } from './engine-contact.ts'
import type { Engine } from './engine/engine.ts'
import type { EngineDescription } from './engine/engine-answers.ts'
import { connectToContainer, execInContainer } from './exec-in-container.ts'
import { launchKernel, prepareKernel, type RunScript } from './launch-kernel.ts'
import { createImagePuller } from './engine/pull-image.ts'
import { createGraceWatch, createMemoryWatch, stopKernel } from './stop-kernel.ts'
import { createSessionNetworks } from './session-networks.ts'
import { openPulledImages } from './engine/pulled-images.ts'
import pLimit from 'p-limit'

export interface ContainerExecutorOptions {
  agentDir: string
  agentId: string
  /** Contains the directories that attempts share, if configured. */
  chainsDir?: string | undefined
  log: Logger
  limits: ChainLimits
  /** Largest archive of a kernel's uploaded code. */
  codeBytesMax: number
  uids?: UidRange | undefined
  engine: Engine
  description: EngineDescription
  container: ContainerOptions
  /** Null if the agent sees no GPUs. */
  gpus?: Gpus | null
}

/**
 * Runs kernels as containers of Docker or Podman. A kernel's directory decides what happens to it, and the engine
 * reports how it ended. The headers of launchKernel and of the kernel directory describe what a crash leaves.
 */
export function createContainerExecutor(options: ContainerExecutorOptions, hooks: ExecutorHooks): Executor {
  const { agentId, log, limits, codeBytesMax, engine, description, container } = options
  mkdirSync(options.agentDir, { recursive: true, mode: 0o700 })
  const agentDir = realpathSync(options.agentDir)
  const users = openContainerUsers(agentDir, description, options.uids)
  const [kernelsDir, wanted] = [join(agentDir, 'kernels'), options.chainsDir ?? join(agentDir, 'chains')]
  mkdirSync(wanted, { recursive: true })
  chmodSync(wanted, users.areOthers ? 0o711 : 0o700)
  const chainsDir = realpathSync(wanted)
  spreadDirectories([chainsDir])
  const { registry, port } = createKernelRegistry<ContainerKernel>(
    { kernelsDir, shared: users.areOthers, log },
    {
      create: newContainerKernel,
      prepare: (kernel) => prepareKernel(host, kernel),
      isOutdated: ({ image }, { imageDigest }) => imageDigest != null && image?.digest !== imageDigest,
      launch: (kernel) => launchKernel(host, kernel),
      stop: (kernel) => stopKernel(host, kernel),
      isEnding: ({ ending }) => ending !== null,
      outsideFault: ({ spec }) => overfull(host, spec),
      exec: (kernel, request) => execInContainer(host, kernel, request),
      leftCheckpoint: (kernel) => leftCheckpoint(host, kernel),
      relayCheckpoint: (kernel) => relayAtEnd(host, kernel),
      settled(kernel) {
        concludeUsage(host.gpus, kernel)
        watch.wake()
      },
      remove: (kernel) => remove(host, kernel),
      removed(kernel) {
        host.gpus?.forget(kernel.id)
        leaveChain(host, kernel)
        void host.networks.collect()
      },
      recover: async (kernel, record) => recover(host, kernel, record),
    },
    hooks,
  )
  const pulled = openPulledImages(engine, {
    file: join(agentDir, 'images.json'),
    keep: container.imageKeep,
    rootDir: description.rootDir,
    inUse: () => new Set([...registry.kernels.values()].flatMap(({ image }) => image?.id ?? [])),
    log,
  })
  const host: ContainerHost = {
    agentId,
    agentDir,
    bootId: readBootId(),
    options: container,
    engine,
    description,
    users,
    chainsDir,
    chainStore: openChainStore({ dir: chainsDir, agentDir, byHand: options.chainsDir !== undefined }),
    tooLarge: new Map(),
    publishing: new Map(),
    limits,
    codeBytesMax,
    fetchCode: hooks.fetchCode,
    listInputs: hooks.listInputs,
    blobs: hooks.blobs,
    relay: hooks.relay,
    groups: openContainerGroups(agentDir, description),
    networks: createSessionNetworks({
      agentId,
      engine,
      description,
      network: container.network,
      log,
      sessionIds: () => new Set([...registry.kernels.values()].map(({ spec }) => spec.sessionId)),
    }),
    gpus: options.gpus ?? null,
    images: createImagePuller(engine, {
      authFile: container.authFile,
      allow: container.image === undefined ? container.allow : [...container.allow, container.image],
      log,
      pulled,
    }),
    limit: pLimit(container.parallel),
    keeper: createKeeper(kernelsDir, log),
    registry,
    log,
    hasInit: true,
    contact: openEngineContact({
      file: join(agentDir, 'engine.json'),
      socket: engine.socket,
      changed: (labels) => hooks.labelled?.(labels),
      log,
    }),
    advance: (kernel) => advance(host, kernel),
    wake() {
      watch.wake()
      chainWatch.wake()
      publisher.wake()
      memoryWatch.wake()
      graceWatch.wake()
    },
  }
  const watch = createContainerWatch(host)
  const chainWatch = createChainWatch(host)
  const publisher = createPublisher(host)
  const memoryWatch = createMemoryWatch(host)
  const graceWatch = createGraceWatch(host)
  const chains = createChainDrops(host)
  let gpuWishes: GpuWishes | null = null

  return {
    ...port,
    name: 'container',
    async recover() {
      host.keeper.open()
      await port.recover()
      gpuWishes = watchGpus(host, port, hooks)
      await chains.resume()
      host.groups?.removeOthers(new Set(registry.kernels.keys()))
      watch.open()
      pulled.open()
      host.wake()
    },
    observe: () =>
      [...registry.kernels.values()].filter(({ phase }) => phase !== 'REMOVED').map((kernel) => observe(host, kernel)),
    async exec(kernelId, assignment, request) {
      return execInContainer(host, runningKernel(host, kernelId, assignment), request)
    },
    async connect(kernelId, assignment, inside) {
      return connectToContainer(host, runningKernel(host, kernelId, assignment), inside)
    },
    chains,
    returnGpus: (uuids) => gpuWishes?.giveBack(uuids),
    takeGpus: (takes) => gpuWishes?.takeOut(takes),
    async close() {
      host.images.close()
      chainWatch.close()
      memoryWatch.close()
      graceWatch.close()
      const closed = port.close()
      await watch.close()
      host.contact.close()
      await pulled.close()
      await closed
      await publisher.close()
      await settleDown(host)
      host.keeper.close(registry.kernels.size > 0)
      host.groups?.close()
      host.gpus?.close()
      await engine.close()
    },
  }
}

const NO_ANSWER = 'the container engine does not answer'

function observe(host: ContainerHost, kernel: ContainerKernel): ObservedKernel {
  const { phase, note, startWanted, image } = kernel
  const observed = withGpus(host.gpus, observeKernel(kernel), kernel)
  const isSilent = host.contact.silence !== null
  const isHeld = startWanted && (phase === 'PREPARED' || phase === 'LAUNCHING')
  const reason = isSilent ? NO_ANSWER : note
  const prepares = phase === 'PREPARING' || phase === 'PULLING'
  const progress = isSilent && image === null ? NO_ANSWER : note
  return {
    ...observed,
    ...(isHeld && reason !== null && { waiting: { reason } }),
    ...(prepares && progress !== null && { progress }),
    imageDigest: image?.digest ?? null,
  }
}

/** Takes one step of a kernel at a time. A call during a step leads to another step. */
function advance(host: ContainerHost, kernel: ContainerKernel): void {
  if (host.registry.closed) return
  kernel.again = true
  if (kernel.advancing !== null) return
  kernel.advancing = (async () => {
    while (kernel.again && !host.registry.closed) {
      kernel.again = false
      await advanceKernel(host, kernel)
    }
    kernel.advancing = null
  })()
}

/** Waits until no kernel of a closed executor is in the middle of a step. */
async function settleDown({ registry }: ContainerHost): Promise<void> {
  await Promise.all([...registry.kernels.values()].map(async ({ advancing }) => advancing))
}

/** Removes the container. If that fails now, it is removed once the engine answers, because its kernel is gone. */
async function remove(host: ContainerHost, kernel: ContainerKernel): Promise<void> {
  await kernel.advancing
  await kernel.follower?.stop()
  try {
    const id = kernel.containerId ?? (await unclaimedContainer(host, kernel))
    if (id !== null) await host.engine.remove(id)
  } catch (error) {
    host.log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'a container is not removed yet')
  }
  if (kernel.group !== null) host.groups?.remove(kernel.group)
}

/**
 * Returns a container that this or an earlier instance created for the kernel, but never another agent's container with
 * that name.
 */
async function unclaimedContainer({ engine, agentId }: ContainerHost, kernel: ContainerKernel): Promise<string | null> {
  const found = await engine.inspect(containerName(kernel))
  return found?.labels[AGENT_LABEL] === agentId ? found.id : null
}

/**
 * Continues where an earlier instance stopped, according to the directory. The engine's view of the container is read
 * once the engine answers.
 */
function recover(host: ContainerHost, kernel: ContainerKernel, record: directory.KernelRecord): void {
  const { path } = kernel
  const script = readScript(join(path, `run.${kernel.token}`))
  const text = directory.readStatus(path)
  const status = parseStatus(text)
  const mark = directory.readStopMark(path)
  kernel.uid = host.users.of(record.spec.projectId ?? null).uid
  if (status.never) return host.registry.endBeforeRunning(kernel, mark?.error ?? null)
  if (script === null) {
    if (mayHaveRunBefore(kernel, record, host)) return host.registry.fail(kernel, 'kernel-vanished', MAY_HAVE_RUN)
    return host.registry.beginAnew(kernel, false)
  }
  // An incomplete claim has no effect, so it can be dropped.
  if (!text.includes('\n')) directory.dropClaim(path)
  const { digest, body } = script
  kernel.body = body
  kernel.image = { id: body.Image, digest }
  recoverGpus(host.gpus, kernel)
  kernel.found = foundBefore(host, record.spec)
  kernel.group = host.groups?.existing(kernel.id) ?? null
  kernel.startWanted = true
  kernel.handedOver = true
  kernel.maybeStarted = true
  kernel.launchedAt = performance.now()
  kernel.containerId = /^claimed ([0-9a-f]+)$/m.exec(text)?.[1] ?? null
  kernel.first = status.shim
  kernel.clocks = record.bootId === host.bootId ? status.clocks : null
  kernel.beganAt = kernel.clocks?.uptime ?? null
  kernel.logsComplete = status.exitCode !== null
  kernel.phase = /^began /m.test(text) ? 'RUNNING' : 'LAUNCHING'
  if (kernel.phase === 'RUNNING') kernel.startedAt = directory.statusTimes(path).startedAt
  if (host.registry.readStop(kernel)) host.registry.applyStop(kernel)
  host.advance(kernel)
}

/** Returns null for an incomplete script, since no container is created before it is complete. */
function readScript(path: string): RunScript | null {
  const text = readControlFile(path)
  try {
    return text === null ? null : (JSON.parse(text) as RunScript)
  } catch {
    return null
  }
}
