import { Cron } from 'croner'

/** As the server has it, which also takes no date and no seconds. */
const CRON = /^\s*(?:@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)|(?:\S+\s+){4}\S+)\s*$/i

interface Timing {
  cron?: string | null | undefined
  /** Seconds. */
  every?: number | null | undefined
  timeZone?: string | null | undefined
}

type Found = { times: number[] } | { fault: string; field: 'cron' | 'timeZone' }

/** The next planned times of what is typed, as the server will plan them, in milliseconds since 1970. */
export function nextRunsOf({ cron, every, timeZone }: Timing, now: number, count: number): Found {
  if (every != null) return { times: Array.from({ length: count }, (_, index) => now + every * 1000 * (index + 1)) }
  const zone = timeZone ?? 'UTC'
  if (!isZone(zone)) return { field: 'timeZone', fault: 'It is not the name of a time zone, like Europe/Berlin.' }
  if (cron == null || !CRON.test(cron)) {
    return { field: 'cron', fault: 'It has five fields: minute, hour, day of month, month, day of week.' }
  }
  try {
    const expression = new Cron(cron.trim(), {
      timezone: zone,
      mode: '5-part',
      fixedTimeRule: 'no-wildcard',
      paused: true,
    })
    const times = expression.nextRuns(count, new Date(now)).map((time) => time.getTime())
    return times.length > 0 ? { times } : { field: 'cron', fault: 'It never comes.' }
  } catch (error) {
    return { field: 'cron', fault: (error as Error).message.replace(/^\w+: /, '') }
  }
}

/** Offsets are none: they know no daylight saving. */
function isZone(name: string): boolean {
  try {
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
