import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, SerializedError, TestModule, TestSpecification, Vitest } from 'vitest/node'
import type { FileCosts } from './measuring-runner.ts'
import type { Part } from './parts.ts'

/** In place of the tests of a file that was not begun before the deadline. */
export const NOT_BEGUN = 'not run: the time for this run was up'

/** The result of a run, file by file. */
export interface RunReport {
  /** Whether so many files failed that the rest was not run. */
  stopped: boolean
  /** Errors outside any test. */
  unhandled: string[]
  files: FileReport[]
}

export interface FileReport {
  /** From the project's root. */
  path: string
  part: Part
  passed: boolean
  /** False if the time for the run was up before. */
  begun: boolean
  /** Full names of the tests that failed; empty if the file itself could not be loaded. */
  failedTests: string[]
  /** The errors, as plain text. */
  output: string
  /** The first line of the first error of each, in the order of `failedTests`. */
  reasons: string[]
  wallMs: number
  /** How long after the begin of the run the file ended, in ms. */
  endedMs: number
  costs?: FileCosts
}

/** More than this share of the files: the machine or the tree is broken, not the tests. */
const FAILED_SHARE_MAX = 0.1
/** With so few files, one failure says nothing about the rest. */
const FAILED_MIN = 5

/**
 * Ends a run in which too much fails, and writes how each file ended to the file that `TEST_REPORT` names.
 */
export default class RunReporter implements Reporter {
  #vitest: Vitest | null = null
  #files = 0
  #failed = 0
  #stopped = false
  #began = 0
  readonly #endedMs = new Map<string, number>()

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#files = specifications.length
    this.#began = performance.now()
  }

  onTestModuleEnd(module: TestModule): void {
    this.#endedMs.set(module.id, performance.now() - this.#began)
    if (module.ok() || this.#stopped) return
    this.#failed += 1
    if (this.#failed < FAILED_MIN || this.#failed <= this.#files * FAILED_SHARE_MAX) return
    this.#stopped = true
    // Not awaited: the run ends only after this call.
    void this.#vitest?.cancelCurrentRun('test-failure')
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const path = process.env['TEST_REPORT']
    if (path === undefined) return
    const report: RunReport = {
      stopped: this.#stopped,
      unhandled: unhandled.map(describeError),
      files: modules.filter((module) => module.state() !== 'queued').map((module) => this.#describe(module)),
    }
    writeFileSync(path, JSON.stringify(report))
  }

  #describe(module: TestModule): FileReport {
    const failed = [...module.children.allTests('failed')]
    const outputs = [
      ...module.errors().map(describeError),
      ...[...module.children.allSuites()].flatMap((suite) => suite.errors().map(describeError)),
      ...failed.flatMap((test) =>
        (test.result().errors ?? []).map((error) => `${test.fullName}\n${describeError(error)}`),
      ),
    ]
    const { costs } = module.meta()
    return {
      path: relative(this.#vitest!.config.root, module.moduleId).replaceAll('\\', '/'),
      part: module.project.name as Part,
      passed: module.ok(),
      begun: ![...module.children.allTests()].some(({ name }) => name === NOT_BEGUN),
      failedTests: failed.map(({ fullName }) => fullName),
      output: outputs.join('\n\n'),
      reasons: failed.map((test) => firstLine(test.result().errors?.[0]?.message ?? '')),
      endedMs: this.#endedMs.get(module.id) ?? 0,
      wallMs: module.diagnostic().duration,
      ...(costs && { costs }),
    }
  }
}

function firstLine(text: string): string {
  return stripVTControlCharacters(text).split('\n', 1)[0]!
}

function describeError({ message, stack, diff }: SerializedError & { diff?: string }): string {
  const trace = (stack ?? '')
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .slice(0, 5)
  return stripVTControlCharacters([message, ...(diff ? [diff] : []), ...trace].join('\n'))
}
