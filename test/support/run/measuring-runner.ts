import { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test, TestRunner, type RunnerTestFile, type RunnerTestSuite } from 'vitest'
import { waited } from '../eventually.ts'
import { NOT_BEGUN } from './run-reporter.ts'

/** The cost of one test file for its worker. */
export interface FileCosts {
  /** CPU time of the worker and of the processes that it started and has waited for, in ms. */
  cpuMs: number
  /** Time spent in `eventually` and `pause`, in ms. Waits that overlap are all counted. */
  waitedMs: number
  /** Processes that the worker has started itself. */
  processes: number
}

declare module 'vitest' {
  interface TaskMeta {
    costs?: FileCosts
  }
}

/** The unit of the columns in Linux' `/proc/<pid>/stat`, in ms. */
const TICK_MS = 10
const UTIME = 11

let started = 0

interface SpawnPrototype {
  spawn: (this: unknown, ...args: unknown[]) => unknown
}

const prototype = ChildProcess.prototype as unknown as SpawnPrototype
const { spawn } = prototype
prototype.spawn = function countedSpawn(...args) {
  started += 1
  return spawn.apply(this, args)
}

/** Seconds of the Unix epoch: no file is begun later. */
const deadlineSeconds = Number(process.env['TEST_DEADLINE'] ?? Infinity)
if (Number.isNaN(deadlineSeconds)) throw new Error('TEST_DEADLINE: must be seconds of the Unix epoch')

/** Adds to each file's report what it has cost, and begins none after the deadline. */
export default class MeasuringRunner extends TestRunner {
  #before = costsSoFar()

  override importFile(path: string, source: 'collect' | 'setup'): unknown {
    if (source === 'setup' || Date.now() < deadlineSeconds * 1_000) return super.importFile(path, source)
    // oxlint-disable-next-line vitest/no-disabled-tests, vitest/valid-title -- stands for the tests of the file
    return test.skip(NOT_BEGUN, () => undefined)
  }

  override onCollectStart(file: RunnerTestFile): void {
    super.onCollectStart(file)
    this.#before = costsSoFar()
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onAfterRunSuite(suite)
    if (!('filepath' in suite)) return
    const now = costsSoFar()
    suite.meta.costs = {
      cpuMs: now.cpuMs - this.#before.cpuMs,
      waitedMs: now.waitedMs - this.#before.waitedMs,
      processes: now.processes - this.#before.processes,
    }
  }
}

function costsSoFar(): FileCosts {
  return { cpuMs: cpuMs(), waitedMs: waited.ms, processes: started }
}

/** Outside Linux, that of the worker alone. */
function cpuMs(): number {
  if (process.platform !== 'linux') {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // utime, stime, cutime and cstime, which stand side by side.
  return fields.slice(UTIME, UTIME + 4).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0)
}
