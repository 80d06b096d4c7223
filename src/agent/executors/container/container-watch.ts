import { messageOf } from '../../../observability/error-message.ts'
import { guarded, wait } from '../../../waiting/wait.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import { hasLogGrown } from '../kernels/kernel-logs.ts'
import { isAlive } from '../process/proc-stat.ts'
import type { ContainerHost } from './container-host.ts'
import type { ContainerKernel } from './container-kernel.ts'
import { AGENT_LABEL, ASSIGNMENT_LABEL, EngineError, EngineSilentError, KERNEL_LABEL } from './engine/engine-client.ts'
import type { ListedContainer } from './engine/engine-answers.ts'
import { followLogs } from './follow-logs.ts'
import { killKernel } from './stop-kernel.ts'

const TICK_MS = 100
/** Interval of lists, since events can get lost. */
const LIST_INTERVAL_MS = 10_000
/** Time limit of an answer. Together with the interval, it determines how soon a suspended engine is noticed. */
const ANSWER_WITHIN_MS = 15_000
/** The output of a container that ends earlier is fetched only once, at its end. */
const FOLLOW_AFTER_MS = 300
const FOLLOW_AGAIN_MS = 1_000
const RECONNECT_MIN_MS = 100
const RECONNECT_MAX_MS = 5_000
/** Events of this time before the interruption are requested again, since they may have been missed. */
const EVENTS_OVERLAP_MS = 5_000

export interface ContainerWatch {
  wake(): void
  /** Starts listening to the engine. */
  open(): void
  close(): Promise<void>
}

/**
 * Notices that containers have ended: by the engine's events and, regularly and after each interruption, by a list of
 * all containers and a check of their processes. Silence of the engine never counts as an end. A process that has gone
 * counts as an end only once the engine reports it.
 */
export function createContainerWatch(host: ContainerHost): ContainerWatch {
  const closing = new AbortController()
  const label = `${AGENT_LABEL}=${host.agentId}`
  let timer: NodeJS.Timeout | null = null
  let listTimer: NodeJS.Timeout | null = null
  let listening = Promise.resolve()
  let listing: Promise<void> = Promise.resolve()

  const failed = (error: unknown) => host.log.warn({ error: messageOf(error) }, 'a check of containers failed')

  function tick(): void {
    timer = null
    const now = performance.now()
    let grown = false
    for (const kernel of host.registry.kernels.values()) {
      try {
        checkLife(host, kernel, now)
        grown = hasLogGrown(kernel, now) || grown
      } catch (error) {
        failed(error)
      }
    }
    if (grown) host.registry.changed()
    wake()
  }

  function wake(): void {
    if (host.registry.closed || timer !== null || !hasWork(host)) return
    timer = setTimeout(guarded(tick, failed), TICK_MS).unref()
  }

  async function listen(): Promise<void> {
    let since = new Date(Date.now() - EVENTS_OVERLAP_MS)
    let pauseMs = RECONNECT_MIN_MS
    while (!closing.signal.aborted) {
      const openedAt = performance.now()
      try {
        for await (const { containerId } of host.engine.events(label, since, closing.signal)) {
          since = new Date(Date.now() - EVENTS_OVERLAP_MS)
          const kernel = find(host, containerId)
          if (kernel !== undefined) host.advance(kernel)
        }
      } catch (error) {
        if (closing.signal.aborted) return
        host.log.debug({ error: messageOf(error) }, 'events of the container engine were interrupted')
      }
      if (closing.signal.aborted) return
      // The possible outage must be recorded before the end of a container is judged that ended meanwhile.
      host.contact.cutOff()
      pauseMs =
        performance.now() - openedAt > RECONNECT_MAX_MS ? RECONNECT_MIN_MS : Math.min(pauseMs * 2, RECONNECT_MAX_MS)
      await wait(pauseMs, { signal: closing.signal, ref: false })
      await list()
    }
  }

  /** Lists the containers, one list at a time. Never rejects. */
  function list(): Promise<void> {
    listing = listing.then(listOnce).catch(failed)
    return listing
  }

  async function listOnce(): Promise<void> {
    if (closing.signal.aborted) return
    try {
      const known = new Set([...host.registry.kernels.values()].map(({ id }) => id))
      const listed = await host.engine.list(label, ANSWER_WITHIN_MS)
      const wasSilent = host.contact.silence !== null
      host.contact.answered()
      if (wasSilent) host.registry.changed()
      compare(listed)
      void host.networks.collect()
      for (const container of listed) if (isLeftover(host, known, container)) await removeLeftover(host, container)
    } catch (error) {
      if (closing.signal.aborted) return
      const wasSilent = host.contact.silence !== null
      host.contact.silent(messageOf(error))
      if (!wasSilent) host.registry.changed()
      // A suspended engine loses no output, and ends nothing.
      if (!(error instanceof EngineSilentError) || !error.timedOut) host.contact.cutOff()
    }
  }

  function compare(listed: readonly ListedContainer[]): void {
    const running = new Set(listed.filter(({ state }) => state === 'running').map(({ id }) => id))
    for (const kernel of host.registry.kernels.values()) {
      // Podman still lists a container as running when its monitor was killed.
      const runs = running.has(kernel.containerId ?? '') && kernel.first !== null && isAlive(kernel.first)
      if (kernel.phase === 'RUNNING' && !runs) host.advance(kernel)
      if (kernel.phase === 'LAUNCHING' && kernel.handedOver) host.advance(kernel)
    }
  }

  function listAgain(): void {
    listTimer = setTimeout(
      guarded(() => list().then(listAgain), failed),
      LIST_INTERVAL_MS,
    ).unref()
    if (closing.signal.aborted) clearTimeout(listTimer)
  }

  return {
    wake,
    open() {
      listening = listen()
      void list().then(listAgain)
    },
    async close() {
      closing.abort()
      clearTimeout(timer ?? undefined)
      clearTimeout(listTimer ?? undefined)
      await Promise.all([listening, listing])
      await Promise.all([...host.registry.kernels.values()].map(async ({ follower }) => follower?.stop()))
    },
  }
}

function find(host: ContainerHost, containerId: string): ContainerKernel | undefined {
  return [...host.registry.kernels.values()].find((kernel) => kernel.containerId === containerId)
}

function hasWork(host: ContainerHost): boolean {
  return [...host.registry.kernels.values()].some(({ phase }) => phase === 'RUNNING' || phase === 'LAUNCHING')
}

/** Handles what no event announces: expired grace periods, output, and requests that the engine has not answered. */
function checkLife(host: ContainerHost, kernel: ContainerKernel, now: number): void {
  if (hasEnded(kernel)) return
  if (now >= kernel.askAt) host.advance(kernel)
  if (kernel.phase !== 'RUNNING' || kernel.ending !== null) return
  if (kernel.killAt !== null && kernel.killAt <= Date.now()) killKernel(host, kernel)
  if (kernel.follower === null && now - kernel.launchedAt >= FOLLOW_AFTER_MS) follow(host, kernel)
}

function follow(host: ContainerHost, kernel: ContainerKernel): void {
  const { containerId, path } = kernel
  if (containerId === null) return
  const follower = followLogs({ engine: host.engine, containerId, path })
  kernel.follower = follower
  const again = () =>
    setTimeout(() => {
      if (kernel.follower === follower && kernel.ending === null) kernel.follower = null
    }, FOLLOW_AGAIN_MS).unref()
  follower.ended.then(
    () => {
      // The stream ends with its container. If that still runs, the engine has been stopped.
      host.advance(kernel)
      void kernel.advancing?.then(again)
    },
    (error: unknown) => {
      host.log.debug({ kernelId: kernel.id, error: messageOf(error) }, 'the output of a kernel was interrupted')
      again()
    },
  )
}

/** Whether the container belongs to this agent, but its kernel was unknown both now and when the list was requested. */
function isLeftover(host: ContainerHost, known: ReadonlySet<string>, { labels }: ListedContainer): boolean {
  const kernelId = labels[KERNEL_LABEL] ?? ''
  const kernel = host.registry.kernels.get(kernelId)
  if (kernel === undefined) return !known.has(kernelId)
  return Number(labels[ASSIGNMENT_LABEL]) < kernel.assignment
}

async function removeLeftover(host: ContainerHost, { id, labels }: ListedContainer): Promise<void> {
  host.log.warn({ kernelId: labels[KERNEL_LABEL], containerId: id }, 'a container without a kernel is removed')
  try {
    await host.engine.remove(id)
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    host.log.warn({ containerId: id, error: messageOf(error) }, 'it is not removed yet')
  }
}
