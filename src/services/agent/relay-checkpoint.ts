import type {
  CheckpointAnswer,
  CheckpointCopy,
  CheckpointRequest,
  CheckpointWish,
  CodeRequest,
} from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import { RELAY_LEFTOVER_AFTER_MS } from '../../domain/limits.ts'
import type { Database } from '../../store/database.ts'
import {
  lockRelayed,
  nextRelayOrder,
  readRelayed,
  readRelayingKernel,
  recordRelayed,
  type RelayingKernel,
} from '../../store/sql/agent/relayed-checkpoints.sql.ts'
import type { CheckpointStore } from './checkpoint-store.ts'

export interface RelayContext {
  db: Database
  relay: CheckpointStore
}

/**
 * What an agent asks before it sends a copy, first whether one would be of use at all. One that the servers have is
 * recorded at once, and need not be sent.
 *
 * @throws RepriseError KERNEL_NOT_FOUND
 */
export async function offerCheckpoint(
  { db, relay }: RelayContext,
  request: CheckpointRequest,
): Promise<CheckpointWish> {
  const found = await kernelOf(db, request)
  const { copy } = request
  const { bytesMax } = relay
  const refused = (reason: string): CheckpointWish => ({ wanted: false, reason, recorded: false, bytesMax })
  if (bytesMax === 0) return refused('checkpoints are not relayed (REPRISE_CHECKPOINT_RELAY_MAX)')
  if (!found.isOfUse) return refused('all agents that could need it see the same store')
  if (isStale(found, request)) {
    if (copy !== undefined) await recordRelayed(db, request, copy)
    return refused('something newer is on record')
  }
  if (copy === undefined) {
    const order = await nextRelayOrder(db)
    return { wanted: true, reason: null, recorded: false, bytesMax, order }
  }
  if (copy.archiveBytes > bytesMax) return refused(`it has more than ${bytesMax} bytes (REPRISE_CHECKPOINT_RELAY_MAX)`)
  const isKept = found.relaySha256 === copy.sha256 && (await relay.has(found.chainId, copy.sha256))
  const recorded = isKept && (await recordRelayed(db, request, copy))
  return { wanted: !recorded, reason: null, recorded, bytesMax }
}

/**
 * Receives a copy, whole or not at all: its file has its name before its record can be read. A crash in between leaves a
 * file that no record names, which is removed later; the one that it replaces is removed at once.
 *
 * @throws RepriseError KERNEL_NOT_FOUND, REQUEST_TOO_LARGE, VALIDATION_FAILED, SERVER_DISK_FULL
 */
export async function receiveCheckpoint(
  { db, relay }: RelayContext,
  request: CheckpointRequest & { copy: CheckpointCopy },
  source: AsyncIterable<Uint8Array>,
): Promise<{ recorded: boolean }> {
  const { copy } = request
  const found = await kernelOf(db, request)
  if (isStale(found, request)) return { recorded: await recordRelayed(db, request, copy) }
  const { chainId } = found
  await using received = await relay.receive(source, chainId, copy)
  const recorded = await db.transaction(async (tx) => {
    if (!(await recordRelayed(tx, request, copy))) return false
    await received.keep()
    return true
  })
  if (recorded) await db.transaction(async (tx) => relay.removeOthers(chainId, await lockRelayed(tx, chainId)))
  return { recorded }
}

/**
 * The copy of the newest checkpoint, for a kernel that the agent has now. One that is older than the record is not given
 * away.
 *
 * @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND
 */
export async function openRelayed({ db, relay }: RelayContext, request: CodeRequest): Promise<CheckpointAnswer> {
  const found = await kernelOf(db, request)
  if (!found.isCurrent) throw notAssigned(request)
  const { chainId, relayAttempt, relaySha256: sha256, relayBytes, newestAttempt } = found
  if (sha256 === null || relayAttempt === null || relayAttempt !== newestAttempt)
    throw new RepriseError('CODE_NOT_FOUND', 'there is none of the newest attempt')
  const opened = await relay.open(chainId, sha256)
  if (opened !== null) return { ...opened, attempt: relayAttempt, sha256, archiveBytes: relayBytes! }
  const advice = 'all servers must share one REPRISE_CHECKPOINT_DIR'
  throw new RepriseError('CODE_NOT_FOUND', `it is gone from this server's directory; ${advice}`)
}

/** Removes files that no record names: of dropped checkpoints, removed chains and interrupted uploads. */
export async function removeRelayLeftovers(
  { db, relay }: RelayContext,
  ageMs = RELAY_LEFTOVER_AFTER_MS,
): Promise<number> {
  const chains = await relay.chains()
  const recorded = await readRelayed(db, chains)
  let removed = 0
  for (const chainId of chains) {
    removed += recorded.has(chainId)
      ? await db.transaction(async (tx) => relay.removeOthers(chainId, await lockRelayed(tx, chainId), ageMs))
      : await relay.removeOthers(chainId, null, ageMs)
  }
  return removed
}

function isStale({ attempt, newestAttempt, generation }: RelayingKernel, request: CheckpointRequest): boolean {
  return generation !== request.generation || (newestAttempt ?? 0) > attempt
}

async function kernelOf(db: Database, request: CheckpointRequest | CodeRequest): Promise<RelayingKernel> {
  const found = await readRelayingKernel(db, request)
  if (found === undefined || ('running' in request && request.running && !found.isCurrent)) throw notAssigned(request)
  return found
}

function notAssigned({ kernelId }: CodeRequest): RepriseError {
  return new RepriseError('KERNEL_NOT_FOUND', `kernel ${kernelId} is not assigned to this agent`)
}
