import { Command } from 'commander'
import type { ScheduleRunOutcome } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { choices, wholeNumber } from '../options/values.ts'
import { describeSchedule, runColumns, timingOf } from '../output/schedule-text.ts'
import { relative } from '../output/time.ts'
import { take } from '../session/take.ts'
import { findSchedule, SCHEDULE_ARGUMENT } from '../find/find-schedule.ts'
import { createSchedule, updateSchedule } from './set-schedule.ts'

const LIMIT = 50

export function schedulesCommand(): Command {
  const command = new Command('schedules').description('sessions that are created again and again')
  command.addCommand(list(), { isDefault: true })
  const others = [createSchedule(), info(), runs(), updateSchedule(), pause(), resume(), run(), remove()]
  for (const subcommand of others) command.addCommand(subcommand)
  return command
}

function list(): Command {
  const command = describedCommand('list', 'list schedules, newest first', [
    'reprise schedules',
    'reprise schedules list --project default --paused',
  ])
    .option('-p, --project <project>', 'in this project')
    .option('--paused', 'paused ones only')
    .option('--limit <n>', `at most so many; 0 is all (default: ${LIMIT})`, wholeNumber)
  return act<{ project?: string; paused?: boolean; limit?: number }>(
    command,
    async ({ client, out, signal }, { project, paused, limit = LIMIT }) => {
      const { items, more } = await take(client.schedules({ filter: { project, paused } }, { signal }), limit)
      await out.table(
        items,
        [
          { title: 'SCHEDULE', value: ({ scheduleId }) => scheduleId, id: true },
          { title: 'NAME', value: ({ name }) => name, flexible: true },
          { title: 'WHEN', value: timingOf },
          { title: 'NEXT', value: (row) => (row.paused ? 'paused' : relative(row.nextRunAt)), align: 'right' },
          { title: 'QUEUED', value: ({ queued }) => (queued === 0 ? null : queued), align: 'right' },
          { title: 'PROJECT', value: (row) => row.project.name, flexible: true },
          { title: 'WHY', value: (row) => row.statusReason ?? row.pauseReason, flexible: true },
        ],
        'no schedules',
      )
      if (more) out.note(`more than ${items.length}: --limit shows more`)
    },
  )
}

function info(): Command {
  const command = describedCommand('info', 'show a schedule with its next and its last runs', [
    'reprise schedules info nightly',
    'reprise schedules info nightly --json',
  ]).argument('<schedule>', SCHEDULE_ARGUMENT)
  return act(command, async ({ client, out }, _options, [text]) => {
    const schedule = await client.schedule(await findSchedule(client, text!))
    await out.showSoon(schedule, () => describeSchedule(schedule, out.terminal))
  })
}

function runs(): Command {
  const command = describedCommand('runs', 'list what became of its runs, the latest first', [
    'reprise schedules runs nightly',
    'reprise schedules runs nightly --outcome refused,missed',
  ])
    .argument('<schedule>', SCHEDULE_ARGUMENT)
    .addOption(choices('--outcome <outcomes>', 'with one of these outcomes', API_ENUMS.ScheduleRunOutcome))
    .option('--limit <n>', `at most so many; 0 is all (default: ${LIMIT})`, wholeNumber)
  return act<{ outcome?: ScheduleRunOutcome[]; limit?: number }>(
    command,
    async ({ client, out, signal }, { outcome, limit = LIMIT }, [text]) => {
      const scheduleId = await findSchedule(client, text!)
      const { items, more } = await take(client.scheduleRuns(scheduleId, { outcome }, { signal }), limit)
      await out.table(items, runColumns, 'no runs')
      if (more) out.note(`more than ${items.length}: --limit shows more`)
    },
  )
}

function pause(): Command {
  const command = describedCommand('pause', 'make no runs until it is resumed', [
    'reprise schedules pause nightly --reason holidays',
  ])
    .argument('<schedule>', SCHEDULE_ARGUMENT)
    .option('--reason <text>', 'reason, shown with the schedule')
  return act<{ reason?: string }>(command, async ({ client, out }, { reason }, [text]) => {
    const schedule = await client.pauseSchedule(await findSchedule(client, text!), reason)
    out.show(schedule, () => `${schedule.name}: paused`)
  })
}

function resume(): Command {
  const command = describedCommand('resume', 'go on with the next planned time', [
    'reprise schedules resume nightly',
  ]).argument('<schedule>', SCHEDULE_ARGUMENT)
  return act(command, async ({ client, out }, _options, [text]) => {
    const schedule = await client.resumeSchedule(await findSchedule(client, text!))
    out.show(schedule, () => `${schedule.name}: next run ${relative(schedule.nextRunAt)}`)
  })
}

function run(): Command {
  const command = describedCommand('run', 'make one more run at once; prints the id of its session', [
    'reprise schedules run nightly',
  ]).argument('<schedule>', SCHEDULE_ARGUMENT)
  return act(command, async ({ client, out }, _options, [text]) => {
    const made = await client.runScheduleNow(await findSchedule(client, text!))
    if (made.chainId === null) out.note(`${made.outcome.toLowerCase()}: ${made.reason ?? 'an earlier run goes on'}`)
    out.show(made, () => made.chainId ?? '')
    return made.outcome === 'SKIPPED' ? 1 : 0
  })
}

function remove(): Command {
  const command = describedCommand('delete', 'delete a schedule; the sessions that it made stay', [
    'reprise schedules delete nightly',
  ]).argument('<schedule>', SCHEDULE_ARGUMENT)
  return act(command, async ({ client, out }, _options, [text]) => {
    const scheduleId = await findSchedule(client, text!)
    await client.deleteSchedule(scheduleId)
    out.show({ scheduleId }, () => `${text}: deleted`)
  })
}
