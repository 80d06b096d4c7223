import type { Measurement } from '../bench.ts'
import type { BenchGround } from '../ground.ts'
import { openPointQuery, type Client } from '../point-query.bench.ts'
import { compareSides, type Side } from './compare.ts'

const REQUESTS = 4_000
const AT_ONCE = 16

/** `session(id)` over HTTP with a token, beside bare Yoga; of the servers alone, without the client that asks both. */
export async function* quickPointQuery(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  await using setup = await openPointQuery(ground, size)
  const side =
    (asked: Client): Side =>
    (timed) =>
      timed(async () => {
        let left = REQUESTS
        const worker = async () => {
          while (left-- > 0) await asked.ask(left)
        }
        await Promise.all(Array.from({ length: AT_ONCE }, worker))
        return REQUESTS
      })
  yield await compareSides(ground, {
    what: 'session(id) by GraphQL over HTTP, beside bare Yoga',
    unit: 'requests',
    rounds: 3,
    ours: side(setup.ours),
    bare: side(setup.bare),
    except: [process.pid],
  })
}
