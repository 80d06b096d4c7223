import { Command, InvalidArgumentError } from 'commander'
import { createLogger } from '../../src/observability/log.ts'
import { agentLatency } from './agent-latency.bench.ts'
import { autovacuum } from './autovacuum.bench.ts'
import { judge, type Bench, type Judged } from './bench.ts'
import { bursts } from './bursts.bench.ts'
import { containers } from './containers.bench.ts'
import { fanOut } from './fan-out.bench.ts'
import { growth } from './growth.bench.ts'
import { memory } from './memory.bench.ts'
import { openGround } from './ground.ts'
import { lateness } from './lateness.bench.ts'
import { lifecycles } from './lifecycles.bench.ts'
import { describeMachine } from './machine.ts'
import { pointQuery } from './point-query.bench.ts'
import { processes } from './processes.bench.ts'
import { formatReport } from './report.ts'
import { resubmission } from './resubmission.bench.ts'
import { schedule } from './schedule.bench.ts'
import { retries } from './retries.bench.ts'
import { slurm, slurmDepth, slurmFilled } from './slurm.bench.ts'
import { statistics } from './statistics.bench.ts'
import { storm } from './storm.bench.ts'
import { webUi } from './web-ui.bench.ts'

const BENCHES: readonly Bench[] = [
  lifecycles,
  schedule,
  retries,
  resubmission,
  storm,
  lateness,
  agentLatency,
  processes,
  containers,
  slurm,
  slurmFilled,
  slurmDepth,
  pointQuery,
  statistics,
  fanOut,
  bursts,
  memory,
  webUi,
  growth,
  autovacuum,
]
const NAMES = BENCHES.map(({ name }) => name).join(', ')

interface Options {
  only?: Bench[]
  sizes?: ReadonlyMap<string, number>
  json?: boolean
}

const interrupted = new AbortController()
process.once('SIGINT', () => interrupted.abort(new Error('interrupted')))
process.once('SIGTERM', () => interrupted.abort(new Error('terminated')))

await new Command('bench')
  .description('Measures what the design asks for, each figure beside a ceiling of the same run.')
  .option('--only <names>', `of ${NAMES}; several with commas`, parseNames)
  .option('--sizes <name=sessions>', 'how many sessions, e.g. lifecycles=5000,processes=200', parseSizes)
  .option('--json', 'the results as JSON on standard output')
  .action(main)
  .parseAsync()

async function main({ only = [...BENCHES], sizes = new Map(), json = false }: Options): Promise<void> {
  const results: Judged[] = []
  let machine: Record<string, string | number> = {}
  try {
    for (const bench of only) {
      await using ground = await openGround({
        log: await createLogger({ level: 'warn', format: 'json' }),
        progress: (line) => console.error(`${bench.name}: ${line}`),
        signal: interrupted.signal,
      })
      if (results.length === 0) machine = await describeMachine((await ground.database()).db)
      const measurements = await bench.run(ground, sizes.get(bench.name) ?? bench.size)
      results.push(...measurements.map((measurement) => judge(bench.name, measurement)))
    }
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
    console.error(`${(interrupted.signal.reason as Error).message}; cleaned up`)
    process.exitCode = 130
  }
  console.log(json ? JSON.stringify({ machine, results }, null, 2) : formatReport(machine, results))
}

function benchNamed(name: string): Bench {
  const bench = BENCHES.find((candidate) => candidate.name === name)
  if (!bench) throw new InvalidArgumentError(`there is no bench ${name}, only ${NAMES}`)
  return bench
}

function parseNames(text: string): Bench[] {
  return text.split(',').map((name) => benchNamed(name.trim()))
}

function parseSizes(text: string): ReadonlyMap<string, number> {
  return new Map(
    text.split(',').map((entry) => {
      const [name = '', size] = entry.split('=')
      const sessions = Number(size)
      if (!Number.isInteger(sessions) || sessions < 1) throw new InvalidArgumentError(`${entry}: not <name>=<sessions>`)
      return [benchNamed(name.trim()).name, sessions]
    }),
  )
}
