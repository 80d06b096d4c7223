import { Cron } from 'croner'
import type { CreateScheduleInput, ScheduleOverlap } from '../../../client/schema-types.generated.ts'
import { secondsOf } from '../../policy/policy-draft.ts'
import type { Draft } from '../../policy/policy-fields.ts'

const DRAWN = 12

export interface TimingGiven {
  input: Omit<CreateScheduleInput, 'session'>
  /** Faults because of which the input cannot be sent, by field. */
  faults: Record<string, string>
  /** The next planned times; none while something is wrong. */
  times: readonly number[]
}

/** The form's field for each place of the input, for the server's faults. */
export const TIMING_PLACES: Readonly<Record<string, string>> = {
  name: 'scheduleName',
  cron: 'cron',
  every: 'every',
  timeZone: 'timeZone',
  overlap: 'overlap',
  catchUp: 'catchUp',
  jitter: 'spread',
}

/** Converts the typed times of a schedule to the API's input. `name`: the name of its session. */
export function readTiming(draft: Draft, name: string, now: number): TimingGiven {
  const faults: Record<string, string> = {}
  const of = (field: string) => draft[field]?.trim() || undefined
  const seconds = (field: string) => {
    const text = of(field)
    const value = text === undefined ? undefined : secondsOf(text)
    if (text !== undefined && value === undefined) faults[field] = 'It is not a duration, like 90s, 5m or 2h.'
    return value
  }
  const [cron, every, timeZone, catchUp] = [of('cron'), seconds('every'), of('timeZone'), of('catchUp')]
  if (cron !== undefined && of('every') !== undefined)
    faults['every'] = 'Use a cron expression or an interval, not both.'
  else if (cron === undefined && of('every') === undefined) faults['cron'] = 'Say when it runs, or how often.'
  if (catchUp !== undefined && !/^\d+$/.test(catchUp)) faults['catchUp'] = 'It is not a whole number.'
  const jitter = seconds('spread')
  const found = (faults['cron'] ?? faults['every']) ? null : nextRunsOf({ cron, every, timeZone }, now, DRAWN)
  if (found && 'fault' in found) faults[found.field] = found.fault
  return {
    input: {
      name: of('scheduleName') ?? name,
      ...(cron !== undefined && { cron }),
      ...(every !== undefined && { every }),
      ...(timeZone !== undefined && { timeZone }),
      ...(draft['overlap'] !== undefined && { overlap: draft['overlap'] as ScheduleOverlap }),
      ...(catchUp !== undefined && { catchUp: Number(catchUp) }),
      ...(jitter !== undefined && { jitter }),
    },
    faults,
    times: found && 'times' in found ? found.times : [],
  }
}

/** The server's syntax: no date and no seconds. */
const CRON = /^\s*(?:@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)|(?:\S+\s+){4}\S+)\s*$/i

interface Timing {
  cron?: string | null | undefined
  /** The interval in seconds. */
  every?: number | null | undefined
  timeZone?: string | null | undefined
}

type Found = { times: number[] } | { fault: string; field: 'cron' | 'timeZone' }

/** The next times of the typed schedule, as the server will plan them, in milliseconds since 1970. */
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
    return times.length > 0 ? { times } : { field: 'cron', fault: 'This time never comes.' }
  } catch (error) {
    return { field: 'cron', fault: (error as Error).message.replace(/^\w+: /, '') }
  }
}

/** Whether the name is a time zone. Offsets are refused, as they have no daylight saving time. */
function isZone(name: string): boolean {
  try {
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
