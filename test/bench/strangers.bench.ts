import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { getIntrospectionQuery } from 'graphql'
import { startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { percentile } from './waiting.ts'

const CPU_MS_PER_REQUEST = 1
const KILOBYTES_PER_REQUEST = 50
const WARM_UP_REQUESTS = 300
const COUNTED_REQUESTS = 2_000
/** Of those whose answer has megabytes. */
const COUNTED_LARGE = 200
const AT_ONCE = 8
/** The interval in which the CPU time of the idle server is measured. */
const IDLE_MS = 3_000
const ATTACK_MS = 30_000
const SETTLE_MS = 3_000
const PROBE_INTERVAL_MS = 20
const GROWTH_MEGABYTES = 100
const HEALTHY_WITHIN_MS = 50
/** As `npm start` runs it. */
const NODE_OPTIONS = '--max-semi-space-size=8'

/**
 * What clients without a token cost a server: one request of each kind, and connections of which each sends 900
 * requests for GraphiQL's editor or for the OpenAPI document at once, and reads nothing. The requests come from another
 * process than the probes.
 */
export async function* strangers(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const alone = await startQuietServer(ground, 'asked-server', UNLIMITED)
  try {
    yield* costs(ground, alone)
  } finally {
    await alone.stop()
  }
  const server = await startQuietServer(ground, 'attacked-server')
  try {
    yield* await attack(ground, server, size)
    yield* limitedCosts(ground, server)
  } finally {
    await server.stop()
  }
}

async function startQuietServer(ground: BenchGround, name: string, env: Record<string, string> = {}) {
  const server = await startServer({
    dataDir: join(ground.dir, name),
    port: 0,
    onLog: (line) => ground.progress(line),
    env: { REPRISE_EXECUTOR: 'noop', REPRISE_LOG_LEVEL: 'warn', REPRISE_SLOTS: 'cpu=1000', NODE_OPTIONS, ...env },
  })
  await sleep(SETTLE_MS)
  return server
}

/** Every request is answered, rather than refused by the rate of its address. */
const UNLIMITED = { REPRISE_FAILED_AUTHENTICATIONS_PER_SECOND: '0' }

interface Kind {
  what: string
  path: string
  headers?: Record<string, string>
  body?: string
  isLarge?: true | undefined
  /** Its size, or the rate of an address, bounds how many are answered: it has no target of its own. */
  isLimited?: true
}

const COMPRESSED = { 'accept-encoding': 'gzip, deflate, br' }
const JSON_BODY = { 'content-type': 'application/json' }
const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'x3JJHMbDL1EzLkh9GBhXDw==',
}

const INTROSPECTION = {
  path: '/graphql',
  headers: JSON_BODY,
  body: JSON.stringify({ query: getIntrospectionQuery() }),
  isLarge: true,
  isLimited: true,
} as const

const SMALL_INTROSPECTION = JSON.stringify({ query: '{ __type(name: "Session") { name fields { name } } }' })

function kindsOf({ uiFile, editor }: Files): Kind[] {
  return [
    { what: 'GraphiQL', path: '/graphql', headers: { accept: 'text/html', ...COMPRESSED } },
    { what: 'the editor of GraphiQL', path: editor, headers: COMPRESSED, isLarge: true },
    { what: 'the editor of GraphiQL, as gzip', path: editor, isLarge: true },
    { ...INTROSPECTION, what: 'introspection', headers: { ...JSON_BODY, ...COMPRESSED } },
    { ...INTROSPECTION, what: 'introspection, not compressed' },
    { what: 'small introspection', path: '/graphql', headers: JSON_BODY, body: SMALL_INTROSPECTION },
    {
      what: 'a query',
      path: '/graphql',
      headers: JSON_BODY,
      body: '{"query":"{ sessions { edges { node { id } } } }"}',
    },
    { what: 'broken JSON', path: '/graphql', headers: JSON_BODY, body: '{"query": "{ broken' },
    { what: '/v2/openapi.json', path: '/v2/openapi.json', headers: COMPRESSED },
    { what: '/v2/openapi.json, not compressed', path: '/v2/openapi.json', isLarge: true },
    { what: 'a page of the web UI', path: '/', headers: { accept: 'text/html', ...COMPRESSED } },
    { what: 'a file of the web UI', path: uiFile, headers: COMPRESSED },
    { what: 'a file of the web UI, not compressed', path: uiFile, isLarge: true },
    { what: '/healthz', path: '/healthz' },
    { what: '/readyz', path: '/readyz' },
    { what: '/metrics', path: '/metrics' },
    { what: 'an unknown path', path: '/nothing' },
    { what: 'a wrong token', path: '/v2/sessions', headers: { authorization: 'Bearer rp_wrong' } },
    { what: 'REST without a token', path: '/v2/sessions' },
    { what: 'the agent API without a token', path: '/agent/v1/sync', headers: JSON_BODY, body: '{}' },
    { what: 'headers of 12 kB', path: '/v2/sessions', headers: { 'x-long': 'x'.repeat(12_000) } },
    { what: 'headers of 32 kB', path: '/v2/sessions', headers: { 'x-long': 'x'.repeat(32_000) } },
    {
      what: 'a WebSocket',
      path: '/graphql',
      headers: { ...UPGRADE, 'sec-websocket-protocol': 'graphql-transport-ws' },
    },
    { what: 'a channel of an agent', path: `/agent/v1/channels/${randomUUID()}`, headers: UPGRADE },
  ]
}

/** Paths of the longest files that strangers get. */
interface Files {
  uiFile: string
  editor: string
}

async function namesOfFiles(url: string): Promise<Files> {
  const pageAt = async (path: string) => (await fetch(url + path, { headers: { accept: 'text/html' } })).text()
  return {
    uiFile: /href="(\/assets\/program-[^"]+\.js)"/.exec(await pageAt('/'))![1]!,
    editor: / src="(\/graphiql\/[^"]+\.js)"/.exec(await pageAt('/graphql'))![1]!,
  }
}

/** The CPU time and memory that one request of each kind costs the server's own process. */
async function* costs(ground: BenchGround, server: ServerProcess): AsyncGenerator<Measurement> {
  const files = await namesOfFiles(server.url)
  const idle = await idleShare(server)
  let most = { what: '', kilobytes: 0 }
  for (const kind of kindsOf(files)) {
    const { measurement, kilobytes } = await costOf(ground, { server, idle }, kind)
    if (kilobytes > most.kilobytes) most = { what: kind.what, kilobytes }
    yield { ...measurement, ...(kind.isLimited !== true && { target: { atMost: CPU_MS_PER_REQUEST } }) }
  }
  yield {
    what: 'memory that stays for such a request, at most',
    figure: most.kilobytes,
    unit: 'kB',
    target: { atMost: KILOBYTES_PER_REQUEST },
    notes: { of: most.what },
  }
}

/** The same for introspection, which the rate of an address bounds, with that rate. */
async function* limitedCosts(ground: BenchGround, server: ServerProcess): AsyncGenerator<Measurement> {
  const idle = await idleShare(server)
  const kind = { ...INTROSPECTION, what: 'introspection, many from one address', isLarge: undefined }
  const { measurement } = await costOf(ground, { server, idle }, kind)
  yield { ...measurement, target: { atMost: CPU_MS_PER_REQUEST } }
}

interface Asked {
  server: ServerProcess
  idle: number
}

async function costOf({ signal, progress }: BenchGround, { server, idle }: Asked, kind: Kind) {
  signal.throwIfAborted()
  progress(kind.what)
  const { pid, url } = server
  const count = kind.isLarge === true ? COUNTED_LARGE : COUNTED_REQUESTS
  await askAll(url, kind, Math.min(count, WARM_UP_REQUESTS))
  const before = await megabytes(pid)
  const began = performance.now()
  let [status, bytes] = [0, 0]
  const used = await cpuMsDuring(pid, async () => {
    ;({ status, bytes } = await askAll(url, kind, count))
  })
  const figure = (used - idle * (performance.now() - began)) / count
  const kilobytes = (((await megabytes(pid)) - before) * 1_000) / count
  const notes = { status, 'answer, kB': Math.round(bytes / 1_000), 'kept, kB': kilobytes.toFixed(1) }
  return { kilobytes, measurement: { what: `${kind.what}, by a stranger`, figure, unit: 'CPU ms', notes } }
}

/** The share of a core that a server takes of which nobody asks anything. */
async function idleShare({ pid }: ServerProcess): Promise<number> {
  return (await cpuMsDuring(pid, () => sleep(IDLE_MS))) / IDLE_MS
}

async function cpuMsDuring(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = await cpuMs(pid)
  await work()
  return (await cpuMs(pid)) - before
}

/** User and system time of a process, which Linux counts in hundredths of a second. */
async function cpuMs(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ').at(-1)!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

interface Answer {
  /** 0 if the connection was closed instead. */
  status: number
  bytes: number
}

/** @returns the last answer */
async function askAll(url: string, kind: Kind, count: number): Promise<Answer> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  let left = count
  let last: Answer = { status: 0, bytes: 0 }
  const lane = async () => {
    while (left-- > 0) last = await askOnce(url, kind, agent)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  agent.destroy()
  return last
}

function askOnce(url: string, { path, headers = {}, body }: Kind, agent: Agent): Promise<Answer> {
  return new Promise((resolve) => {
    const asked = request(`${url}${path}`, { method: body === undefined ? 'GET' : 'POST', headers, agent })
    asked.once('response', (response) => {
      let bytes = 0
      response.on('data', (chunk: Buffer) => (bytes += chunk.length))
      response.once('close', () => resolve({ status: response.statusCode!, bytes }))
    })
    asked.once('upgrade', (response, socket) => {
      socket.destroy()
      resolve({ status: response.statusCode!, bytes: 0 })
    })
    asked.once('error', () => resolve({ status: 0, bytes: 0 })).end(body)
  })
}

async function attack(ground: BenchGround, server: ServerProcess, size: number): Promise<Measurement[]> {
  const before = await megabytes(server.pid)
  const stopped = new AbortController()
  const latencies: number[] = []
  const probing = probe(server.url, latencies, stopped.signal)
  const program = join(import.meta.dirname, 'strangers-program.ts')
  const { editor } = await namesOfFiles(server.url)
  const attacker = spawn(process.execPath, [program, new URL(server.url).port, String(size), editor], {
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
