import { execFile } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Executor, ExecutorHooks } from '../../src/agent/executors/executor.ts'
import { createSlurmExecutor } from '../../src/agent/executors/slurm/slurm-executor.ts'
import type { SlurmOptions } from '../../src/agent/executors/slurm/slurm-host.ts'
import { createSessions } from '../../src/services/session/create-sessions.ts'
import {
  type OwnSlurmCluster as SlurmCluster,
  startOwnSlurmCluster,
  whyNoSlurmCluster,
} from '../support/slurm/slurm-cluster.ts'
import type { Measurement } from './bench.ts'
import { type BenchServer, openServer } from './bench-server.ts'
import { executorAlone } from './executor-alone.ts'
import type { BenchGround } from './ground.ts'
import { slurmJobs } from './slurm.ts'
import { countTo } from './waiting.ts'

const run = promisify(execFile)
const CPUS_PER_NODE = 32
const NODES = 2
const QUEUE_FACTOR = 1.25
/** What the agent offers, and so what Slurm has of it at most. */
const DEPTH = CPUS_PER_NODE * NODES * QUEUE_FACTOR
const CREATE_BATCH_SESSIONS = 500
/** Over which slurmctld's cost is counted; some polls of the agent are within. */
const WINDOW_MS = 60_000
/** Work that ends in step would wait in step, too. */
const SHORTEST_S = 2
const LONGEST_S = 6
const ROUNDS = 3

/** The command of the session, or the job, with this number. */
type Work = (index: number) => string[]

/** Short sessions as jobs of a private cluster, beside jobs of that cluster without Reprise. */
export async function* slurm(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  yield* await onCluster(ground, (cluster) => throughput(ground, cluster, size))
}

/** Whether the nodes are as busy as with an array: the work of each session is longer than all that is done for it. */
export async function* slurmFilled(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  yield* await onCluster(ground, (cluster) => filled(ground, cluster, size))
}

/** What sessions that wait in Reprise cost the controller. */
export async function* slurmDepth(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  yield* await onCluster(ground, (cluster) => depth(ground, cluster, size))
}

/** Nothing where Slurm is not installed. */
async function onCluster(
  ground: BenchGround,
  measure: (cluster: SlurmCluster) => Promise<Measurement[]>,
): Promise<Measurement[]> {
  const missing = whyNoSlurmCluster()
  if (missing !== null) {
    ground.progress(missing)
    return []
  }
  await using cluster = await startOwnSlurmCluster(join(ground.dir, 'cluster'), { cpusPerNode: CPUS_PER_NODE })
  return await measure(cluster)
}

/** Short work, in turns: Slurm starts jobs in passes, of which it makes now one a second and now several. */
async function throughput(ground: BenchGround, cluster: SlurmCluster, size: number): Promise<Measurement[]> {
  const [arrays, executors]: [number[], number[]] = [[], []]
  for (let round = 1; round <= ROUNDS; round++) {
    ground.progress(`${size} jobs as an array, ${round} of ${ROUNDS}`)
    arrays.push(await slurmJobs(ground, size))
    ground.progress(`${size} kernels by the executor alone, ${round} of ${ROUNDS}`)
    const agentDir = await agentDirectory(ground, `alone-${round}`)
    executors.push(await executorAlone(ground, size, DEPTH, (hooks) => executor(ground, cluster, agentDir, hooks)))
  }
  ground.progress(`${size} jobs, each by a call of sbatch`)
  const single = await singleJobs(ground, size, () => '/bin/true')
  const figure = await byServer(ground, cluster, size, () => ['true'])
  const [ceiling, alone] = [rateOf(arrays), rateOf(executors)]
  const what = `short sessions (true) as jobs of Slurm, create to finished`
  const each = (rates: number[]) => rates.map((rate) => rate.toFixed(1)).join(' ')
  const notes = { sessions: size, arrays: each(arrays), executor: each(executors) }
  return [
    {
      what: `kernels (true) by the executor; beside sbatch --array`,
      figure: alone,
      unit: 'kernels/s',
      ceiling,
      ratioAtLeast: 0.9,
      notes,
    },
    { what: `the same; beside sbatch, one by one`, figure: alone, unit: 'kernels/s', ceiling: single, ratioAtLeast: 1 },
    { what: `${what}; beside sbatch --array`, figure, unit: 'sessions/s', ceiling, ratioAtLeast: 0.9 },
    { what: `${what}; beside sbatch, one by one`, figure, unit: 'sessions/s', ceiling: single, ratioAtLeast: 1 },
  ]
}

/** Of rounds of the same size. */
function rateOf(rates: readonly number[]): number {
  return rates.length / rates.reduce((sum, rate) => sum + 1 / rate, 0)
}

/** Each is submitted once the call before has returned. Jobs/s. */
async function singleJobs(ground: BenchGround, jobs: number, command: (index: number) => string): Promise<number> {
  const begun = performance.now()
  for (let index = 0; index < jobs; index++) {
    ground.signal.throwIfAborted()
    const wrapped = `--wrap=${command(index)}`
    await run('sbatch', ['--parsable', '--job-name=single', '--output=/dev/null', '--chdir=/', wrapped])
  }
  while ((await run('squeue', ['--noheader', '--name=single'])).stdout.trim() !== '') await sleep(100)
  return jobs / ((performance.now() - begun) / 1000)
}

async function filled(ground: BenchGround, cluster: SlurmCluster, size: number): Promise<Measurement[]> {
  const lengths = LONGEST_S - SHORTEST_S + 1
  const work = (index: number) => ['sleep', String(SHORTEST_S + (index % lengths))]
  const length = `${SHORTEST_S} to ${LONGEST_S} s`
  ground.progress(`${size} jobs of ${length} as an array`)
  const ceiling = await slurmJobs(ground, size, `sleep $((${SHORTEST_S} + SLURM_ARRAY_TASK_ID % ${lengths}))`)
  ground.progress(`${size} jobs of ${length}, each by a call of sbatch`)
  const single = await singleJobs(ground, size, (index) => work(index).join(' '))
  const figure = await byServer(ground, cluster, size, work)
  const what = `sessions of ${length} as jobs of Slurm, create to finished`
  const notes = { sessions: size, CPUs: CPUS_PER_NODE * NODES }
  return [
    { what: `${what}; beside sbatch --array`, figure, unit: 'sessions/s', ceiling, ratioAtLeast: 0.9, notes },
    { what: `${what}; beside sbatch, one by one`, figure, unit: 'sessions/s', ceiling: single, ratioAtLeast: 1, notes },
  ]
}

async function byServer(ground: BenchGround, cluster: SlurmCluster, size: number, work: Work): Promise<number> {
  const { db } = await ground.database()
  await using server = openServer(ground, db)
  await startAgent(ground, cluster, server, 'throughput')
  ground.progress(`${size} sessions`)
  const begun = performance.now()
  await create(server, size, work)
  await countTo(ground, db, 'finished', FINISHED, size)
  return size / ((performance.now() - begun) / 1000)
}

const FINISHED = `SELECT count(*) FROM sessions WHERE result = 'SUCCESS' AND terminated_at IS NOT NULL`
const PENDING = `SELECT count(*) FROM sessions WHERE status = 'PENDING'`

/** What slurmctld pays while nothing ends, with as much queued as it is meant to have, and with much more in Reprise. */
async function depth(ground: BenchGround, cluster: SlurmCluster, size: number): Promise<Measurement[]> {
  const { db } = await ground.database()
  await using server = openServer(ground, db)
  await startAgent(ground, cluster, server, 'depth')
  await create(server, DEPTH, () => ['sleep', '3600'])
  await countTo(ground, db, 'given to Slurm', GIVEN, DEPTH)
  ground.progress(`${DEPTH} sessions in Slurm, none more`)
  const alone = await cost(ground, cluster)
  await create(server, size, () => ['sleep', '3600'])
  await countTo(ground, db, 'queued', PENDING, size)
  ground.progress(`${size} sessions more in Reprise`)
  const queued = await cost(ground, cluster)
  const notes = { jobs: queued.jobs, 'CPU ms': queued.cpuMs, 'without them': alone.cpuMs, sessions: size }
  return [
    {
      what: `calls to slurmctld a minute; beside them without ${size} sessions queued`,
      figure: queued.calls,
      unit: 'calls',
      ceiling: alone.calls,
      ratioAtMost: 1.05,
      notes,
    },
  ]
}

const GIVEN = `SELECT count(*) FROM sessions WHERE status IN ('CREATING', 'RUNNING')`

async function cost(ground: BenchGround, cluster: SlurmCluster) {
  // What has just been submitted is dealt with first.
  await sleep(10_000, undefined, { signal: ground.signal })
  const look = async () => ({ calls: await callsOf(cluster), cpuMs: await cpuMs(cluster) })
  const before = await look()
  await sleep(WINDOW_MS, undefined, { signal: ground.signal })
  const after = await look()
  const jobs = (await cluster.run('squeue', '--noheader', '--array')).trim().split('\n').length
  return { jobs, calls: after.calls - before.calls, cpuMs: after.cpuMs - before.cpuMs }
}

/** Of squeue, sbatch, scancel and sinfo: those of its nodes come by themselves. */
async function callsOf(cluster: SlurmCluster): Promise<number> {
  const text = await cluster.run('sdiag')
  const counts = [...text.matchAll(/^\s*(REQUEST_\w+)\s*\(\s*\d+\)\s*count:(\d+)/gm)]
  return counts.filter(([, name]) => name !== 'REQUEST_STATS_INFO').reduce((sum, [, , count]) => sum + Number(count), 0)
}

async function cpuMs(cluster: SlurmCluster): Promise<number> {
  const pid = (await readFile(join(cluster.config, '../slurmctld.pid'), 'utf8')).trim()
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

async function create(server: BenchServer, count: number, work: Work): Promise<void> {
  for (let done = 0; done < count; done += CREATE_BATCH_SESSIONS) {
    const some = Math.min(CREATE_BATCH_SESSIONS, count - done)
    await createSessions(
      server.context,
      Array.from({ length: some }, (_, index) => ({
        name: 'bench',
        command: work(done + index),
        resourceSlots: [{ slot: 'cpu', amount: '1' }],
      })),
    )
  }
}

async function startAgent(
  ground: BenchGround,
  cluster: SlurmCluster,
  server: BenchServer,
  name: string,
): Promise<void> {
  await server.startServices()
  const agentDir = await agentDirectory(ground, name)
  await server.startAgent((hooks) => executor(ground, cluster, agentDir, hooks), { cpu: String(DEPTH) })
}

async function agentDirectory(ground: BenchGround, name: string): Promise<string> {
  const agentDir = join(ground.dir, name)
  await mkdir(agentDir, { recursive: true })
  return agentDir
}

function executor(ground: BenchGround, cluster: SlurmCluster, agentDir: string, hooks: ExecutorHooks): Executor {
  const options: SlurmOptions = {
    directory: cluster.shared,
    accounts: {},
    users: null,
    gres: {},
    queueFactor: QUEUE_FACTOR,
    queueJobs: 1_000,
    pollMs: 5_000,
    capacityMs: 60_000,
    images: {},
    args: [],
  }
  return createSlurmExecutor(
    { agentDir, agentId: agentDir.split('/').at(-1)!, log: ground.log, codeBytesMax: 2 ** 20, slurm: options },
    hooks,
  )
}
