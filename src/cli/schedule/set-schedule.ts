import type { Command } from 'commander'
import type { CreateSessionInput, ScheduleOverlap } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { addPolicyOptions } from '../options/policy-options.ts'
import { addTemplateOptions, sessionInput, type SessionOptions } from '../options/session-options.ts'
import { choice, seconds, wholeNumber } from '../options/values.ts'
import { timingOf } from '../output/schedule-text.ts'
import { relative } from '../output/time.ts'
import { UsageError } from '../present-error.ts'
import { withUpload } from '../upload/with-upload.ts'
import { findSchedule, SCHEDULE_ARGUMENT } from '../find/find-schedule.ts'

interface TimingOptions {
  cron?: string
  every?: number
  timezone?: string
  overlap?: ScheduleOverlap
  catchUp?: number
  /** The schedule's jitter; `--jitter` is the retry policy's. */
  spread?: number
}

function addTimingOptions(command: Command): Command {
  return command
    .optionsGroup('Schedule:')
    .option('--cron <expression>', "when: '30 2 * * 1-5', or a name like @daily")
    .option('--every <duration>', 'or how often: 15m, 2h', seconds)
    .option('--timezone <name>', 'time zone of --cron, like Europe/Berlin (default: UTC)')
    .addOption(choice('--overlap <what>', 'a run that is due while an earlier one goes on', API_ENUMS.ScheduleOverlap))
    .option('--catch-up <n>', 'missed runs to make after a downtime (default: 1)', wholeNumber)
    .option('--spread <duration>', 'start each run later by a part of this: its jitter', seconds)
}

function timingInput({ cron, every, timezone, overlap, catchUp, spread }: TimingOptions) {
  return { cron, every, timeZone: timezone, overlap, catchUp, jitter: spread }
}

export function createSchedule(): Command {
  const command = describedCommand('create', 'create a schedule; prints its id', [
    "reprise schedules create nightly --cron '30 2 * * *' --timezone Europe/Berlin --retries 3 -- ~/nightly.sh",
    'reprise schedules create poll --every 15m --overlap queue -e MODE=live -- ~/work.sh',
  ])
    .argument('<name>', 'its name, unique in its project')
    .argument('<command...>', 'command to run, after --')
  addTimingOptions(command).option('--paused', 'make no runs until it is resumed')
  return act<TimingOptions & SessionOptions & { paused?: boolean }>(
    addPolicyOptions(addTemplateOptions(command)),
    async (context, given, [name, ...program]) => {
      const { client, out } = context
      const options = await withUpload(context, given)
      const session = sessionInput(options, program) as CreateSessionInput
      const input = { name: name!, ...timingInput(options), paused: options.paused, session }
      const schedule = await client.createSchedule(input)
      out.note(schedule.paused ? 'it is paused' : `next run ${relative(schedule.nextRunAt)}`)
      out.show(schedule, () => schedule.scheduleId)
    },
  )
}

export function updateSchedule(): Command {
  const command = describedCommand('update', 'change when a schedule runs; what it runs stays', [
    "reprise schedules update nightly --cron '0 4 * * *'",
    'reprise schedules update poll --every 1h --overlap skip',
  ]).argument('<schedule>', SCHEDULE_ARGUMENT)
  return act<TimingOptions>(addTimingOptions(command), async ({ client, out }, options, [text]) => {
    const change = timingInput(options)
    if (Object.values(change).every((value) => value === undefined)) throw new UsageError('Nothing is to be changed.')
    const schedule = await client.updateSchedule({ scheduleId: await findSchedule(client, text!), ...change })
    out.show(schedule, () => `${schedule.name}: ${timingOf(schedule)}, next run ${relative(schedule.nextRunAt)}`)
  })
}
