import { pino, type Logger as PinoLogger } from 'pino'

export type Logger = PinoLogger
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Writes readable lines or JSON lines to standard error; standard output stays free for results. */
export async function createLogger(options: { level: LogLevel; format: 'pretty' | 'json' }): Promise<Logger> {
  const settings = { level: options.level, base: null }
  if (options.format === 'json') return pino(settings, pino.destination({ fd: 2, sync: false }))
  const { default: pretty } = await import('pino-pretty')
  const stream = pretty({
    destination: 2,
    colorize: process.stderr.isTTY,
    ignore: 'pid,hostname',
    translateTime: 'HH:MM:ss.l',
  })
  return pino(settings, stream)
}
