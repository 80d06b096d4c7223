/**
 * What the bench asks of each peer's program. Jobs are added, and have succeeded, when their store has it.
 *
 * @typedef {object} Peer
 * @property {(count: number) => Promise<void>} enqueue Adds jobs that fail once and then succeed.
 * @property {() => Promise<number>} [succeeded] How many jobs have succeeded; where the bench cannot count rows.
 * @property {() => Promise<void>} close
 */

/**
 * Answers the bench's questions, one at a time, until the bench disconnects.
 *
 * @param {Peer} peer
 */
export function servePeer(peer) {
  process.on('message', (question) => void answer(peer, question))
  process.once('disconnect', () => process.exit())
  process.send?.({ answer: 'ready' })
}

/**
 * @param {Peer} peer
 * @param {{ ask: 'enqueue' | 'succeeded' | 'close', count: number }} question
 */
async function answer(peer, { ask, count }) {
  try {
    process.send?.({ answer: (await peer[ask]?.(count)) ?? null })
  } catch (error) {
    process.send?.({ failed: error instanceof Error ? error.stack : String(error) })
  }
}

/**
 * In batches, as a program adds many jobs.
 *
 * @param {number} count
 * @param {number} size
 * @param {(size: number) => Promise<unknown>} add
 */
export async function inBatches(count, size, add) {
  for (let done = 0; done < count; done += size) await add(Math.min(size, count - done))
}
