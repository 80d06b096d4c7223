import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { percentile } from './waiting.ts'

const ATTACK_MS = 30_000
const SETTLE_MS = 3_000
const PROBE_INTERVAL_MS = 20
const GROWTH_MEGABYTES = 100
const HEALTHY_WITHIN_MS = 50
/** As `npm start` runs it. */
const NODE_OPTIONS = '--max-semi-space-size=8'

/**
 * What connections without a token cost a server: each sends 900 requests for GraphiQL or for the OpenAPI document at
 * once, and reads nothing. The requests come from another process than the probes.
 */
export async function* strangers(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const server = await startServer({
    dataDir: join(ground.dir, 'attacked-server'),
    port: 0,
    onLog: (line) => ground.progress(line),
    env: { REPRISE_EXECUTOR: 'noop', REPRISE_LOG_LEVEL: 'warn', REPRISE_SLOTS: 'cpu=1000', NODE_OPTIONS },
  })
  try {
    await sleep(SETTLE_MS)
    yield* await attack(ground, server, size)
  } finally {
    await server.stop()
  }
}

async function attack(ground: BenchGround, server: ServerProcess, size: number): Promise<Measurement[]> {
  const before = await megabytes(server.pid)
  const stopped = new AbortController()
  const latencies: number[] = []
  const probing = probe(server.url, latencies, stopped.signal)
  const program = join(import.meta.dirname, 'strangers-program.ts')
  const attacker = spawn(process.execPath, [program, new URL(server.url).port, String(size)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let open = ''
  createInterface({ input: attacker.stdout }).on('line', (line) => (open = line))
  let peak = before
  const until = performance.now() + ATTACK_MS
  while (performance.now() < until) {
    ground.signal.throwIfAborted()
    peak = Math.max(peak, await megabytes(server.pid))
    ground.progress(`${Math.round(peak - before)} MB more, ${open || 'opening'}`)
    await sleep(500)
  }
  attacker.kill('SIGKILL')
  stopped.abort()
  await probing
  return [
    {
      what: `growth under ${size} connections of 900 unread requests without a token`,
      figure: peak - before,
      unit: 'MB',
      target: { atMost: GROWTH_MEGABYTES },
      notes: { 'before, MB': Math.round(before), 'at the end': open },
    },
    {
      what: '/healthz meanwhile, p99',
      figure: percentile(latencies, 0.99),
      unit: 'ms',
      target: { atMost: HEALTHY_WITHIN_MS },
      notes: { probes: latencies.length, 'longest, ms': Math.round(Math.max(...latencies)) },
    },
  ]
}

/** Asks one request after the other, until it is told to stop. One that gets no answer is as slow as the slowest. */
async function probe(url: string, latencies: number[], signal: AbortSignal): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  while (!signal.aborted) {
    const begun = performance.now()
    const answered = await new Promise<boolean>((resolve) => {
      const asked = request(`${url}/healthz`, { agent }, (response) =>
        response.resume().once('end', () => resolve(true)),
      )
      asked.once('error', () => resolve(false)).end()
    })
    latencies.push(answered ? performance.now() - begun : ATTACK_MS)
    await sleep(PROBE_INTERVAL_MS)
  }
  agent.destroy()
}

/** What a process keeps resident. */
async function megabytes(pid: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))![1]) / 1_000
}
