import { randomUUID } from 'node:crypto'
import type {
  Gateway,
  KernelOrder,
  LogPiece,
  ObservedKernel,
  RegisterAnswer,
  RegisterRequest,
  SyncAnswer,
} from '../../../src/domain/agent/protocol.ts'

export type Report = Partial<
  Pick<
    ObservedKernel,
    | 'status'
    | 'waiting'
    | 'exitCode'
    | 'oomKilled'
    | 'error'
    | 'startedAt'
    | 'verdict'
    | 'stopped'
    | 'inTime'
    | 'usage'
    | 'gone'
    | 'leftCheckpoint'
    | 'leftOutputs'
    | 'imageDigest'
    | 'gpus'
    | 'gpuUsage'
  >
>

/** A simulated agent: the test decides what it observes; the gateway is the real one. */
export interface FakeAgent {
  readonly id: string
  readonly instanceId: string
  readonly kernels: Map<string, ObservedKernel>
  register(slots?: Record<string, string>): Promise<RegisterAnswer>
  /** Reports its kernels, forgets those that the server names, and returns the orders, which are not executed yet. */
  sync(logs?: LogPiece[], waitMs?: number): Promise<SyncAnswer>
  /** Sets what it reports about a kernel in its next sync. */
  observe(kernelId: string, report: Report): void
  /** Executes the orders at once: prepare, start, stop. */
  obey(answer: SyncAnswer): void
  /** `sync`, `obey`, and one more `sync` that reports the result. */
  comply(): Promise<SyncAnswer>
  /** Ends every running kernel. */
  exitAll(exitCode: number): void
}

export function fakeAgent(
  gateway: Gateway,
  options: {
    slots?: Record<string, string>
    resourceGroup?: string
    id?: string
    instanceId?: string
    /** Further fields of its registration. */
    says?: Pick<
      RegisterRequest,
      'slotsPerKernelMax' | 'ports' | 'volumes' | 'chainStore' | 'judgesTime' | 'gpus' | 'gpuFault' | 'gpuSharing'
    >
  } = {},
): FakeAgent {
  const { slots = { cpu: '4' }, resourceGroup = 'default', id = randomUUID(), instanceId = randomUUID() } = options
  const kernels = new Map<string, ObservedKernel>()
  const signal = new AbortController().signal
  let sequence = 0

  function obeyOne(order: KernelOrder): void {
    const { assignment } = order
    if (order.want === 'STOP') {
      const { startedAt = null } = kernels.get(order.kernelId) ?? {}
      const report: Report = { status: 'EXITED', exitCode: 143, startedAt, stopped: true }
      kernels.set(order.kernelId, observed(order.kernelId, assignment, report))
      return
    }
    const { kernelId } = order.spec
    const report: Report = order.want === 'PREPARE' ? { status: 'PREPARED' } : { status: 'RUNNING', startedAt: NOW }
    kernels.set(kernelId, observed(kernelId, assignment, report))
  }

  const agent: FakeAgent = {
    id,
    instanceId,
    kernels,
    register: (declared = slots) =>
      gateway.register(
        {
          agentId: id,
          instanceId,
          name: `agent-${id}`,
          resourceGroup,
          address: '',
          version: '1',
          slots: declared,
          labels: {},
          ...options.says,
        },
        signal,
      ),
    async sync(logs = [], waitMs = 0) {
      sequence += 1
      const request = { agentId: id, instanceId, sequence, observed: [...kernels.values()], logs, waitMs }
      const answer = await gateway.sync(request, signal)
      for (const { kernelId, assignment } of answer.forget) {
        if (kernels.get(kernelId)?.assignment === assignment) kernels.delete(kernelId)
      }
      return answer
    },
    observe(kernelId, report) {
      const known = kernels.get(kernelId)
      kernels.set(kernelId, observed(kernelId, known?.assignment ?? 1, { ...known, ...report }))
    },
    obey(answer) {
      answer.orders.forEach(obeyOne)
    },
    async comply() {
      agent.obey(await agent.sync())
      return agent.sync()
    },
    exitAll(exitCode) {
      for (const [kernelId, kernel] of kernels) {
        if (kernel.status === 'RUNNING') agent.observe(kernelId, { status: 'EXITED', exitCode })
      }
    },
  }
  return agent
}

const NOW = '2026-11-21T12:00:00.000Z'

export function observed(kernelId: string, assignment: number, report: Report): ObservedKernel {
  return {
    status: 'PREPARED',
    exitCode: null,
    oomKilled: false,
    error: null,
    startedAt: null,
    endedAt: null,
    port: null,
    stopped: false,
    ...report,
    kernelId,
    assignment,
  }
}
