import { basename } from 'node:path'
import { Command } from 'commander'
import type { CreateSessionInput, Schedule, ScheduleOverlap, ScheduleRunOutcome } from '../client/node/index.ts'
import { act, actOnOne, type ClientContext, describedCommand, programAfterDashes, showFirst } from './client-command.ts'
import { API_ENUMS } from './options/api-enums.generated.ts'
import { choice, choices, seconds, wholeNumber } from './options/values.ts'
import { duration, instant, relative, slotList } from './output/format.ts'
import { findSchedule, SCHEDULE_ARGUMENT } from './find.ts'
import { addPolicyOptions } from './options/policy-options.ts'
import { addTemplateOptions, sessionInput, type SessionOptions } from './options/session-options.ts'
import { UsageError } from './present-error.ts'
import { withUpload } from './upload.ts'
import { type Column, formatFields, formatTable } from './output/table.ts'
import type { Terminal } from './output/terminal.ts'

const LIMIT = 50

export function schedulesCommand(): Command {
  const command = new Command('schedules').description('schedules, which create sessions at planned times')
  command.addCommand(listSchedules(), { isDefault: true })
  const others = [createSchedule(), info(), runs(), updateSchedule(), pause(), resume(), run(), remove()]
  for (const subcommand of others) command.addCommand(subcommand)
  return command
}

function listSchedules(): Command {
  const command = describedCommand('list', 'list schedules, newest first', [
    'reprise schedules',
    'reprise schedules list --project default --paused',
  ])
    .option('-p, --project <project>', 'in this project')
    .option('--paused', 'only paused schedules')
    .option('--limit <n>', `maximum number; 0 means all (default: ${LIMIT})`, wholeNumber)
  return act<{ project?: string; paused?: boolean; limit?: number }>(
    command,
    async ({ client, out, signal }, { project, paused, limit = LIMIT }) => {
      const schedules = client.schedules({ filter: { project, paused } }, { signal })
      await showFirst(
        out,
        { limit, of: schedules },
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
  const command = describedCommand('runs', 'list the runs of a schedule and their outcomes, latest first', [
    'reprise schedules runs nightly',
    'reprise schedules runs nightly --outcome refused,missed',
  ])
    .argument('<schedule>', SCHEDULE_ARGUMENT)
    .addOption(choices('--outcome <outcomes>', 'with one of these outcomes', API_ENUMS.ScheduleRunOutcome))
    .option('--limit <n>', `maximum number; 0 means all (default: ${LIMIT})`, wholeNumber)
  return act<{ outcome?: ScheduleRunOutcome[]; limit?: number }>(
    command,
    async ({ client, out, signal }, { outcome, limit = LIMIT }, [text]) => {
      const scheduleId = await findSchedule(client, text!)
      const all = client.scheduleRuns(scheduleId, { outcome }, { signal })
      await showFirst(out, { limit, of: all }, runColumns, 'no runs')
    },
  )
}

function pause(): Command {
  const command = describedCommand('pause', 'pause a schedule: it makes no runs until it is resumed', [
    'reprise schedules pause nightly --reason holidays',
  ])
    .argument('<schedule>', SCHEDULE_ARGUMENT)
    .option('--reason <text>', 'reason, shown with the schedule')
  return actOnOne(
    command,
    async (client, text, { reason }: { reason?: string }) =>
      client.pauseSchedule(await findSchedule(client, text), reason),
    ({ name }) => `${name}: paused`,
  )
}

function resume(): Command {
  const command = describedCommand('resume', 'resume a schedule at its next planned time', [
    'reprise schedules resume nightly',
  ]).argument('<schedule>', SCHEDULE_ARGUMENT)
  return actOnOne(
    command,
    async (client, text) => client.resumeSchedule(await findSchedule(client, text)),
    ({ name, nextRunAt }) => `${name}: next run ${relative(nextRunAt)}`,
  )
}

function run(): Command {
  const command = describedCommand('run', 'make one additional run at once; prints the id of its session', [
    'reprise schedules run nightly',
  ])
    .argument('<schedule>', SCHEDULE_ARGUMENT)
    .option('--client-key <key>', 'idempotency key: repeating the command with it makes no second run')
  return act<{ clientKey?: string }>(command, async ({ client, out }, { clientKey }, [text]) => {
    const made = await client.runScheduleNow(await findSchedule(client, text!), { clientKey })
    if (made.chainId === null)
      out.note(`${made.outcome.toLowerCase()}: ${made.reason ?? 'an earlier run is still running'}`)
    out.show(made, () => made.chainId ?? '')
    return made.outcome === 'SKIPPED' ? 1 : 0
  })
}

function remove(): Command {
  const command = describedCommand('delete', 'delete a schedule; the sessions that it created stay', [
    'reprise schedules delete nightly',
  ]).argument('<schedule>', SCHEDULE_ARGUMENT)
  return act(command, async ({ client, out }, _options, [text]) => {
    const scheduleId = await findSchedule(client, text!)
    await client.deleteSchedule(scheduleId)
    out.show({ scheduleId }, () => `${text}: deleted`)
  })
}

interface TimingOptions {
  cron?: string
  every?: number
  timezone?: string
  overlap?: ScheduleOverlap
  catchUp?: number
  /** Jitter of the schedule; the option `--jitter` belongs to the retry policy. */
  spread?: number
}

function addTimingOptions(command: Command): Command {
  return command
    .optionsGroup('Schedule:')
    .option(
      '--cron <expression>',
      "cron expression: '30 2 * * 1-5', or a name like @daily; if it restricts both the day of the month and the weekday, either is enough",
    )
    .option('--every <duration>', 'interval, instead of --cron: 15m, 2h', seconds)
    .option('--timezone <name>', 'time zone of --cron, like Europe/Berlin (default: UTC)')
    .addOption(
      choice(
        '--overlap <what>',
        'what happens to a run that is due while an earlier one is still active',
        API_ENUMS.ScheduleOverlap,
      ),
    )
    .option('--catch-up <n>', 'number of missed runs to make after a downtime (default: 1)', wholeNumber)
    .option('--spread <duration>', 'jitter: start each run up to this much later', seconds)
}

function timingInput({ cron, every, timezone, overlap, catchUp, spread }: TimingOptions) {
  return { cron, every, timeZone: timezone, overlap, catchUp, jitter: spread }
}

export function createSchedule(): Command {
  const command = describedCommand('create', 'create a schedule; prints its id', [
    "reprise schedules create nightly --cron '30 2 * * *' --timezone Europe/Berlin --retries 3 -- ~/nightly.sh",
    'reprise schedules create poll --every 15m --overlap queue -e MODE=live -- ~/work.sh',
  ])
    .argument('[name]', 'its name, unique in its project (default: the name of the program)')
    .argument('[command...]', 'command to run, after --')
  addTimingOptions(command)
    .option('--paused', 'create it paused: it makes no runs until it is resumed')
    .option('--creation-id <id>', 'idempotency key: repeating it returns the same schedule')
  return act<TimingOptions & SessionOptions & { paused?: boolean }>(
    addPolicyOptions(addTemplateOptions(command)),
    async (context, given, args) => {
      const { client, out } = context
      const { names, program } = programAfterDashes(command, args)
      if (program.length === 0) throw new UsageError('Give the command after --.')
      const [name = basename(program[0]!)] = names
      const options = await withUpload(context, { ...given, name: given.name ?? name })
      const { creationId, ...session } = sessionInput(options, program) as CreateSessionInput
      const input = { name, ...timingInput(options), paused: options.paused, creationId, session }
      const schedule = await client.createSchedule(input)
      out.note(schedule.paused ? 'it is paused; its times would be:' : `next run ${relative(schedule.nextRunAt)}:`)
      for (const time of schedule.nextRuns) out.note(`  ${instant(time)}`)
      out.show(schedule, () => schedule.scheduleId)
    },
  )
}

export function updateSchedule(): Command {
  const command = describedCommand(
    'update',
    'change a schedule; with a command, replace also the session that it runs',
    [
      "reprise schedules update nightly --cron '0 4 * * *'",
      'reprise schedules update poll --every 1h --overlap skip',
      'reprise schedules update poll --retries 5 --mem 2g -e MODE=live -- ~/work.sh --fast',
    ],
  )
    .argument('<schedule>', SCHEDULE_ARGUMENT)
    .argument('[command...]', 'new command to run, after --; its session then has only the options given here')
  addPolicyOptions(addTemplateOptions(addTimingOptions(command)))
  return act<TimingOptions & SessionOptions>(command, async (context, given, args) => {
    const { client, out } = context
    const { names, program } = programAfterDashes(command, args)
    const [text] = names
    if (text === undefined) throw new UsageError('Give the name of the schedule before --.')
    const timing = timingInput(given)
    const template = sessionInput(given, program)
    if (program.length === 0 && (given.upload !== undefined || isAnySet(template)))
      throw new UsageError(
        'The session of a schedule is replaced as a whole: give the command after --, too, with all its options.',
      )
    if (program.length === 0 && !isAnySet(timing)) throw new UsageError('Give something to change.')
    const scheduleId = await findSchedule(client, text)
    const change = {
      scheduleId,
      ...timing,
      ...(program.length > 0 && { session: await replaced(context, scheduleId, given, program) }),
    }
    const schedule = await client.updateSchedule(change)
    out.show(schedule, () => `${schedule.name}: ${timingOf(schedule)}, next run ${relative(schedule.nextRunAt)}`)
  })
}

/** Creates the session that a schedule runs from now on. The schedule stays in its project. */
async function replaced(context: ClientContext, scheduleId: string, given: SessionOptions, program: string[]) {
  const schedule = await context.client.schedule(scheduleId)
  const { project = schedule.project.name, name = schedule.name } = given
  const session = sessionInput(await withUpload(context, { ...given, project, name }), program) as CreateSessionInput
  // Without this, secret variables would stay.
  return { secretEnviron: [], ...session }
}

const isAnySet = (input: object) => Object.values(input).some((value) => value !== undefined)

/** Formats the timing: `30 2 * * * Europe/Berlin`, or `every 15 m`. */
export function timingOf({ cron, every, timeZone }: Pick<Schedule, 'cron' | 'every' | 'timeZone'>): string {
  return cron === null ? `every ${duration(every)}` : `${cron} ${timeZone}`
}

type ScheduleRun = Schedule['lastRuns'][number]

const runColumns: Column<ScheduleRun>[] = [
  { title: 'PLANNED', value: ({ plannedAt }) => instant(plannedAt) },
  { title: 'RUNS', value: ({ count }) => count, align: 'right' },
  { title: 'OUTCOME', value: (row) => row.session?.chain.state ?? row.outcome },
  { title: 'SESSION', value: ({ chainId }) => chainId, id: true },
  { title: 'WHY', value: ({ reason, askedBy }) => reason ?? (askedBy && `requested by ${askedBy}`), flexible: true },
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
      ['slots', session && slotList(session.resourceSlots)],
      ['policy', list(session?.retryPolicy.given.map((field) => policyField(session.retryPolicy, field)))],
      ['group', session?.resourceGroup],
      ['created', `${instant(schedule.createdAt)} by ${schedule.createdBy}`],
    ],
    terminal,
  )
  if (schedule.lastRuns.length === 0) return fields
  return `${fields}\n\n${await formatTable(schedule.lastRuns, runColumns, terminal)}`
}

type Policy = NonNullable<Schedule['session']>['retryPolicy']

/** Formats a field of a policy: `maxRetries 3`, `backoff EXPONENTIAL`, `2 rules`. */
function policyField(policy: Policy, field: string): string {
  if (field === 'rules') return `${policy.rules!.length} ${policy.rules!.length === 1 ? 'rule' : 'rules'}`
  if (field === 'eligibleCauses') return `${field} ${policy.eligibleCauses!.join('+')}`
  if (field === 'delays') return `${field} ${policy.delays?.map((delay) => duration(delay)).join('+') ?? 'none'}`
  return `${field} ${policy[field as Exclude<keyof Policy, 'rules' | 'eligibleCauses' | 'delays' | 'given'>]}`
}

function pauseOf({ paused, pausedAt, pausedBy, pauseReason }: Schedule): string | null {
  if (!paused) return null
  return [`${relative(pausedAt)} by ${pausedBy}`, pauseReason].filter(Boolean).join(': ')
}
