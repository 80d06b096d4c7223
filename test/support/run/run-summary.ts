import type { FileReport } from './run-reporter.ts'

/** The result of one command of the suite. */
export interface PartOutcome {
  name: string
  green: boolean
  stopped: boolean
  seconds: number
  files: FileReport[]
  unsteady: Unsteady[]
}

/** A file that failed and then passed, alone. */
export interface Unsteady {
  file: FileReport
  /** The output of the second run. */
  second: string
}

const LISTED_IN = 'test/unsteady.json'

/** A table of where the time of a run has gone, the slowest file first; 80 columns for most names. */
export function formatCosts(files: readonly FileReport[]): string {
  const rows = files
    .toSorted((a, b) => b.wallMs - a.wallMs)
    .map(({ path, wallMs, costs }) => row(wallMs, costs?.cpuMs ?? 0, costs?.waitedMs ?? 0, costs?.processes ?? 0, path))
  const sum = (of: (file: FileReport) => number) => files.reduce((total, file) => total + of(file), 0)
  const total = row(
    sum(({ wallMs }) => wallMs),
    sum(({ costs }) => costs?.cpuMs ?? 0),
    sum(({ costs }) => costs?.waitedMs ?? 0),
    sum(({ costs }) => costs?.processes ?? 0),
    `${files.length} files, over all workers`,
  )
  return ['  wall s   CPU s  waited s  started  file', ...rows, total].join('\n')
}

function row(wallMs: number, cpuMs: number, waitedMs: number, processes: number, name: string): string {
  const seconds = (ms: number, width: number) => (ms / 1000).toFixed(1).padStart(width)
  return `${seconds(wallMs, 8)}${seconds(cpuMs, 8)}${seconds(waitedMs, 10)}${String(processes).padStart(9)}  ${name}`
}

/** One line for each command of `test:all`. */
export function formatRun(outcomes: readonly PartOutcome[]): string {
  return outcomes
    .map(({ name, green, seconds, files, unsteady, stopped }) => {
      const failed = files.filter(({ passed }) => !passed).length - unsteady.length
      const end = green ? 'passed' : stopped ? 'STOPPED' : 'FAILED'
      const counts = [`${files.length} files`, ...(failed > 0 ? [`${failed} failed`] : [])]
      if (unsteady.length > 0) counts.push(`${unsteady.length} unsteady`)
      return `${end.padEnd(8)} ${name.padEnd(8)} ${minutes(seconds).padStart(7)}  ${counts.join(', ')}`
    })
    .join('\n')
}

/** The files that a run has left out; null if none. */
export function formatNotBegun(files: readonly FileReport[]): string | null {
  const left = files.filter(({ begun }) => !begun)
  if (left.length === 0) return null
  const lines = left.map(({ path }) => `  ${path}`)
  return [`NOT RUN: the time for this run (TEST_DEADLINE) was up before ${left.length} files:`, ...lines].join('\n')
}

const FAILED_TESTS_SHOWN = 3
const REASON_LENGTH_MAX = 160

/**
 * The files of a red run with their first failing tests, in the order in which the files ended, so that failures with
 * one cause stand together; null if no file failed.
 */
export function formatFailed(files: readonly FileReport[]): string | null {
  const failed = files.filter(({ passed }) => !passed).toSorted((a, b) => a.endedMs - b.endedMs)
  if (failed.length === 0) return null
  return failed
    .flatMap(({ path, endedMs, wallMs, failedTests, reasons, output }) => {
      const took = `after ${minutes(endedMs / 1000)}, having run for ${minutes(wallMs / 1000)}`
      const tests = failedTests.map((test, index) => `  ${test}: ${reasons[index]!.slice(0, REASON_LENGTH_MAX)}`)
      const shown = tests.length > 0 ? tests : [`  ${output.split('\n', 1)[0]!.slice(0, REASON_LENGTH_MAX)}`]
      const more = shown.length - FAILED_TESTS_SHOWN
      return [
        `FAILED ${path}, ${took}`,
        ...shown.slice(0, FAILED_TESTS_SHOWN),
        ...(more > 0 ? [`  and ${more} more`] : []),
      ]
    })
    .join('\n')
}

/** The last lines of a run that is green although files failed at first. */
export function formatUnsteady(unsteady: readonly Unsteady[]): string {
  const parts = unsteady.map(({ file, second }) => {
    const tests = file.failedTests.length > 0 ? file.failedTests : ['(the file itself)']
    return [
      ...tests.map((test) => `UNSTEADY ${file.path}: ${test}`),
      '  the first time:',
      indented(file.output),
      '  once more, alone:',
      indented(second),
    ].join('\n')
  })
  return [
    ...parts,
    `Unsteady: ${unsteady.length} of the files above failed and then passed.`,
    `If that is a fault of the product, mend it; else ${LISTED_IN} says what is known.`,
  ].join('\n')
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '    ')
}

function minutes(seconds: number): string {
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')} min`
}
