import type { Command } from 'commander'
import type { CreateSessionInput, ScheduleOverlap } from '../../client/node/index.ts'
import { act, describedCommand, type ClientContext } from '../client-command.ts'
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
  const command = describedCommand('update', 'change when a schedule runs; with a command, also all of what it runs', [
    "reprise schedules update nightly --cron '0 4 * * *'",
    'reprise schedules update poll --every 1h --overlap skip',
    'reprise schedules update poll --retries 5 --mem 2g -e MODE=live -- ~/work.sh --fast',
  ])
    .argument('<schedule>', SCHEDULE_ARGUMENT)
    .argument('[command...]', 'command to run from now on, after --, with these options and no others')
  addPolicyOptions(addTemplateOptions(addTimingOptions(command)))
  return act<TimingOptions & SessionOptions>(command, async (context, given, [text, ...program]) => {
    const { client, out } = context
    const timing = timingInput(given)
    const template = sessionInput(given, program)
    if (program.length === 0 && (given.upload !== undefined || isAnySet(template)))
      throw new UsageError(
        'What it runs is replaced as a whole: say the command as well, after --, with all its options.',
      )
    if (program.length === 0 && !isAnySet(timing)) throw new UsageError('Nothing is to be changed.')
    const scheduleId = await findSchedule(client, text!)
    const change = {
      scheduleId,
      ...timing,
      ...(program.length > 0 && { session: await replaced(context, scheduleId, given, program) }),
    }
    const schedule = await client.updateSchedule(change)
    out.show(schedule, () => `${schedule.name}: ${timingOf(schedule)}, next run ${relative(schedule.nextRunAt)}`)
  })
}

/** What a schedule runs from now on; it stays in its project. */
async function replaced(context: ClientContext, scheduleId: string, given: SessionOptions, program: string[]) {
  const project = given.project ?? (await context.client.schedule(scheduleId)).project.name
  return sessionInput(await withUpload(context, { ...given, project }), program) as CreateSessionInput
}

const isAnySet = (input: object) => Object.values(input).some((value) => value !== undefined)
