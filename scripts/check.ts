import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

/**
 * All checks that do not run the program. Each one runs even if others fail, so that all faults are reported at once.
 */

const CHECKS: { name: string; command: string[]; mend: string }[] = [
  {
    name: 'types',
    command: ['tsc', '-p', '.', '--incremental', '--tsBuildInfoFile', '.cache/types.tsbuildinfo'],
    mend: 'mend the types',
  },
  {
    name: 'types of the web UI',
    command: ['tsc', '-p', 'src/ui', '--incremental', '--tsBuildInfoFile', '.cache/types-of-ui.tsbuildinfo'],
    mend: 'mend the types',
  },
  { name: 'lint', command: ['oxlint', '--type-aware'], mend: '`npx oxlint --type-aware --fix` mends some' },
  { name: 'format', command: ['oxfmt', '--check'], mend: '`npm run format` mends it' },
  { name: 'dead code', command: ['knip'], mend: 'remove what nothing uses' },
  {
    name: 'OpenAPI and metrics',
    command: ['node', 'scripts/lint-artefacts.ts'],
    mend: 'mend the routes in src/rest, or the metrics in src/observability/metrics.ts',
  },
]

interface Outcome {
  name: string
  passed: boolean
  output: string
  mend: string
  seconds: number
}

async function runCheck({ name, command, mend }: (typeof CHECKS)[number]): Promise<Outcome> {
  const started = performance.now()
  const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const passed = await new Promise<boolean>((resolve) => {
    child.once('error', (error) => {
      output += error.message
      resolve(false)
    })
    child.once('close', (code) => resolve(code === 0))
  })
  return { name, passed, output, mend, seconds: (performance.now() - started) / 1000 }
}

const waiting = [...CHECKS]
const outcomes: Outcome[] = []
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const outcome = await runCheck(check)
      outcomes.push(outcome)
      console.log(`${outcome.passed ? 'passed' : 'FAILED'}  ${outcome.name}  ${outcome.seconds.toFixed(1)} s`)
    }
  }),
)

const failed = outcomes.filter(({ passed }) => !passed)
for (const { name, output, mend } of failed) console.log(`\n── ${name}: ${mend}\n${output.trimEnd()}`)
console.log(`\ncheck: ${outcomes.length - failed.length} of ${CHECKS.length} passed`)
process.exitCode = failed.length === 0 ? 0 : 1
