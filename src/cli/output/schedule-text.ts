import type { Schedule } from '../../client/node/index.ts'
import { formatFields } from './fields.ts'
import { formatTable, type Column } from './table.ts'
import type { Terminal } from './terminal.ts'
import { duration, instant, relative } from './time.ts'

/** `30 2 * * * Europe/Berlin`, or `every 15 m`. */
export function timingOf({ cron, every, timeZone }: Pick<Schedule, 'cron' | 'every' | 'timeZone'>): string {
  return cron === null ? `every ${duration(every)}` : `${cron} ${timeZone}`
}

type ScheduleRun = Schedule['lastRuns'][number]

export const runColumns: Column<ScheduleRun>[] = [
  { title: 'PLANNED', value: ({ plannedAt }) => instant(plannedAt) },
  { title: 'RUNS', value: ({ count }) => count, align: 'right' },
  { title: 'OUTCOME', value: (run) => run.session?.chain.state ?? run.outcome },
  { title: 'SESSION', value: ({ chainId }) => chainId, id: true },
  { title: 'WHY', value: ({ reason, askedBy }) => reason ?? (askedBy && `asked for by ${askedBy}`), flexible: true },
]

export async function describeSchedule(schedule: Schedule, terminal: Terminal): Promise<string> {
  const { session } = schedule
  const list = (entries: readonly string[] | undefined) => entries?.join(', ')
  const fields = formatFields(
    [
      ['schedule', schedule.scheduleId],
      ['name', schedule.name],
      ['project', schedule.project.name],
      ['when', timingOf(schedule)],
      ['overlap', schedule.overlap],
      ['catch-up', `${schedule.catchUp} missed ${schedule.catchUp === 1 ? 'run' : 'runs'}`],
      ['jitter', schedule.jitter === 0 ? null : `up to ${duration(schedule.jitter)}`],
      ['paused', pauseOf(schedule)],
      ['refused', schedule.statusReason],
      ['next run', schedule.nextRunAt && `${instant(schedule.nextRunAt)} (${relative(schedule.nextRunAt)})`],
      ['then', list(schedule.nextRuns.slice(1).map(instant))],
      ['queued', schedule.queued === 0 ? null : `${schedule.queued}`],
      ['owner', schedule.owner],
      ['command', session?.command.join(' ')],
      ['image', session?.image],
      ['variables', list(session?.environ.map(({ name, value }) => `${name}=${value}`))],
      ['secrets', list(session?.secretEnviron)],
      ['slots', list(session?.resourceSlots.map(({ slot, amount }) => `${slot}=${amount}`))],
      ['retries', session?.maxRetries == null ? null : `${session.maxRetries}`],
      ['group', session?.resourceGroup],
      ['created', `${instant(schedule.createdAt)} by ${schedule.createdBy}`],
    ],
    terminal,
  )
  if (schedule.lastRuns.length === 0) return fields
  return `${fields}\n\n${await formatTable(schedule.lastRuns, runColumns, terminal)}`
}

function pauseOf({ paused, pausedAt, pausedBy, pauseReason }: Schedule): string | null {
  if (!paused) return null
  return [`${relative(pausedAt)} by ${pausedBy}`, pauseReason].filter(Boolean).join(': ')
}
