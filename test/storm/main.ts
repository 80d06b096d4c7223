import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { endLeftovers } from '../support/run/end-leftovers.ts'
import { whyNoMovedClock } from './moved/start-moved.ts'
import { formatStorm } from './report.ts'
import { storm } from './storm.ts'

const EXIT_STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
const SEED_BOUND = 2 ** 31

interface Options {
  minutes: string
  seed?: string
  json: boolean
  keep?: string
  canary: boolean
  fastForward: boolean
}

const interrupted = new AbortController()
/** The first Ctrl-C ends the storm early and has it judged; the second ends the program. */
const calmed = new AbortController()
for (const [signal, status] of Object.entries(EXIT_STATUS)) {
  process.on(signal, () => {
    if (signal === 'SIGINT' && !calmed.signal.aborted) return calmed.abort()
    process.exitCode = status
    interrupted.abort(new Error('interrupted'))
  })
}

const program = new Command('storm')
  .description(
    'Three servers, three agents and a PostgreSQL, of which something is killed, stopped, cut off, slowed down, filled up or set to another time every few seconds, while clients work. Afterwards a judge compares what kernels and clients wrote down with the database. Exit status 1 if a promise was broken.',
  )
  .option('--minutes <n>', 'how long the storm blows; then it calms down, which takes about another minute', '5')
  .option(
    '--seed <n>',
    'the same faults and requests in the same order, at about the same times; default: a random one',
  )
  .option('--json', 'the verdict as JSON on standard output', false)
  .option('--keep <directory>', 'a directory, in which everything is kept: records, logs and the database')
  .option('--canary', 'plants a second dispatch, which the judge must find', false)
  .option(
    '--fast-forward',
    'moves time instead of waiting for backoffs, leases, fences, time limits and retention: a day takes minutes',
    false,
  )
  .action(main)
await program.parseAsync()

async function main({ minutes, seed, json, keep, canary, fastForward }: Options): Promise<void> {
  const length = numberOf('--minutes', minutes, Number.MIN_VALUE)
  const chosen = seed === undefined ? Math.floor(Math.random() * SEED_BOUND) : numberOf('--seed', seed, 0)
  const began = performance.now()
  const progress = (line: string) => {
    const seconds = String(Math.round((performance.now() - began) / 1000))
    console.error(`${seconds.padStart(5)} s  ${line}`)
  }
  if (process.platform !== 'linux') program.error('error: a storm needs Linux, whose /proc the kernels read')
  const problem = fastForward ? await whyNoMovedClock() : null
  if (problem !== null) program.error(`error: --fast-forward ${problem}`)
  // Everything with its name in a command line is ended with it: a name that nobody has given.
  if (keep !== undefined) await mkdir(keep, { recursive: true })
  const directory = await mkdtemp(join(keep ?? tmpdir(), 'reprise-storm-'))
  // PostgreSQL runs as another user if this one is root.
  await chmod(directory, 0o755)
  progress(`seed ${chosen}, ${length} minutes`)
  calmed.signal.addEventListener('abort', () =>
    progress('the storm ends early, calms down and is judged; Ctrl-C again ends at once, without a verdict'),
  )
  try {
    const [signal, calm] = [interrupted.signal, calmed.signal]
    const options = { directory, minutes: length, seed: chosen, canary, fastForward, signal, calm, progress }
    const result = await storm(options)
    console.log(json ? JSON.stringify(result, null, 2) : formatStorm(result))
    if (result.verdict.violations.length > 0) process.exitCode ??= 1
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
    console.error('INTERRUPTED: nothing was judged')
  } finally {
    await endLeftovers(directory)
    if (keep === undefined) await rm(directory, { recursive: true, force: true, maxRetries: 10 })
  }
}

function numberOf(name: string, text: string, least: number): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < least) {
    program.error(`error: ${name} ${text}: not a number of at least ${least === 0 ? 0 : 'a moment'}`)
  }
  return value
}
