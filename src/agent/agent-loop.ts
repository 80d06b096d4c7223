import type { GpuFigures } from './gpus/gpu-figures.ts'
import type {
  Gateway,
  KernelOrder,
  RegisterAnswer,
  RegisterRequest,
  SyncAnswer,
  SyncRequest,
} from '../domain/agent/protocol.ts'
import type { ErrorCode } from '../domain/errors.ts'
import { SYNC_WAIT_MAX_MS } from '../domain/limits.ts'
import { messageOf } from '../observability/error-message.ts'
import type { Logger } from '../observability/log.ts'
import { reconnectPauseMs, wait } from '../waiting/wait.ts'
import type { ChainReports, ChainSizes } from './chain-reports.ts'
import type { Channels } from './channels.ts'
import type { Executor } from './executors/executor.ts'
import { uptimeSeconds } from './executors/process/proc-stat.ts'
import type { Fence } from './fence.ts'
import type { LogShipper } from './log-shipper.ts'

/** Extra time for an answer, beyond the time that the server may hold a long poll. */
const ANSWER_TIMEOUT_MS = 10_000
/** Pause between two syncs with changes. Changes within this time are sent together. */
const CHANGES_INTERVAL_MS = 8
/**
 * The server repeats an order in every answer until it is carried out, for example during the whole grace period of a
 * stop. The agent backs off between such answers, up to this limit, unless it has changes.
 */
const REPEAT_PAUSE_MAX_MS = 250
/** Number of long polls per fence period: an idle agent must renew its fence before it expires. */
const POLLS_PER_FENCE = 3

export interface LoopParts {
  gateway: Gateway
  executor: Executor
  identity: RegisterRequest
  /** Returns whether `identity` has changed since the last call. */
  registerAgain(): boolean
  shipper: LogShipper
  chains: ChainReports
  sizes: ChainSizes
  figures: GpuFigures
  channels: Channels
  fence: Fence
  changes: ChangeSignal
  log: Logger
  fatalErrors?: readonly ErrorCode[]
  onRegistered?: () => void
  /** Ends the loop. */
  signal: AbortSignal
}

/**
 * Registers, then syncs until stopped. With changes it syncs at once and expects an immediate answer; without changes
 * it sends a long poll, which a change interrupts. At most one sync is in flight. Each sync carries the complete state,
 * so it does not matter whether a failed or interrupted one was processed.
 *
 * @returns when stopped, or superseded by another instance of this agent
 * @throws RepriseError with a code of `fatalErrors`, if the first registration is refused with it
 */
export async function runAgentLoop(parts: LoopParts): Promise<'stopped' | 'superseded'> {
  let registered: RegisterAnswer | null = null
  let wasRegistered = false
  let sequence = 0
  let failures = 0
  let repeats = 0
  while (!parts.signal.aborted) {
    if (parts.registerAgain()) registered = null
    try {
      if (registered === null) {
        registered = await register(parts)
        wasRegistered = true
        parts.onRegistered?.()
      } else repeats = (await syncOnce(parts, registered, ++sequence)) === 'repeated' ? repeats + 1 : 0
      if (repeats > 0) await parts.changes.wait(Math.min(CHANGES_INTERVAL_MS * 2 ** repeats, REPEAT_PAUSE_MAX_MS))
      if (failures > 0) parts.log.info('the server answers again')
      failures = 0
    } catch (error) {
      if (error instanceof ChangeInterrupt) continue
      if (parts.signal.aborted) break
      const code = (error as { code?: unknown }).code
      if (code === 'AGENT_SUPERSEDED') return 'superseded'
      if (!wasRegistered && parts.fatalErrors?.some((refusal) => refusal === code)) throw error
      parts.changes.raise()
      if (code === 'AGENT_UNKNOWN' && registered !== null) {
        registered = null
        parts.log.warn('the server does not know this agent any more; registering again')
        continue
      }
      failures++
      await reportAndPause(parts, failures, error)
    }
  }
  return 'stopped'
}

async function register(parts: LoopParts): Promise<RegisterAnswer> {
  const { gateway, identity, shipper, chains, sizes, changes, log, signal } = parts
  const sentAt = uptimeSeconds()
  const request = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)])
  const answer = await untilAborted(request, gateway.register(identity, request))
  renew(parts, sentAt, answer)
  shipper.resumeFrom(answer.logOffsets)
  chains.restart()
  sizes.restart()
  changes.raise()
  log.info({ agentId: identity.agentId, resourceGroup: identity.resourceGroup }, 'agent registered')
  return answer
}

/** @returns 'repeated' if the agent had no changes, but the server answered at once */
async function syncOnce(
  parts: LoopParts,
  registered: RegisterAnswer,
  sequence: number,
): Promise<'reported' | 'waited' | 'repeated'> {
  const { executor, identity, shipper, chains, sizes, figures, channels, changes, log } = parts
  const hasChanges = changes.take()
  const observed = executor.observe()
  const logs = await shipper.gather(observed)
  const known = chains.next()
  const chainSizes = sizes.next()
  const gpus = figures.next()
  const hasMore = logs.length > 0 || known !== undefined || chainSizes !== undefined || gpus !== undefined
  const waitMs = hasChanges || hasMore ? 0 : pollMs(registered)
  const { agentId, instanceId } = identity
  const [sentAt, began] = [uptimeSeconds(), performance.now()]
  const more = { chains: known, chainSizes, gpus }
  const request = { agentId, instanceId, sequence, observed: shipper.report(observed), logs, waitMs, ...more }
  const answer = await send(parts, request).catch((error: unknown) => {
    shipper.failed()
    throw error
  })
  renew(parts, sentAt, registered)
  shipper.accepted()
  // The server may now accept kernels whose end was held back until their log arrived, and there may be more log text.
  if (logs.length > 0) changes.raise()
  applyAnswer(executor, answer, log)
  channels.open(answer.channels ?? [])
  if (answer.returnGpus !== undefined) executor.returnGpus?.(answer.returnGpus)
  if (answer.takeGpus !== undefined) executor.takeGpus?.(answer.takeGpus)
  if (known !== undefined) chains.answered(known, answer)
  if (chainSizes !== undefined) sizes.answered()
  if (gpus !== undefined) figures.answered()
  const tookMs = performance.now() - began
  if (waitMs > 0) return tookMs < Math.min(waitMs, REPEAT_PAUSE_MAX_MS) ? 'repeated' : 'waited'
  await wait(Math.max(0, CHANGES_INTERVAL_MS - tookMs))
  return 'reported'
}

function renew({ fence, executor }: LoopParts, sentAt: number, registered: RegisterAnswer): void {
  const { fenceAfterMs, heedsGone = false } = registered
  fence.renew(sentAt, fenceAfterMs)
  executor.renewed?.((sentAt - uptimeSeconds()) * 1000 + fenceAfterMs, heedsGone)
}

function pollMs({ heartbeatMs, fenceAfterMs }: RegisterAnswer): number {
  return Math.min(SYNC_WAIT_MAX_MS, heartbeatMs, Math.ceil(fenceAfterMs / POLLS_PER_FENCE))
}

async function send({ gateway, changes, signal }: LoopParts, request: SyncRequest) {
  const controller = new AbortController()
  const all = AbortSignal.any([signal, controller.signal, AbortSignal.timeout(request.waitMs + ANSWER_TIMEOUT_MS)])
  if (request.waitMs > 0) changes.interrupt(controller)
  try {
    return await untilAborted(all, gateway.sync(request, all))
  } catch (error) {
    // The gateway may wrap the abort in its own error; callers rely on seeing ChangeInterrupt.
    throw controller.signal.aborted ? controller.signal.reason : error
  } finally {
    changes.ignore()
  }
}

async function reportAndPause({ log, signal }: LoopParts, failures: number, error: unknown): Promise<void> {
  const pauseMs = reconnectPauseMs(failures, Math.random())
  const level = failures === 1 || failures % 20 === 0 ? 'warn' : 'debug'
  log[level]({ error: messageOf(error), failures, pauseMs }, 'no answer from the server')
  await wait(pauseMs, { signal })
}

/** Applies all orders of an answer. An order that fails does not hold up the others: the server repeats it. */
function applyAnswer(executor: Executor, answer: SyncAnswer, log: Logger): void {
  for (const order of answer.orders) attempt(log, order, () => applyOrder(executor, order))
  for (const order of answer.forget) attempt(log, order, () => executor.forget(order.kernelId, order.assignment))
}

function applyOrder(executor: Executor, order: KernelOrder): void {
  if (order.want === 'PREPARE') executor.prepare(order.spec, order.assignment)
  if (order.want === 'START') executor.start(order.spec, order.assignment)
  if (order.want === 'STOP') executor.stop(order.kernelId, order.assignment, order.graceMs)
}

function attempt(log: Logger, order: object, apply: () => void): void {
  try {
    apply()
  } catch (error) {
    log.error({ ...nameOf(order), error: String(error) }, 'order not carried out')
  }
}

/** Names an order in the log, without the specification, whose environment may hold secrets. */
function nameOf(order: object): object {
  return 'spec' in order ? { kernelId: (order as { spec: { kernelId: string } }).spec.kernelId } : order
}

/** Rejects when `signal` aborts, even if `work` ignores the signal. */
function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason)
    if (signal.aborted) aborted()
    signal.addEventListener('abort', aborted, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted))
  })
}

/** Remembers whether there are changes that the server has not heard of, and lets the loop wait for them. */
interface ChangeSignal {
  /** Called when something has changed. */
  raise(): void
  /** Returns whether there was a change, and resets that. */
  take(): boolean
  /** Aborts the controller at the next change, or at once if there is one. `ignore` releases the controller. */
  interrupt(controller: AbortController): void
  ignore(): void
  /** Resolves at the next change, or after `ms`. */
  wait(ms: number): Promise<void>
}

export function createChangeSignal(): ChangeSignal {
  let raised = false
  let waiting: AbortController | null = null
  return {
    raise() {
      raised = true
      waiting?.abort(new ChangeInterrupt())
    },
    take() {
      const was = raised
      raised = false
      return was
    },
    interrupt(controller) {
      waiting = controller
      if (raised) controller.abort(new ChangeInterrupt())
    },
    ignore() {
      waiting = null
    },
    async wait(ms) {
      const controller = new AbortController()
      this.interrupt(controller)
      await wait(ms, { signal: controller.signal })
      this.ignore()
    },
  }
}

class ChangeInterrupt extends Error {
  constructor() {
    super('there are changes to report')
    this.name = 'ChangeInterrupt'
  }
}
