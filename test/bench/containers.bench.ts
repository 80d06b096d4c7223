import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chooseContainer, type ContainerConfig } from '../../src/agent/executors/container/choose-container.ts'
import { FOREVER } from '../../src/domain/retention.ts'
import { createSessions } from '../../src/services/session/create-sessions.ts'
import type { Database } from '../../src/store/database.ts'
import { BASE_IMAGE, ENGINES, type EngineName, whyNoEngine } from '../support/containers/engines.ts'
import { type PrivateEngine, startEngine } from '../support/containers/private-engine.ts'
import type { Measurement } from './bench.ts'
import { type BenchServer, openServer } from './bench-server.ts'
import { executorAlone } from './executor-alone.ts'
import type { BenchGround } from './ground.ts'
import { countTo } from './waiting.ts'

const run = promisify(execFile)
/** Containers at once, with and without server. */
const AT_ONCE = 4
/** In turn with those of the engine's own program, so that what else the machine does counts for both. */
const ROUNDS = 5
const RATIO = 0.8

/** Sessions of `true` as containers of private engines, beside what the engine's own program reaches. */
export async function* containers(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  for (const name of ENGINES) {
    const missing = whyNoEngine(name)
    if (missing === null) yield* await besideRun(ground, name, Math.ceil(size / ROUNDS))
    else ground.progress(`no ${name}: ${missing}`)
  }
}

async function besideRun(ground: BenchGround, name: EngineName, perRound: number): Promise<Measurement[]> {
  await using engine = await startEngine(name, { ofRun: ground.dir })
  const { db } = await ground.database()
  await using server = openServer(ground, db)
  await server.startServices()
  const { create } = await containerExecutor(ground, engine, 'server')
  await server.startAgent(create, { cpu: String(AT_ONCE) })
  // The first of each find nothing in memory.
  await runAlone(ground, engine, AT_ONCE)
  await runSessions(ground, server, db, AT_ONCE)
  const alone: number[] = []
  const executors: number[] = []
  const ours: number[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    ground.progress(
      `${name}, round ${round} of ${ROUNDS}: ${perRound} by its own program, by the executor, by the server`,
    )
    alone.push(await runAlone(ground, engine, perRound))
    executors.push(await runKernels(ground, engine, perRound, round))
    ours.push(await runSessions(ground, server, db, perRound))
  }
  alone.push(await runAlone(ground, engine, perRound))
  const ceiling = perSecond(perRound, alone)
  const beside = { ceiling, ratioAtLeast: RATIO }
  return [
    {
      what: `containers of ${name} (true) by the executor; ceiling: ${name} run --rm`,
      figure: perSecond(perRound, executors),
      unit: 'kernels/s',
      ...beside,
      notes: {
        kernels: perRound * ROUNDS,
        atOnce: AT_ONCE,
        'kernels/s by round': rates(perRound, executors),
        'sessions/s by round': rates(perRound, ours),
        'run by round': rates(perRound, alone),
      },
    },
    {
      what: 'the same as sessions, create to finished',
      figure: perSecond(perRound, ours),
      unit: 'sessions/s',
      ...beside,
    },
  ]
}

/** With the engine's program, so many at once. Seconds. */
async function runAlone(ground: BenchGround, engine: PrivateEngine, count: number): Promise<number> {
  const { program, args, env } = engine.command('run', '--rm', '--network=host', BASE_IMAGE, 'true')
  let left = count
  const one = async () => {
    while (left-- > 0) {
      ground.signal.throwIfAborted()
      await run(program, args, { env })
    }
  }
  return seconds(() => Promise.all(Array.from({ length: AT_ONCE }, one)))
}

/** Seconds. */
async function runKernels(ground: BenchGround, engine: PrivateEngine, count: number, round: number): Promise<number> {
  const { create } = await containerExecutor(ground, engine, `alone-${round}`)
  return count / (await executorAlone(ground, count, AT_ONCE, (hooks) => create(hooks, randomUUID())))
}

/** Seconds. */
async function runSessions(ground: BenchGround, server: BenchServer, db: Database, count: number): Promise<number> {
  const before = (await db.query<{ count: number }>(FINISHED)).rows[0]!.count
  return seconds(async () => {
    await createSessions(
      server.context,
      Array.from({ length: count }, () => ({ name: 'bench', command: ['true'] })),
    )
    await countTo(ground, db, 'finished', FINISHED, before + count)
  })
}

const FINISHED = `SELECT count(*) FROM sessions WHERE result = 'SUCCESS' AND terminated_at IS NOT NULL`

/** Each with a directory of its own. */
async function containerExecutor(ground: BenchGround, { name, url }: PrivateEngine, what: string) {
  const agentDir = join(ground.dir, `${name}-${what}`)
  await mkdir(agentDir, { recursive: true })
  return chooseContainer({ ...CONFIG, containerEngine: url }, agentDir, ground.log)
}

const CONFIG: ContainerConfig = {
  containerImage: BASE_IMAGE,
  containerAllow: ['*'],
  containerPull: 'missing',
  containerImageKeep: FOREVER,
  containerNetwork: 'host',
  gpus: 'off',
  containerVolumes: [],
  containerPids: 1024,
  containerShm: 64 * 1024 * 1024,
  containerReadonly: true,
  containerParallel: AT_ONCE,
  chainBytesMax: null,
  chainFilesMax: null,
  uploadBytesMax: 2 ** 20,
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

function perSecond(perRound: number, rounds: readonly number[]): number {
  return (perRound * rounds.length) / rounds.reduce((sum, each) => sum + each, 0)
}

function rates(perRound: number, rounds: readonly number[]): string {
  return rounds.map((each) => (perRound / each).toFixed(1)).join(' ')
}
