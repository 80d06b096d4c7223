import { once } from 'node:events'
import { ConfigurationError, loadConfig, type Config } from './config.ts'
import { messageOf } from './observability/error-message.ts'
import { createLogger, type Logger } from './observability/log.ts'

/** Shared by the long-running commands. */

export const EXIT_OK = 0
const EXIT_FAULT = 1
/** EX_CONFIG of sysexits.h. */
const EXIT_CONFIGURATION = 78
/** A clean stop that takes longer is aborted; the next start does what was left undone. */
const STOP_WITHIN_MS = 30_000
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const
/** Ctrl-C reaches `npm start` and the server, and npm forwards it: a second signal this soon is the same one. */
const SAME_SIGNAL_WITHIN_MS = 1_000

/** Returns the exit status. A ConfigurationError is printed without a stack. */
export async function withConfig(
  environment: NodeJS.ProcessEnv,
  work: (config: Config, log: Logger) => Promise<number>,
): Promise<number> {
  let log: Logger | undefined
  try {
    const { config, warnings } = loadConfig(environment)
    log = await createLogger({ level: config.logLevel, format: config.logFormat })
    for (const warning of warnings) log.warn(warning)
    return await work(config, log)
  } catch (error) {
    if (error instanceof ConfigurationError) {
      console.error(error.message)
      return EXIT_CONFIGURATION
    }
    if (log) log.fatal({ err: error }, messageOf(error))
    else console.error(error)
    return EXIT_FAULT
  }
}

/**
 * Resolves with the signal that asks this process to stop. A second signal, at least SAME_SIGNAL_WITHIN_MS later, kills
 * it.
 */
export async function stopSignal(): Promise<string> {
  const ending = new AbortController()
  try {
    return await Promise.race(
      STOP_SIGNALS.map(async (name) => {
        await once(process, name, { signal: ending.signal })
        return name
      }),
    )
  } finally {
    ignoreSignals(SAME_SIGNAL_WITHIN_MS)
    ending.abort()
  }
}

function ignoreSignals(forMs: number): void {
  const ignore = () => {}
  for (const name of STOP_SIGNALS) process.on(name, ignore)
  setTimeout(() => {
    for (const name of STOP_SIGNALS) process.off(name, ignore)
  }, forMs).unref()
}

/** Exits if a clean stop takes too long. `drainMs`: time before the stop begins. */
export async function stopInTime(stop: () => PromiseLike<unknown>, log: Logger, drainMs = 0): Promise<void> {
  const withinMs = drainMs + STOP_WITHIN_MS
  const overdue = setTimeout(() => {
    log.error(`not stopped within ${withinMs / 1000} s: giving up`)
    process.exit(EXIT_FAULT)
  }, withinMs)
  await stop()
  clearTimeout(overdue)
}
