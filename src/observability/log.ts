import { pino, type Logger as PinoLogger } from 'pino'

export type Logger = PinoLogger
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * Ignores errors of the log, for example on a full disk, which must not end the process. Later lines are tried again.
 */
const lineLost = () => {}

/** Writes readable lines or JSON lines to standard error; standard output stays free for results. */
export async function createLogger(options: { level: LogLevel; format: 'pretty' | 'json' }): Promise<Logger> {
  const settings = { level: options.level, base: null }
  if (options.format === 'json') {
    const destination = pino.destination({ fd: 2, sync: false })
    destination.on('error', lineLost)
    return pino(settings, destination)
  }
  const { default: pretty } = await import('pino-pretty')
  const stream = pretty({
    destination: 2,
    colorize: process.stderr.isTTY,
    ignore: 'pid,hostname',
    translateTime: 'HH:MM:ss.l',
  })
  stream.on('error', lineLost)
  return pino(settings, stream)
}
