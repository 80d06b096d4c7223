/**
 * What the program of a peer does for the bench.
 *
 * @typedef {object} Peer
 * @property {(count: number) => Promise<void>} enqueue Adds jobs that fail once and then succeed.
 * @property {() => Promise<number>} [succeeded] Number of jobs that have succeeded. With PostgreSQL, the bench counts rows instead.
 * @property {() => Promise<void>} close
 */

/**
 * Answers the bench, which asks one question at a time, until it disconnects.
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
 * Adds many jobs in batches, one after another.
 *
 * @param {number} count
 * @param {number} size
 * @param {(size: number) => Promise<unknown>} add
 */
export async function inBatches(count, size, add) {
  for (let done = 0; done < count; done += size) await add(Math.min(size, count - done))
}
