import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import type { Bench } from './bench.ts'
import { findBench, type Set, SETS } from './find-bench.ts'
import { describeMachine } from './machine.ts'
import { KEPT_FILE } from './quick/kept-ratios.ts'
import { runQuick } from './quick/run-quick.ts'
import { createRunner } from './runner.ts'
import { runWhole } from './run-whole.ts'

const EXIT_STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

interface Options {
  only?: string
  sizes?: string
  json: boolean
  quick: boolean
  keep: boolean
  kept: string
}

const interrupted = new AbortController()
for (const [signal, status] of Object.entries(EXIT_STATUS)) {
  process.once(signal, () => {
    process.exitCode = status
    interrupted.abort()
  })
}

const program = new Command('bench')
  .description('Measures what the design asks for, each figure beside a ceiling of the same run.')
  .option('--only <names>', `of ${names('whole')}; with --quick of ${names('quick')}; several with commas`)
  .option('--sizes <name=sessions>', 'how many sessions, e.g. lifecycles=5000,processes=200')
  .option('--json', 'the results as JSON on standard output', false)
  .option('--quick', 'ratios alone, in at most 3 minutes, compared with those kept; status 1 if one is worse', false)
  .option('--keep', 'with --quick: measures each ratio three times and keeps the medians', false)
  .option('--kept <file>', 'with --quick: where ratios are kept', KEPT_FILE)
  .action(main)
await program.parseAsync()

async function main({ only, sizes, json, quick, keep, kept }: Options): Promise<void> {
  const set = quick ? 'quick' : 'whole'
  if (keep && !quick) program.error('error: --keep is an option of --quick')
  const benches = only === undefined ? SETS[set] : only.split(',').map((name) => benchNamed(set, name.trim()))
  const parsed = parseSizes(set, sizes)
  const prepared = await mkdtemp(join(tmpdir(), 'reprise-bench-'))
  // PostgreSQL runs as another user if this one is root.
  await chmod(prepared, 0o755)
  const runner = createRunner({
    set,
    sizes: parsed,
    prepared,
    machine: describeMachine(),
    signal: interrupted.signal,
    // Standard output is for the JSON alone.
    say: json ? console.error : console.log,
  })
  try {
    const { output, passed } = quick
      ? await runQuick({ runner, benches, keep, keptFile: kept, json })
      : await runWhole({ runner, benches, json })
    console.log(output)
    if (!passed) process.exitCode ??= 1
  } finally {
    await rm(prepared, { recursive: true, force: true })
  }
}

function names(set: Set): string {
  return SETS[set].map(({ name }) => name).join(', ')
}

function benchNamed(set: Set, name: string): Bench {
  return findBench(set, name) ?? program.error(`error: there is no bench ${name}, only ${names(set)}`)
}

function parseSizes(set: Set, text: string | undefined): ReadonlyMap<string, number> {
  const entries = text?.split(',') ?? []
  return new Map(
    entries.map((entry) => {
      const [name = '', size] = entry.split('=')
      const sessions = Number(size)
      if (!Number.isInteger(sessions) || sessions < 1) program.error(`error: ${entry}: not <name>=<sessions>`)
      return [benchNamed(set, name.trim()).name, sessions]
    }),
  )
}
