import { RepriseError } from '../../domain/errors.ts'
import type { Database } from '../../store/database.ts'
import {
  readRelayingKernel,
  recordRelayed,
  type KernelOfAgent,
  type RelayedCheckpoint,
} from '../../store/sql/checkpoint/relayed-checkpoints.sql.ts'
import type { CodeAnswer } from '../../domain/agent/protocol.ts'
import type { CodeStore } from '../code/code-store.ts'

export interface RelayContext {
  db: Database
  /** Of checkpoints, beside that of code: the same files, another folder and other bounds. */
  relay: CodeStore
}

/**
 * What an agent asks before it sends a checkpoint: whether any other could need it. One that is unchanged is recorded at
 * once, and need not be sent.
 */
export async function offerCheckpoint(
  { db, relay }: RelayContext,
  kernel: KernelOfAgent,
  checkpoint: RelayedCheckpoint,
): Promise<{ wanted: boolean }> {
  const found = await readRelayingKernel(db, kernel)
  if (found === undefined || found.isShared || found.generation !== checkpoint.generation) return { wanted: false }
  if (checkpoint.archiveBytes > relay.bytesMax) return { wanted: false }
  if (found.relaySha256 !== checkpoint.sha256) return { wanted: true }
  if (!(await relay.has({ projectId: found.projectId, sha256: checkpoint.sha256 }))) return { wanted: true }
  await recordRelayed(db, kernel, checkpoint)
  return { wanted: false }
}

/**
 * Receives the archive of a checkpoint, whole or not at all: the file has its name before the record names it. A crash in
 * between leaves a file that no record names, which is removed later.
 *
 * @throws RepriseError KERNEL_NOT_FOUND, REQUEST_TOO_LARGE, VALIDATION_FAILED
 */
export async function receiveCheckpoint(
  { db, relay }: RelayContext,
  kernel: KernelOfAgent,
  checkpoint: RelayedCheckpoint & { source: AsyncIterable<Uint8Array> },
): Promise<{ recorded: boolean }> {
  const { source, ...relayed } = checkpoint
  const found = await readRelayingKernel(db, kernel)
  if (found === undefined) throw notAssigned(kernel)
  const key = { projectId: found.projectId, sha256: relayed.sha256 }
  await using received = await relay.receive(source, key)
  await received.keep()
  return { recorded: await recordRelayed(db, kernel, { ...relayed, archiveBytes: received.bytes }) }
}

/**
 * The copy of the newest checkpoint, for a kernel that the agent has now. One that is older than the record is not given
 * away.
 *
 * @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND
 */
export async function openRelayed({ db, relay }: RelayContext, kernel: KernelOfAgent): Promise<CodeAnswer> {
  const found = await readRelayingKernel(db, kernel)
  if (found === undefined) throw notAssigned(kernel)
  const { projectId, relayAttempt, relaySha256, newestAttempt, chainId } = found
  const opened =
    relaySha256 === null || relayAttempt !== newestAttempt ? null : await relay.open({ projectId, sha256: relaySha256 })
  if (opened === null) throw new RepriseError('CODE_NOT_FOUND', `no copy of the checkpoint of chain ${chainId}`)
  return opened
}

function notAssigned({ kernelId }: KernelOfAgent): RepriseError {
  return new RepriseError('KERNEL_NOT_FOUND', `kernel ${kernelId} is not assigned to this agent`)
}
