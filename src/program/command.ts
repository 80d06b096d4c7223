import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Config, ConfigurationError, loadConfig } from './config.ts'
import { messageOf } from '../observability/error-message.ts'
import { createLogger, type Logger } from '../observability/log.ts'
import { listenForStop, outliveUncaughtFaults } from '../observability/process-events.ts'
import { unsafeAbove, unsafeInPackage } from '../machine/system-programs.ts'

/** Functions that the long-running commands share. */

const PACKAGE = join(import.meta.dirname, '../..')

export const EXIT_OK = 0
const EXIT_FAULT = 1
/** EX_CONFIG of sysexits.h. */
const EXIT_CONFIGURATION = 78
/** A clean stop that takes longer is aborted; the next start completes it. */
const STOP_WITHIN_MS = 30_000

/** Marks a directory that `reprise backup` or `reprise restore` has not filled yet. */
export const UNFINISHED = '.reprise-unfinished'

/**
 * Returns the exit status. A ConfigurationError is printed without a stack. `restores`: the command may fill a data
 * directory that is not complete.
 */
export async function withConfig(
  environment: NodeJS.ProcessEnv,
  work: (config: Config, log: Logger, warnings: readonly string[]) => Promise<number>,
  { restores = false }: { restores?: boolean } = {},
): Promise<number> {
  let log: Logger | undefined
  try {
    const { config, warnings } = loadConfig(environment)
    log = await createLogger({ level: config.logLevel, format: config.logFormat })
    outliveUncaughtFaults(log)
    for (const warning of warnings) log.warn(warning)
    refuseUnsafePaths(config)
    if (!restores) refuseUnfinished(config)
    return await work(config, log, warnings)
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

/** @throws ConfigurationError if the process runs as root and another user can write its code or its data */
function refuseUnsafePaths({ allowUnsafePaths, dataDir, chainsDir }: Config): void {
  if (process.getuid?.() !== 0 || allowUnsafePaths === 'true') return
  const places = [PACKAGE, dataDir, ...(chainsDir === undefined ? [] : [chainsDir])]
  const unsafe = new Map([...unsafeInPackage(PACKAGE), ...places.flatMap(unsafeAbove)].map((each) => [each.path, each]))
  if (unsafe.size === 0) return
  throw new ConfigurationError([
    ...[...unsafe.values()].map(({ path, what }) => `${path}: another user can write this ${what}`),
    'This runs as root, so whoever can change its code or its data could become root. Give these paths to root',
    '(chown root, chmod go-w), name another data directory (REPRISE_DATA_DIR), start as another user, or set',
    'REPRISE_ALLOW_UNSAFE_PATHS=true to accept that.',
  ])
}

/** @throws ConfigurationError if a restore into the data directory was interrupted */
function refuseUnfinished(config: Config): void {
  const dataDir = resolve(config.dataDir)
  if (!existsSync(join(dataDir, UNFINISHED))) return
  throw new ConfigurationError([
    `REPRISE_DATA_DIR: a restore into ${dataDir} was interrupted, or still runs: run \`reprise restore\` again`,
  ])
}

/** Resolves with the first signal that asks this process to stop. */
export function stopSignal(): Promise<string> {
  return new Promise((stop) => listenForStop(stop))
}

/** Waits for a clean stop, and exits if it takes too long. `drainMs`: time before the stop begins. */
export async function stopInTime(stop: () => PromiseLike<unknown>, log: Logger, drainMs = 0): Promise<void> {
  const withinMs = drainMs + STOP_WITHIN_MS
  const overdue = setTimeout(() => {
    log.error(`not stopped within ${withinMs / 1000} s: giving up`)
    process.exit(EXIT_FAULT)
  }, withinMs)
  try {
    await stop()
  } finally {
    clearTimeout(overdue)
  }
}
