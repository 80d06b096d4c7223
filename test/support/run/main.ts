import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { parseCLI } from 'vitest/node'
import { COMMANDS, type Part } from './parts.ts'
import type { FileReport, RunReport } from './run-reporter.ts'
import {
  formatCosts,
  formatFailed,
  formatNotBegun,
  formatRun,
  formatUnsteady,
  type PartOutcome,
  type Unsteady,
} from './run-summary.ts'

/**
 * `main.ts <test|engines|browser|long|all> [--where] [files and options of vitest]`: runs parts of the suite. Each file
 * that fails is run once more, alone and with the same fixed seeds: if it passes then, it is unsteady, which the last
 * lines say, and the run is green.
 */

const ROOT = join(import.meta.dirname, '../../..')
const VITEST = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')))
const LOOP = join(import.meta.dirname, 'long.ts')
const HELP = `npm test                    what every change must pass: at most 5 minutes on two cores
npm run test:engines        containers, Slurm, isolation, proxies, poolers, systemd
npm run test:browser        the web UI in Chromium
npm run test:long           fuzz, properties with many seeds, crashes, clocks that must pass
npm run test:all            all of these, one after the other
npm run test:where          npm test, and then where its time has gone, file by file

npm test -- test/unit/retry             the files of a folder, of whatever part
npm test -- test/integration -t pause   tests with such a name
npm run test:all -- --where             where the time of everything has gone
npm run test:long -- --minutes 30       afterwards random tests with new seeds; failing ones go to test/seeds.json
npm run test:long -- --seed 7 test/unit random tests with this seed, and nothing else

Other options are vitest's.`

const [command = 'test', ...rest] = process.argv.slice(2)
const where = rest.includes('--where')
const args = rest.filter((arg) => arg !== '--where')
/** `--minutes N` of the loop with new seeds; `--seed N` runs nothing else. */
const minutes = command === 'long' ? takeOption('--minutes') : []
const onlySeed = command === 'long' ? takeOption('--seed') : []
/** A file that has failed is run again even after the deadline: left out, it would count as passed. */
const RUN_AGAIN = { TEST_DEADLINE: undefined }
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort(signal))

if (args.includes('--help') || args.includes('-h')) {
  console.log(HELP)
} else {
  process.exitCode = onlySeed.length > 0 ? await runLoop(onlySeed) : await main()
}

/** Removes an option and its value from the arguments. */
function takeOption(name: string): string[] {
  const at = args.findIndex((arg) => arg === name || arg.startsWith(`${name}=`))
  return at < 0 ? [] : args.splice(at, args[at] === name ? 2 : 1)
}

async function runLoop(options: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [LOOP, ...options, ...args], { cwd: ROOT, stdio: 'inherit' })
  interrupted.signal.addEventListener('abort', () => child.kill('SIGINT'))
  const [status] = (await once(child, 'close')) as [number | null]
  return status ?? 1
}

async function main(): Promise<number> {
  const commands = command === 'all' ? Object.keys(COMMANDS) : [command]
  const outcomes: PartOutcome[] = []
  for (const name of commands) {
    if (commands.length > 1) console.log(`\n── ${name} ${'─'.repeat(Math.max(0, 76 - name.length))}`)
    outcomes.push(await runCommand(name as keyof typeof COMMANDS))
    if (interrupted.signal.aborted || outcomes.at(-1)!.stopped) break
  }
  if (where) console.log(`\n${formatCosts(outcomes.flatMap(({ files }) => files))}`)
  if (commands.length > 1) console.log(`\n${formatRun(outcomes)}`)
  const notBegun = formatNotBegun(outcomes.flatMap(({ files }) => files))
  if (notBegun !== null) console.log(`\n${notBegun}`)
  const unsteady = outcomes.flatMap((outcome) => outcome.unsteady)
  if (unsteady.length > 0) console.log(`\n${formatUnsteady(unsteady)}`)
  const isUnsteady = new Set(unsteady.map(({ file }) => file))
  const files = outcomes.flatMap((outcome) => (outcome.green ? [] : outcome.files))
  const failed = formatFailed(files.filter((file) => !isUnsteady.has(file)))
  if (failed !== null) console.log(`\n${failed}`)
  if (interrupted.signal.aborted) return 128 + constants.signals[interrupted.signal.reason as NodeJS.Signals]
  const green = outcomes.every((outcome) => outcome.green)
  if (minutes.length === 0) return green ? 0 : 1
  const status = await runLoop(minutes)
  return green ? status : 1
}

async function runCommand(name: keyof typeof COMMANDS): Promise<PartOutcome> {
  const began = performance.now()
  const { status, report } = await runVitest([...projectsOf(name), ...args], 'inherit')
  const failed = report?.files.filter(({ passed }) => !passed) ?? []
  const again = status === 0 || !report || report.stopped || interrupted.signal.aborted ? [] : failed
  if (report?.stopped) {
    console.log(
      `\nSTOPPED: ${failed.length} files failed, more than a tenth. The machine or the tree is broken, not the tests:` +
        '\nsee the first ones in the list at the end.',
    )
  }
  const unsteady: Unsteady[] = []
  for (const file of again) {
    if (interrupted.signal.aborted) break
    const second = await runAgain(file)
    if (second !== null) unsteady.push({ file, second })
  }
  const green =
    status === 0 || (again.length > 0 && unsteady.length === failed.length && report!.unhandled.length === 0)
  return {
    name,
    green,
    stopped: report?.stopped ?? false,
    seconds: (performance.now() - began) / 1000,
    files: report?.files ?? [],
    unsteady,
  }
}

/** The output of the second run if it passed; null if it failed, too. */
async function runAgain(file: FileReport): Promise<string | null> {
  console.log(`\nrunning ${file.path} once more, alone`)
  const { filter } = parseArguments()
  const options = args.filter((arg) => !filter.includes(arg))
  const { status, output } = await runVitest(['--project', file.part, ...options, file.path], 'pipe', RUN_AGAIN)
  if (status === 0) return output
  console.log(`${output}\n${file.path} failed again`)
  return null
}

/** Files that are named are looked for in all parts by `npm test`, else in those of the command. */
function projectsOf(name: keyof typeof COMMANDS): string[] {
  const { filter } = parseArguments()
  if (name === 'test' && (filter.length > 0 || args.includes('--project'))) return []
  const parts: readonly Part[] | undefined = COMMANDS[name]
  if (!parts) throw new Error(`${name}: there is no such part of the suite\n\n${HELP}`)
  return parts.flatMap((part) => ['--project', part])
}

function parseArguments(): { filter: string[] } {
  return parseCLI(['vitest', 'run', ...args], { allowUnknownOptions: true })
}

async function runVitest(
  vitestArgs: readonly string[],
  output: 'inherit' | 'pipe',
  variables: NodeJS.ProcessEnv = {},
): Promise<{ status: number; report: RunReport | null; output: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'reprise-run-'))
  const path = join(directory, 'report.json')
  try {
    const child = spawn(process.execPath, [VITEST, 'run', ...vitestArgs], {
      cwd: ROOT,
      stdio: ['inherit', output, output],
      env: { ...process.env, TEST_REPORT: path, ...variables },
    })
    // A terminal's Ctrl-C reaches the child, too; a signal to this process alone does not.
    const forward = () => child.kill('SIGINT')
    interrupted.signal.addEventListener('abort', forward)
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (text += chunk.toString()))
    const [status] = (await once(child, 'close')) as [number | null]
    interrupted.signal.removeEventListener('abort', forward)
    const report = await readFile(path, 'utf8').catch(() => null)
    return {
      status: status ?? 1,
      report: report === null ? null : (JSON.parse(report) as RunReport),
      output: stripVTControlCharacters(text).trim(),
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
