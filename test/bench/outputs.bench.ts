import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, open as openFile, readdir, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { createClient, type Client } from '../../src/client/node/index.ts'
import type { Database } from '../../src/store/database.ts'
import { MAIN } from '../support/programs/command-line.ts'
import { spawnProgram } from '../support/programs/spawned-program.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { countTo } from './waiting.ts'

const run = promisify(execFile)
const MIB = 2 ** 20
const SMALL_FILES = 10_000
/** Each as large as the one that is timed, all with different contents. */
const LARGE_FILES = 10
const AT_ONCE = 200
const BYTES_EACH = 5_000_000
const STALLED_AFTER_MS = 120_000
const MEMORY_INTERVAL_MS = 50
const READY_INTERVAL_MS = 100
/** Of `cp`, `sync` and `sha256sum`: outputs survive a crash of the machine, too. */
const SPEED = 0.7
const SMALL_FILES_WITHIN_SECONDS = 10
const GROWTH_MEGABYTES = 20
/** Questions and lists, without contents. */
const QUESTIONS_KILOBYTES = 100
/** Of the speed without outputs. */
const BESIDE = 0.9

/**
 * What outputs cost, with a server and an agent as programs of their own, and `size` MiB in the large file. Times are
 * from the recorded end of the program until the servers have all of its files.
 */
export async function* outputs(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  await using place = await open(ground)
  const { db } = place
  const large = (of: string) =>
    `head -c ${size * MIB} ${of} >"$REPRISE_OUTPUT_DIR/large"; sync -d "$REPRISE_OUTPUT_DIR/large"`

  ground.progress(`${size} MiB by cp, sync and sha256sum`)
  const ceiling = size / (await secondsByHand(ground, size * MIB))
  ground.progress(`${size} MiB as an output`)
  const source = join(ground.dir, 'source')
  await run('sh', ['-c', `head -c ${size * MIB} /dev/urandom >${source}; sync -d ${source}`])
  const first = await place.collect(large(source))
  yield {
    what: `one file of ${size} MiB; ceiling: cp, sync and sha256sum of it`,
    figure: size / first.seconds,
    unit: 'MiB/s',
    ceiling,
    ratioAtLeast: SPEED,
  }
  ground.progress('the same content again')
  const again = await place.collect(large(source))
  yield {
    what: 'sent for the same content again, questions and lists included',
    figure: again.sentBytes / 1_000,
    unit: 'kB',
    target: { atMost: QUESTIONS_KILOBYTES },
    notes: { seconds: again.seconds.toFixed(1) },
  }
  await rm(source)

  ground.progress(`${SMALL_FILES} files of 1 kB`)
  const small = await place.collect(
    `cd "$REPRISE_OUTPUT_DIR"; head -c ${SMALL_FILES * 1_000} /dev/urandom | split -b 1000 -a 4`,
  )
  yield {
    what: `${SMALL_FILES} files of 1 kB`,
    figure: small.seconds,
    unit: 's',
    target: { atMost: SMALL_FILES_WITHIN_SECONDS },
  }

  const growth = await growthOver(ground, place, large('/dev/urandom'))
  yield {
    what: `growth of resident memory, server or agent, over ${LARGE_FILES} such files`,
    figure: Math.max(growth.server, growth.agent),
    unit: 'MB',
    target: { atMost: GROWTH_MEGABYTES },
    notes: { server: Math.round(growth.server), agent: Math.round(growth.agent) },
  }

  const without = await endAtOnce(ground, place, '.')
  const beside = await endAtOnce(ground, place, '"$REPRISE_OUTPUT_DIR"')
  yield {
    what: `${AT_ONCE} sessions that end at once with 5 MB each, until all are decided; ceiling: without outputs`,
    figure: beside,
    unit: 'sessions/s',
    ceiling: without,
    ratioAtLeast: BESIDE,
  }
  await countTo(ground, db, 'collected', `${COMPLETE} AND s.name = 'at-once'`, AT_ONCE, STALLED_AFTER_MS)
}

/** In megabytes, at most, while large files are collected one after the other. */
async function growthOver(ground: BenchGround, place: Place, script: string) {
  const before = await place.megabytes()
  const growth = { server: 0, agent: 0 }
  const done = new AbortController()
  const sampling = (async () => {
    while (!done.signal.aborted) {
      const now = await place.megabytes()
      for (const name of ['server', 'agent'] as const) growth[name] = Math.max(growth[name], now[name] - before[name])
      await sleep(MEMORY_INTERVAL_MS)
    }
  })()
  for (let n = 1; n <= LARGE_FILES; n++) {
    ground.progress(`memory: file ${n} of ${LARGE_FILES}`)
    await place.collect(script)
    await place.forgetContents()
  }
  done.abort()
  await sampling
  return growth
}

interface Place extends AsyncDisposable {
  db: Database
  client: Client
  /** Runs a session, and waits for its outputs. */
  collect(script: string): Promise<{ seconds: number; sentBytes: number }>
  megabytes(): Promise<{ server: number; agent: number }>
  /** Makes room on the disk. */
  forgetContents(): Promise<void>
}

async function open(ground: BenchGround): Promise<Place> {
  await using resources = new AsyncDisposableStack()
  const { db, connectionString } = await ground.database()
  const dataDir = join(ground.dir, 'outputs-server')
  const server = await startServer({
    dataDir,
    port: 0,
    onLog: () => {},
    env: { REPRISE_DATABASE_URL: connectionString, REPRISE_ROLES: 'api,scheduler', REPRISE_LOG_LEVEL: 'warn' },
  })
  resources.defer(() => void server.stop())
  const client = createClient({ url: server.url, token: await readAdminToken(dataDir) })
  resources.use(client)
  const { secret } = await client.createToken({ name: 'bench', role: 'AGENT' })
  const way = await countingProxy(server.url)
  resources.use(way)
  const agentDir = join(ground.dir, 'outputs-agent')
  const options = ['--name', 'bench', '--slots', `cpu=${AT_ONCE},mem=64g`, '--data-dir', agentDir]
  const agent = await spawnProgram({
    args: [MAIN, 'agent', '--server', way.url, ...options],
    environment: { REPRISE_TOKEN: secret, REPRISE_ISOLATION: 'none', REPRISE_MEMORY_LIMIT: 'off' },
    ready: /^reprise agent ready (http:\S+)$/,
  })
  resources.defer(() => void agent.stop())
  const kept = resources.move()
  return {
    db,
    client,
    async collect(script) {
      const sent = way.sentBytes()
      const { session } = await client.createSession({ name: 'outputs', command: ['sh', '-c', script] })
      const { sessionId } = session
      await countTo(ground, db, 'collected', `${COMPLETE} AND s.id = '${sessionId}'`, 1, STALLED_AFTER_MS)
      const { rows } = await db.query<{ seconds: number }>(
        `SELECT extract(epoch FROM o.completed_at - s.terminated_at)::float8 AS seconds
         FROM session_outputs o JOIN sessions s ON s.id = o.session_id WHERE s.id = $1`,
        [sessionId],
      )
      return { seconds: rows[0]!.seconds, sentBytes: way.sentBytes() - sent }
    },
    megabytes: async () => ({ server: await megabytesOf(server.pid), agent: await megabytesOf(agent.pid) }),
    async forgetContents() {
      const blobs = join(dataDir, 'checkpoints/blobs')
      for (const project of await readdir(blobs)) await rm(join(blobs, project), { recursive: true })
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

const COMPLETE = `SELECT count(*) FROM session_outputs o JOIN sessions s ON s.id = o.session_id WHERE o.state = 'COMPLETE'`

/** Sessions/s, from the moment in which all programs end. */
async function endAtOnce(ground: BenchGround, { db, client }: Place, to: string): Promise<number> {
  ground.progress(`${AT_ONCE} sessions that end at once`)
  const gate = join(ground.dir, `gate-${randomUUID()}`)
  const ready = `${gate}.ready`
  await run('mkfifo', [gate])
  await mkdir(ready)
  const written = `head -c ${BYTES_EACH} /dev/urandom >${to}/x`
  const script = `${written}; : >${ready}/$REPRISE_SESSION_ID; read -r line <${gate}`
  const sessions = Array.from({ length: AT_ONCE }, () => ({
    name: 'at-once',
    command: ['sh', '-c', script],
    resourceSlots: [{ slot: 'cpu', amount: '1' }],
  }))
  const results = await client.createSessions(sessions)
  const ids = results.flatMap((each) => ('session' in each ? [each.session.sessionId] : []))
  const own = `FROM sessions WHERE id = ANY('{${ids.join(',')}}')`
  while ((await readdir(ready)).length < AT_ONCE) {
    ground.signal.throwIfAborted()
    await sleep(READY_INTERVAL_MS)
  }
  // Open for writing until the end: programs that are late find their line, too.
  await using opened = await openFile(gate, 'r+')
  const begun = performance.now()
  await opened.write('\n'.repeat(AT_ONCE))
  await countTo(ground, db, 'decided', `SELECT count(*) ${own} AND retry_decided`, AT_ONCE, STALLED_AFTER_MS)
  return AT_ONCE / ((performance.now() - begun) / 1_000)
}

async function secondsByHand(ground: BenchGround, bytes: number): Promise<number> {
  const directory = join(ground.dir, 'by-hand')
  await mkdir(directory)
  await run('sh', ['-c', `head -c ${bytes} /dev/urandom >${directory}/a; sync -d ${directory}/a`])
  const begun = performance.now()
  await run('sh', ['-c', `cp ${directory}/a ${directory}/b && sync -d ${directory}/b && sha256sum ${directory}/a`])
  const seconds = (performance.now() - begun) / 1_000
  await rm(directory, { recursive: true })
  return seconds
}

async function megabytesOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1_000
}

/** Counts what goes through it to the server. */
async function countingProxy(target: string) {
  const { hostname, port } = new URL(target)
  let bytes = 0
  const proxy = createServer((socket) => {
    const onward = connect(Number(port), hostname)
    socket.on('data', (chunk) => void (bytes += chunk.length))
    socket.pipe(onward).pipe(socket)
    for (const each of [socket, onward]) each.on('error', () => each.destroy())
    socket.on('close', () => onward.destroy())
    onward.on('close', () => socket.destroy())
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    sentBytes: () => bytes,
    [Symbol.asyncDispose]: async () => void proxy.close(),
  }
}
