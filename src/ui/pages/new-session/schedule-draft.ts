import type { CreateSessionInput, UpdateScheduleInput } from '../../../client/schema-types.generated.ts'
import { draftOfPolicy, untypedOf } from '../../policy/policy-draft.ts'
import type { Draft } from '../../policy/policy-fields.ts'
import { slotWords } from '../../words/numbers.ts'
import type { UiEditedScheduleFragment } from './new-session.generated.ts'
import { AGENT_FIELDS, mountField, readSession, type SessionGiven } from './session-draft.ts'
import { shellQuoted } from './session-text.ts'
import type { TimingGiven } from './timing.ts'

type Session = NonNullable<UiEditedScheduleFragment['session']>

/** The field that is set where the present secrets are to be removed. */
export const WITHOUT_SECRETS = 'withoutSecrets'

/** The texts of the form for a schedule. */
export function draftOfSchedule(schedule: UiEditedScheduleFragment): Draft {
  const { name, cron, every, timeZone, overlap, catchUp, jitter, project, session } = schedule
  return texts({
    scheduleName: name,
    cron,
    every: seconds(every),
    timeZone: cron === null ? null : timeZone,
    overlap: overlap === 'SKIP' ? null : overlap,
    catchUp,
    spread: jitter === 0 ? null : seconds(jitter),
    project: project.name,
    ...(session && textsOfSession(session)),
  })
}

type Texts = Readonly<Record<string, string | number | null | undefined>>

function texts(given: Texts): Draft {
  const entries = Object.entries(given).map(([name, value]) => [name, value == null ? '' : String(value)])
  return Object.fromEntries(entries.filter(([, text]) => text !== '')) as Draft
}

function textsOfSession(session: Session): Texts {
  const [program, flag, script] = session.command
  const isShell = session.command.length === 3 && program === 'sh' && flag === '-c'
  const keyed = (list: Session['labels']) => list.map(({ key, value }) => `${key}=${value}`).join('\n')
  const amountOf = (wanted: string) => {
    const found = session.resourceSlots.find(({ slot }) => slot === wanted)
    return found && slotWords(wanted, found.amount)
  }
  const others = session.resourceSlots.filter(({ slot }) => !['cpu', 'mem', 'cuda.device'].includes(slot))
  return {
    command: isShell ? script : session.command.map(shellQuoted).join(' '),
    shell: isShell ? 'true' : null,
    name: session.name,
    image: session.image,
    env: session.environ.map(({ name, value }) => `${name}=${value}`).join('\n'),
    cpu: amountOf('cpu'),
    mem: amountOf('mem'),
    gpus: amountOf('cuda.device'),
    gpuModel: session.gpus?.model,
    gpuMemory: session.gpus?.memory && slotWords('mem', session.gpus.memory),
    slots: others.map(({ slot, amount }) => `${slot}=${amount}`).join('\n'),
    group: session.resourceGroup,
    priority: session.priority,
    timeout: seconds(session.batchTimeout),
    gpuIdle: seconds(session.gpuIdleTimeout),
    onHang: session.onHang.slice(0, 2).join(' ') === 'sh -c' ? session.onHang[2] : null,
    neverRunTwice: session.neverRunTwice ? 'yes' : null,
    stopGrace: seconds(session.stopGrace),
    maxPending: seconds(session.maxPending),
    type: session.sessionType === 'BATCH' ? null : session.sessionType,
    clusterSize: session.clusterSize === 1 ? null : session.clusterSize,
    clusterMode: session.clusterMode === 'SINGLE_NODE' ? null : session.clusterMode,
    outputs: session.outputs?.paths.join('\n'),
    outputsWhen: session.outputs?.when === 'ALWAYS' ? null : session.outputs?.when,
    outputsKeepDays: session.outputs?.keepDays,
    outputsInPlace: session.outputs?.inPlace === true ? 'yes' : null,
    concurrencyKey: session.concurrencyKey,
    concurrencyLimit: session.concurrencyLimit,
    labels: keyed(session.labels),
    agentLabels: keyed(session.agentLabels),
    executorOptions: keyed(session.executorOptions),
    ...Object.fromEntries(AGENT_FIELDS.map((field) => [field, session[field].join('\n')])),
    ...Object.fromEntries(
      session.mounts.flatMap(({ volume, path, readOnly }, index) => [
        [mountField(index, 'volume'), volume],
        [mountField(index, 'path'), path],
        [mountField(index, 'readOnly'), readOnly ? 'true' : null],
      ]),
    ),
    ...draftOfPolicy(session.retryPolicy),
  }
}

function seconds(value: number | null): string | null {
  return value === null ? null : `${value}s`
}

interface Edited {
  schedule: UiEditedScheduleFragment
  /** The draft of that schedule, and the present one. */
  before: Draft
  draft: Draft
}

/**
 * The input of an update. An empty field of the timing has its default, as at the creation. The session is sent only
 * if some of it has changed; its other parts are repeated as they were read.
 */
export function updateOf(
  { schedule, before, draft }: Edited,
  { input: { name, cron, every, timeZone, overlap, catchUp, jitter } }: TimingGiven,
  { input }: SessionGiven,
): UpdateScheduleInput {
  const session = changedSession({ schedule, before, draft }, input)
  return {
    scheduleId: schedule.scheduleId,
    name,
    ...(cron == null ? { every } : { cron }),
    timeZone: timeZone ?? 'UTC',
    overlap: overlap ?? 'SKIP',
    catchUp: catchUp ?? 1,
    jitter: jitter ?? 0,
    ...(session && { session }),
  }
}

function changedSession({ schedule, before, draft }: Edited, now: CreateSessionInput): CreateSessionInput | null {
  const was = readSession(before).input
  const fields = new Set([...Object.keys(was), ...Object.keys(now)]) as Set<keyof CreateSessionInput>
  const changed = [...fields].filter((field) => JSON.stringify(was[field]) !== JSON.stringify(now[field]))
  const isWithoutSecrets = draft[WITHOUT_SECRETS] !== undefined && now.secretEnviron === undefined
  if (schedule.session === null) return now
  if (changed.length === 0 && !isWithoutSecrets) return null
  const repeated = inputOf(schedule.session)
  // A field that is empty now has its default.
  for (const field of changed) delete repeated[field]
  const policy = { ...untypedOf(schedule.session.retryPolicy), ...now.retryPolicy }
  return {
    ...repeated,
    ...(Object.fromEntries(changed.map((field) => [field, now[field]])) as Partial<CreateSessionInput>),
    name: now.name,
    command: now.command,
    project: schedule.project.name,
    retryPolicy: policy,
    ...(isWithoutSecrets && { secretEnviron: [] }),
  }
}

/** The session as an input. Secret variables are left out, so that they stay. */
function inputOf(session: Session): Partial<CreateSessionInput> {
  const { secretEnviron: _secret, retryPolicy: _policy, ...input } = session
  return input
}
