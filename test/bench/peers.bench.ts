import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { installPeers } from './peers/install-peers.ts'
import { measureSide } from './peers/measure-side.ts'
import { bullmq, dbos, graphileWorker, pgBoss, reprise } from './peers/sides.ts'

/**
 * Jobs that fail once, wait, and then succeed: by Reprise, and by what people would use instead. One after the other, on
 * the same PostgreSQL where they use one.
 */
export async function* peers(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  await installPeers(ground)
  for (const open of [reprise, graphileWorker, pgBoss, dbos, bullmq]) {
    const side = await open(ground)
    if (side) yield* measureSide(ground, side, size)
    else ground.progress('BullMQ is left out: there is neither redis-server nor valkey-server')
  }
}
