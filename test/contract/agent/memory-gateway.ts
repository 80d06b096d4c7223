import type {
  Gateway,
  KernelOrder,
  LogOffset,
  LogPiece,
  ObservedKernel,
  RegisterRequest,
  SyncAnswer,
  SyncRequest,
} from '../../../src/domain/agent/protocol.ts'
import { RepriseError } from '../../../src/domain/errors.ts'

/**
 * The server's side of the protocol in memory: takes reports and log pieces, repeats its orders until taken back,
 * and can be away. What it keeps is what a server would have seen.
 */
export interface MemoryGateway extends Gateway {
  orders: KernelOrder[]
  forget: SyncAnswer['forget']
  /** Thrown by every call while set. */
  failure: Error | null
  failed: number
  /** Takes what comes, and loses this many answers. */
  answersToLose: number
  fenceAfterMs: number
  registrations: RegisterRequest[]
  syncs: SyncRequest[]
  underWayMax: number
  kernels: Map<string, ObservedKernel>
  /** In the order of arrival. */
  seen: { kernelId: string; status: string }[]
  text(kernelId: string, stream: 'STDOUT' | 'STDERR'): string
  /** Lets those that wait for news go. */
  wake(): void
}

export function createMemoryGateway(): MemoryGateway {
  const logs = new Map<string, { offset: number; text: string }>()
  let underWay = 0
  let wake = Promise.withResolvers<void>()

  function take({ kernelId, stream, offset, bytes, text }: LogPiece): void {
    const key = `${kernelId} ${stream}`
    const log = logs.get(key) ?? { offset: 0, text: '' }
    if (offset > log.offset) throw new Error(`a gap in ${key}: ${log.offset} to ${offset}`)
    if (offset < log.offset) return
    logs.set(key, { offset: offset + bytes, text: log.text + text })
  }

  function see(kernel: ObservedKernel): void {
    if (gateway.kernels.get(kernel.kernelId)?.status !== kernel.status) {
      gateway.seen.push({ kernelId: kernel.kernelId, status: kernel.status })
    }
    gateway.kernels.set(kernel.kernelId, kernel)
  }

  function failWhenAway(): void {
    if (gateway.failure === null) return
    gateway.failed++
    throw gateway.failure
  }

  /** Whether the agent has something other than it should. */
  function differs({ observed }: SyncRequest): boolean {
    const statuses = new Map(observed.map(({ kernelId, status }) => [kernelId, status]))
    const isOpen = (order: KernelOrder) =>
      order.want === 'STOP' ? statuses.get(order.kernelId) === 'RUNNING' : !statuses.has(order.spec.kernelId)
    return gateway.orders.some(isOpen) || gateway.forget.some(({ kernelId }) => statuses.has(kernelId))
  }

  async function answer(request: SyncRequest, signal: AbortSignal): Promise<SyncAnswer> {
    failWhenAway()
    if (gateway.registrations.at(-1)?.instanceId !== request.instanceId)
      throw new RepriseError('AGENT_SUPERSEDED', 'superseded')
    gateway.syncs.push(request)
    request.logs.forEach(take)
    request.observed.forEach(see)
    if (gateway.answersToLose > 0) {
      gateway.answersToLose--
      throw new Error('the answer is lost')
    }
    if (request.waitMs > 0 && !differs(request)) await Promise.race([wake.promise, waitFor(request.waitMs, signal)])
    failWhenAway()
    return { orders: gateway.orders, forget: gateway.forget }
  }

  const gateway: MemoryGateway = {
    orders: [],
    forget: [],
    failure: null,
    failed: 0,
    answersToLose: 0,
    fenceAfterMs: 60_000,
    registrations: [],
    syncs: [],
    underWayMax: 0,
    kernels: new Map(),
    seen: [],
    text: (kernelId, stream) => logs.get(`${kernelId} ${stream}`)?.text ?? '',
    wake() {
      wake.resolve()
      wake = Promise.withResolvers()
    },
    async register(request) {
      failWhenAway()
      gateway.registrations.push(request)
      const logOffsets = [...logs].map(([key, { offset }]) => {
        const [kernelId = '', stream] = key.split(' ')
        return { kernelId, stream, offset } as LogOffset
      })
      return { logOffsets, heartbeatMs: 5_000, fenceAfterMs: gateway.fenceAfterMs }
    },
    async sync(request, signal) {
      gateway.underWayMax = Math.max(gateway.underWayMax, ++underWay)
      return answer(request, signal).finally(() => underWay--)
    },
  }
  return gateway
}

function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason)), { once: true })
  })
}
