import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PUBLISH_AT_ONCE_MAX, PUBLISH_LOOK_MS, PUBLISH_PAUSE_MS } from '../../../domain/limits.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { removeTree } from '../../remove-tree.ts'
import { createPasses } from '../../../waiting/passes.ts'
import type { KernelEntry } from '../kernels/kernel-entry.ts'
import { chainDirectory, chainName, draftPath, generationOf, isFirstKernel } from './chain-directory.ts'
import type { ChainHost } from './chain-host.ts'
import { packCheckpoint, type PackedCheckpoint } from './pack-checkpoint.ts'
import { markWish, type PublishAnswer, readWish, removeWish, writeAnswer } from './publish-files.ts'
import { relayCheckpoint, type Relayed } from './relay-checkpoint.ts'
import { type Snapshot, snapshotCheckpoint } from './snapshot-checkpoint.ts'

/** Number of tries for files that are written to while they are sent. */
const TRIES_MAX = 3
const FREEZES_MAX = 10

/** State of a chain's publications while a kernel of it runs here. */
interface History {
  /** A time of `performance.now()`: the chain that has waited longest comes first. */
  endedAt: number
  dueAt: number
  /** Names of files that the program writes to in place. */
  written: Set<string>
  /** The entry that had the name of the wish but was no plain file. It is logged once. */
  refused: string
}

/**
 * Sends the servers the checkpoints that running programs publish. It looks for the wish of each session's first
 * kernel, takes a snapshot and has it relayed. Each chain publishes one snapshot at a time, few chains do so at once,
 * and there are pauses in between. If a program publishes all the time, its latest state is sent, but not every state.
 *
 * After a crash the wish still exists, so the next instance starts again, and removes the old snapshot.
 *
 * @param elsewhere kernels run on other machines
 */
export function createPublisher(host: ChainHost, { elsewhere = false } = {}): { wake(): void; close(): Promise<void> } {
  const histories = new Map<string, History>()

  async function look(): Promise<void> {
    const kernels = running(host)
    for (const name of histories.keys()) if (!kernels.some((kernel) => nameOf(kernel) === name)) histories.delete(name)
    const waiting = kernels.map((kernel) => ({ kernel, history: historyOf(nameOf(kernel)) }))
    for (const { kernel, history } of waiting.toSorted((a, b) => a.history.endedAt - b.history.endedAt)) {
      if (host.registry.closed || host.publishing.size >= PUBLISH_AT_ONCE_MAX) return
      if (host.publishing.has(nameOf(kernel)) || performance.now() < history.dueAt) continue
      const wish = await readWish(chainDirectory(host, kernel.spec), elsewhere)
      if (wish.kind === 'plain') begin(kernel, history, () => relaySnapshot(host, kernel, history))
      if (wish.kind !== 'strange' || wish.key === history.refused) continue
      history.refused = wish.key
      begin(kernel, history, async () => refused('.publish is not a plain file'))
    }
  }

  function historyOf(name: string): History {
    const known = histories.get(name) ?? { endedAt: 0, dueAt: 0, written: new Set(), refused: '' }
    histories.set(name, known)
    return known
  }

  function begin(kernel: KernelEntry, history: History, work: () => Promise<Relayed>): void {
    if (!isRunning(kernel) || host.registry.closed) return
    const began = performance.now()
    const ended = publish(host, kernel, work).then(() => {
      host.publishing.delete(nameOf(kernel))
      history.endedAt = performance.now()
      history.dueAt = history.endedAt + Math.max(PUBLISH_PAUSE_MS, history.endedAt - began)
    })
    host.publishing.set(nameOf(kernel), ended)
  }

  const isNeeded = () => host.relay !== undefined && !host.registry.closed && running(host).length > 0
  const looks = createPasses({
    pauseMs: () => (isNeeded() ? PUBLISH_LOOK_MS : null),
    pauseMinMs: PUBLISH_LOOK_MS,
    pass: look,
    failed: (error) => host.log.warn({ error: messageOf(error) }, 'requests to publish could not be read'),
  })

  return {
    wake: () => looks.wake(),
    async close() {
      looks.close()
      await Promise.all(host.publishing.values())
    },
  }
}

/** Never rejects. */
async function publish(host: ChainHost, kernel: KernelEntry, work: () => Promise<Relayed>): Promise<void> {
  const { id: kernelId, spec } = kernel
  const directory = chainDirectory(host, spec)
  const aside = draftPath(host, spec, 'snap')
  try {
    await removeTree(aside)
    await mkdir(aside, { mode: 0o700 })
    const relayed = await work()
    // The directory no longer belongs to this attempt.
    if (!isRunning(kernel) || host.registry.closed) return
    if (relayed.recorded) kernel.progress.published++
    writeAnswer(directory, aside, answerOf(spec, relayed))
    if (relayed.isOver) removeWish(directory, aside)
  } catch (error) {
    host.log.warn({ kernelId, error: messageOf(error) }, 'a checkpoint could not be published')
  } finally {
    await removeTree(aside).catch(() => {})
  }
}

async function relaySnapshot(host: ChainHost, kernel: KernelEntry, { written }: History): Promise<Relayed> {
  const directory = chainDirectory(host, kernel.spec)
  const into = join(draftPath(host, kernel.spec, 'snap'), 'files')
  const isWanted = () => isRunning(kernel) && !host.registry.closed
  let snapshot: Snapshot | undefined
  let packing: Promise<PackedCheckpoint> | undefined
  // Each snapshot marks the wish again. If there is no snapshot, this wish is answered nevertheless.
  markWish(directory)
  async function pack(bytesMax: number): Promise<PackedCheckpoint> {
    await snapshot?.freeze()
    markWish(directory)
    snapshot = await snapshotCheckpoint(directory, into, { bytesMax, written })
    return packStill(snapshot, bytesMax, isWanted)
  }
  for (let tries = 1; ; tries++) {
    const relayed = await relayCheckpoint(host, kernel, {
      running: true,
      isWanted,
      pack: (bytesMax) => (packing = pack(bytesMax)),
    })
    // A caller that gave up has not waited for the packing.
    await packing?.catch(() => {})
    const isOver = relayed.recorded || tries === TRIES_MAX || !isWanted()
    if (isOver || snapshot === undefined || (await snapshot.freeze()) === 0) return relayed
  }
}

/** Packs the snapshot, and repeats that until no file in it was written to meanwhile. */
async function packStill(snapshot: Snapshot, bytesMax: number, isWanted: () => boolean): Promise<PackedCheckpoint> {
  for (let freezes = 1; ; freezes++) {
    const packing = packCheckpoint(snapshot.path, bytesMax)
    await packing.catch(() => {})
    if (freezes === FREEZES_MAX || !isWanted() || (await snapshot.freeze()) === 0) return packing
  }
}

function answerOf({ attempt }: KernelEntry['spec'], { recorded, reason, copy }: Relayed): PublishAnswer {
  const { files = null, bytes = null } = (recorded && copy) || {}
  return { attempt, published: recorded, at: new Date().toISOString(), files, bytes, reason }
}

function refused(reason: string): Relayed {
  return { recorded: false, isOver: false, reason, copy: null }
}

/** Running kernels whose directories are examined at their end. */
function running({ registry }: ChainHost): KernelEntry[] {
  return [...registry.kernels.values()].filter((kernel) => isRunning(kernel) && isFirstKernel(kernel.spec))
}

function isRunning({ phase, killAt, removing }: KernelEntry): boolean {
  return phase === 'RUNNING' && killAt === null && !removing
}

function nameOf({ spec }: KernelEntry): string {
  return chainName(spec.chainId, generationOf(spec))
}
