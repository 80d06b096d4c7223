import type { CreateScheduleInput, ScheduleOverlap } from '../../../client/schema-types.generated.ts'
import type { Draft } from '../../policy/policy-fields.ts'
import { secondsOf } from '../../policy/read-draft.ts'
import { nextRunsOf } from './next-runs-of.ts'

const DRAWN = 12

export interface TimingGiven {
  input: Omit<CreateScheduleInput, 'session'>
  /** What cannot be sent, by names of fields. */
  faults: Record<string, string>
  /** The next planned times; none while something is wrong. */
  times: readonly number[]
}

/** Which field what the server says about a place of the input belongs to. */
export const TIMING_PLACES: Readonly<Record<string, string>> = {
  name: 'scheduleName',
  cron: 'cron',
  every: 'every',
  timeZone: 'timeZone',
  overlap: 'overlap',
  catchUp: 'catchUp',
  jitter: 'spread',
}

/** What is typed of when a schedule runs, as the API takes it. `name`: that of what it runs. */
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
    faults['every'] = 'It is one of the two: a cron expression or this.'
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
