import type { Lease } from '../domain/agent/lease.ts'
import type { Gateway, RegisterAnswer, RegisterRequest, SyncAnswer, SyncRequest } from '../domain/agent/protocol.ts'
import { SYNC_WAIT_MAX_MS } from '../domain/limits.ts'
import type { CodeStore } from '../services/code/code-store.ts'
import {
  type CheckpointStore,
  offerCheckpoint,
  openCompressed,
  receiveCheckpoint,
} from '../services/agent/relay-checkpoint.ts'
import { haveKernelBlobs, openKernelBlob, openKernelCode, receiveKernelParts } from '../services/agent/kernel-blobs.ts'
import { listInputs } from '../services/agent/list-inputs.ts'
import { type OutputLimits, receiveOutputs } from '../services/agent/receive-outputs.ts'
import { registerAgent } from '../services/agent/register-agent.ts'
import type { ServiceContext, Viewer } from '../services/service-context.ts'
import { syncAgent } from '../services/agent/sync-agent.ts'
import { createWakeSignal } from '../waiting/wake-signal.ts'
import { createSyncTurns } from './sync-turns.ts'

export interface GatewayContext extends Pick<ServiceContext, 'db' | 'wake' | 'secrets' | 'metrics'> {
  lease?: Lease
  code: CodeStore
  relay: CheckpointStore
  outputs: OutputLimits
  /**
   * Calls the listener when there may be changes for the agent.
   * @returns a function that removes the listener
   */
  onAgent(agentId: string, listener: () => void): () => void
  /** Called when the kernel's log has grown. */
  logged(kernelId: string): void
  /** The longest wait of a sync, in ms; SYNC_WAIT_MAX_MS if it is missing. */
  waitMaxMs?: number
}

/** The server's own gateway, which also gets the registering viewer; null for the embedded agent. */
export interface ServerGateway extends Gateway {
  register(request: RegisterRequest, signal: AbortSignal, viewer?: Viewer | null): Promise<RegisterAnswer>
}

const NOTHING: SyncAnswer = { orders: [], forget: [] }

/**
 * Creates the server side of the agent protocol. A sync that finds nothing new for the agent waits until there is
 * something, until `waitMs` have passed, or until the agent aborts it because it has changes itself.
 */
export function createGateway(context: GatewayContext): ServerGateway {
  const turns = createSyncTurns()
  const { waitMaxMs = SYNC_WAIT_MAX_MS } = context

  async function exchange(request: SyncRequest): Promise<SyncAnswer> {
    const { answer, loggedKernelIds } = await syncAgent(context, request)
    for (const kernelId of loggedKernelIds) context.logged(kernelId)
    return answer
  }

  return {
    register: (request, _signal, viewer = null) => registerAgent(context, request, viewer),
    fetchCode: (request) => openKernelCode(context, request),
    listInputs: (request) => listInputs(context, request),
    reportOutputs: (request) => receiveOutputs(context, request),
    offerCheckpoint: (request) => offerCheckpoint(context, request),
    sendCheckpoint: (request, chunks) => receiveCheckpoint(context, request, chunks),
    fetchCheckpoint: (request) => openCompressed(context, request),
    haveBlobs: (request) => haveKernelBlobs(context, request),
    sendParts: (request, body) => receiveKernelParts(context, request, body),
    fetchBlob: (request) => openKernelBlob(context, request),
    async sync(request, signal) {
      const deadline = performance.now() + Math.min(request.waitMs, waitMaxMs)
      const wakeSignal = createWakeSignal([signal])
      // Listens before it reads, so that no change in between is missed.
      const stop = context.onAgent(request.agentId, wakeSignal.raise)
      try {
        let current = request
        for (;;) {
          const latest = current
          const answer = await turns.take(latest, () => exchange(latest))
          // The agent has sent a newer sync, and waits only for the answer to that one.
          if (!answer) return NOTHING
          const left = deadline - performance.now()
          if (hasChanges(answer) || left <= 0 || signal.aborted) return answer
          // Logs, chains and their sizes are already stored; the observations are compared again with the state at that
          // time.
          current = { ...request, logs: [], chains: undefined, chainSizes: undefined }
          if (!(await wakeSignal.wait(left)) || signal.aborted) return answer
        }
      } finally {
        stop()
        wakeSignal.stop()
      }
    },
  }
}

function hasChanges({ orders, forget, dropChains = [], channels = [], ...gpus }: SyncAnswer): boolean {
  const { returnGpus = [], takeGpus = [] } = gpus
  return [orders, forget, dropChains, channels, returnGpus, takeGpus].some(({ length }) => length > 0)
}
