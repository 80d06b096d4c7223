import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { findPython } from '../support/distribution.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'

const CLIENT = join(import.meta.dirname, '../../clients/python')
const CALLS_AT_A_TIME = 1_000

/** Submits functions one by one and as a group, and gathers their results once all have ended. */
const PROGRAM = `
import json, sys, time
import reprise_client as rp

size, python = int(sys.argv[1]), sys.argv[2]
client = rp.connect()

def work(number: int) -> int:
    return number + 1

began = time.perf_counter()
group = rp.function(client=client, python=python, cpus=0.5)(work).map(range(size))
mapped = time.perf_counter() - began
group.wait()
began = time.perf_counter()
assert group.results() == list(range(1, size + 1))
gathered = time.perf_counter() - began
executor = rp.Executor(client, python=python, cpus=0.5)
began = time.perf_counter()
futures = [executor.submit(work, number) for number in range(size)]
while any(future.job_id is None and not future.done() for future in futures):
    time.sleep(0.005)
submitted = time.perf_counter() - began
assert sorted(future.result() for future in futures) == list(range(1, size + 1))
print(json.dumps({"mapped": mapped, "gathered": gathered, "submitted": submitted}))
`

const IMPORT = `
import time
began = time.perf_counter()
import reprise_client
print((time.perf_counter() - began) * 1000)
`

/** How long people wait for the Python client: for its import, submissions, and results of calls that have ended. */
export async function* python(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const program = findPython()
  if (program === null) throw new Error('there is no Python: apt-get install python3 python3-cloudpickle')
  const run = async (env: NodeJS.ProcessEnv, ...args: string[]) => {
    const path = { PYTHONPATH: join(CLIENT, 'src'), PYTHONDONTWRITEBYTECODE: '' }
    const { stdout } = await promisify(execFile)(program, args, { env: { ...process.env, ...path, ...env } })
    return stdout
  }
  await run({}, '-c', IMPORT)
  const imports = [await run({}, '-c', IMPORT), await run({}, '-c', IMPORT), await run({}, '-c', IMPORT)].map(Number)
  yield { what: 'import', figure: Math.min(...imports), unit: 'ms', target: { atMost: 100 } }

  const { connectionString } = await ground.database()
  const dataDir = join(ground.dir, 'server')
  const env = { REPRISE_DATABASE_URL: connectionString, REPRISE_SLOTS: 'cpu=8,mem=64g' }
  const server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
  try {
    const client = { REPRISE_URL: server.url, REPRISE_TOKEN: await readAdminToken(dataDir) }
    ground.progress(`${size} calls`)
    const figures = JSON.parse(await run(client, '-c', PROGRAM, String(size), program)) as Record<string, number>
    const times = size / CALLS_AT_A_TIME
    const row = (what: string, name: string, atMost: number): Measurement => {
      return { what, figure: figures[name]!, unit: 's', target: { atMost: atMost * times } }
    }
    yield row(`${size} calls submitted by an executor`, 'submitted', 5)
    yield row(`${size} calls submitted by map`, 'mapped', 5)
    yield row(`${size} results gathered`, 'gathered', 10)
  } finally {
    await server.stop()
  }
}
