import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { percentile } from './waiting.ts'

const BURSTS = 8
/** What is compared: the median of so many bursts, since one reading depends on when V8 last gave memory back. */
const COMPARED_BURSTS = 3
const CREATE_BATCH_SESSIONS = 500
/** Until what a burst left is collected. */
const SETTLE_MS = 5_000
const CHECK_INTERVAL_MS = 250
const BURST_WITHIN_MS = 120_000
const EMPTY_WITHIN_MS = 6_000
const WARM_WITHIN_MS = 3_000
const IDLE_MEGABYTES = 200
/** Over the bursts from the second on; the first fills caches and compiles. */
const GROWTH = 1.1
/** As `npm start` runs it. */
const NODE_OPTIONS = '--max-semi-space-size=8'

/** How long a whole server with its own PostgreSQL takes to be ready, and what it keeps resident without PostgreSQL. */
export async function* memory(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const dataDir = join(ground.dir, 'whole-server')
  const start = () =>
    startServer({
      dataDir,
      port: 0,
      onLog: (line) => ground.progress(line),
      env: { REPRISE_EXECUTOR: 'noop', REPRISE_LOG_LEVEL: 'warn', REPRISE_SLOTS: 'cpu=1000', NODE_OPTIONS },
    })
  ground.progress('on an empty data directory')
  const empty = await start()
  await empty.stop()
  ground.progress('on a warm one')
  const warm = await start()
  try {
    yield* [
      {
        what: 'start to ready, empty data directory',
        figure: empty.readyAfterMs,
        unit: 'ms',
        target: { atMost: EMPTY_WITHIN_MS },
      },
      {
        what: 'start to ready, warm data directory',
        figure: warm.readyAfterMs,
        unit: 'ms',
        target: { atMost: WARM_WITHIN_MS },
      },
    ]
    yield* await resident(ground, warm, await readAdminToken(dataDir), size)
  } finally {
    await warm.stop()
  }
}

async function resident(
  ground: BenchGround,
  server: ServerProcess,
  token: string,
  size: number,
): Promise<Measurement[]> {
  const api = apiOf(server.url, token)
  await sleep(SETTLE_MS)
  const idle = await api.megabytes()
  let peak = idle
  const after: number[] = []
  for (let burst = 1; burst <= BURSTS; burst++) {
    ground.progress(`burst ${burst} of ${BURSTS}`)
    for (let made = 0; made < size; made += CREATE_BATCH_SESSIONS) {
      await api.create(`burst-${burst}`, Math.min(CREATE_BATCH_SESSIONS, size - made))
    }
    const deadline = performance.now() + BURST_WITHIN_MS
    while ((await api.succeeded(`burst-${burst}`)) < size) {
      ground.signal.throwIfAborted()
      if (performance.now() > deadline) throw new Error('a burst did not come to its end')
      peak = Math.max(peak, await api.megabytes())
      await sleep(CHECK_INTERVAL_MS)
    }
    await sleep(SETTLE_MS)
    after.push(await api.megabytes())
  }
  const early = percentile(after.slice(1, 1 + COMPARED_BURSTS), 0.5)
  return [
    { what: 'resident, idle, with its agent', figure: idle, unit: 'MB', target: { atMost: IDLE_MEGABYTES } },
    { what: `resident at most, in ${BURSTS} bursts of ${size} sessions`, figure: peak, unit: 'MB' },
    {
      what: `resident after each of the last ${COMPARED_BURSTS} bursts, beside after the 2nd to the ${1 + COMPARED_BURSTS}th, medians`,
      figure: percentile(after.slice(-COMPARED_BURSTS), 0.5),
      unit: 'MB',
      ceiling: early,
      target: { atMost: Math.round(early * GROWTH) },
      notes: { 'after each': after.map(Math.round).join(' ') },
    },
  ]
}

function apiOf(url: string, token: string) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  async function ask(query: string, variables: object = {}): Promise<string> {
    const body = JSON.stringify({ query, variables })
    const text = await (await fetch(`${url}/graphql`, { method: 'POST', headers, body })).text()
    if (text.includes('"errors"')) throw new Error(text.slice(0, 500))
    return text
  }
  return {
    async create(name: string, count: number): Promise<void> {
      const sessions = Array.from({ length: count }, () => ({ name, command: ['noop'] }))
      await ask(CREATE, { input: { sessions } })
    },
    /** `totalCount` stops at 10,000, so each burst is counted alone. */
    succeeded: async (name: string) => Number(/"totalCount":(\d+)/.exec(await ask(SUCCEEDED, { name }))![1]),
    /** Of the server's process alone. */
    async megabytes(): Promise<number> {
      const page = await (await fetch(`${url}/metrics`, { headers })).text()
      return Number(/^process_resident_memory_bytes (\S+)$/m.exec(page)![1]) / 1e6
    },
  }
}

const CREATE = 'mutation ($input: CreateSessionsInput!) { createSessions(input: $input) { __typename } }'
const SUCCEEDED = `query ($name: String!) {
  sessions(first: 1, filter: { status: [TERMINATED], name: { equals: $name } }) { totalCount } }`
