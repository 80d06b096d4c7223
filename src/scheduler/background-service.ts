import { messageOf } from '../observability/error-message.ts'
import type { Logger } from '../observability/log.ts'
import { wait } from '../waiting/wait.ts'
import { createWakeSignal } from '../waiting/wake-signal.ts'
import { isDiskFault } from '../services/database-outage.ts'
import { processFaults } from '../observability/process-events.ts'
import type { Metrics } from '../observability/metrics.ts'

export interface RunReport {
  /** How many items were processed; 0 is not logged. */
  done: number
  /** Run the next pass at once. */
  more?: boolean
  /** Run the next pass within this time, even without a wake-up. */
  againInMs?: number | null
}

export interface BackgroundService {
  readonly name: string
  /** Resolves after the first pass. */
  start(): Promise<void>
  /** Waits for the current pass and ends the loop. */
  stop(): Promise<void>
  /** Runs a pass soon. */
  wake(): void
  /** Runs one pass, for tests; also works while the service is not started. */
  runOnce(): Promise<RunReport>
}

const FAULT_PAUSE_MIN_MS = 200
const FAULT_PAUSE_MAX_MS = 5_000
const BREATHER_MAX_MS = 50

/**
 * The loop of every background service: it runs a pass when woken and at least every `intervalMs`, never two at once.
 * An error is logged, and the loop continues after a pause that grows while errors persist.
 */
export function defineService(options: {
  name: string
  intervalMs: number
  /** How long wake-ups are collected under load; otherwise for as long as the last pass took. */
  gatherMs?: number
  log: Logger
  runOnce: (signal: AbortSignal) => Promise<RunReport>
}): BackgroundService {
  const { name, log } = options
  const stopped = new AbortController()
  const wakeSignal = createWakeSignal([stopped.signal])
  const firstPass = Promise.withResolvers<void>()
  let loop: Promise<void> | undefined
  let faults = 0

  async function pass(): Promise<number> {
    wakeSignal.take()
    try {
      const report = await options.runOnce(stopped.signal)
      faults = 0
      if (report.done > 0) log.debug({ service: name, done: report.done }, `${name}: ${report.done}`)
      if (report.more) return 0
      return Math.max(0, Math.min(options.intervalMs, report.againInMs ?? options.intervalMs))
    } catch (error) {
      if (stopped.signal.aborted) return 0
      faults += 1
      if (isDiskFault(error)) processFaults.diskFull += 1
      const pause = Math.min(FAULT_PAUSE_MAX_MS, FAULT_PAUSE_MIN_MS * 2 ** Math.min(faults - 1, 10))
      log.warn({ service: name, err: error, againInMs: pause }, `${name} failed: ${messageOf(error)}`)
      // Wake-ups during the failed pass do not shorten the pause.
      wakeSignal.take()
      await wakeSignal.wait(pause)
      return 0
    }
  }

  /** Collects wake-ups that came during the last pass and after it, so that under load there are few passes over many rows. */
  async function breathe(passMs: number): Promise<void> {
    await wait(options.gatherMs ?? Math.min(passMs, BREATHER_MAX_MS), { signal: stopped.signal })
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      const begun = performance.now()
      const pause = await pass()
      firstPass.resolve()
      if (pause === 0 || stopped.signal.aborted) continue
      if (wakeSignal.take()) await breathe(performance.now() - begun)
      else await wakeSignal.wait(pause)
    }
  }

  return {
    name,
    start() {
      loop ??= run()
      return firstPass.promise
    },
    async stop() {
      stopped.abort()
      await loop
    },
    wake: wakeSignal.raise,
    runOnce: () => options.runOnce(stopped.signal),
  }
}

/** Like `defineService`, and counts and times each pass under the service's name. */
export function defineMeasuredService(
  { log, metrics }: { log: Logger; metrics: Pick<Metrics, 'runs' | 'done'> },
  name: string,
  intervalMs: number,
  runOnce: (signal: AbortSignal) => Promise<RunReport>,
  more: { gatherMs?: number } = {},
): BackgroundService {
  return defineService({
    name,
    intervalMs,
    ...more,
    log,
    runOnce: (signal) => measureRun(metrics, name, () => runOnce(signal)),
  })
}

/** Runs one pass of a background service, and counts and times it by its outcome. */
async function measureRun<Report extends { done: number }>(
  { runs, done }: Pick<Metrics, 'runs' | 'done'>,
  service: string,
  run: () => Promise<Report>,
): Promise<Report> {
  const begun = performance.now()
  const seconds = () => (performance.now() - begun) / 1000
  try {
    const report = await run()
    runs.observe({ service, outcome: report.done > 0 ? 'done' : 'nothing' }, seconds())
    if (report.done > 0) done.inc({ service }, report.done)
    return report
  } catch (error) {
    runs.observe({ service, outcome: 'failed' }, seconds())
    throw error
  }
}
