import type { KernelUsage, UsageSource } from '../../../domain/agent/kernel-report.ts'
import type { ExitSignal } from '../../../domain/session/failure.ts'
import type { Mount } from '../../../domain/session/mounts.ts'
import { mayReadEnviron } from '../../../services/access/authorize.ts'
import type { ShownCheckpoint } from '../../../services/session/read-sessions.ts'
import { shownEnviron } from '../../../services/session/session-fields.ts'
import { builder } from '../../builder.ts'

/**
 * Small values of sessions that other types have as well. JSON objects of the database are lists of pairs here, which
 * GraphQL can type.
 */

export const EnvVar = builder.objectRef<{ name: string; value: string }>('EnvVar').implement({
  description: 'One variable of the environment.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    value: t.string({
      description: 'Its value; `[redacted]` for a VIEWER.',
      resolve: (variable, _args, { viewer }) => shownEnviron(viewer, [variable])[0]!.value,
    }),
    redacted: t.boolean({
      description: 'Whether the value is withheld from the token in use.',
      resolve: (_variable, _args, { viewer }) => !mayReadEnviron(viewer),
    }),
  }),
})

export const ResourceSlot = builder.objectRef<{ slot: string; amount: string }>('ResourceSlot').implement({
  description: 'An amount of one resource, per kernel.',
  fields: (t) => ({
    slot: t.exposeString('slot', { description: 'Which: `cpu`, `mem`, `cuda.device`, …' }),
    amount: t.exposeString('amount', { description: 'How much, as a plain decimal; bytes for memory.' }),
  }),
})

export const Label = builder.objectRef<{ key: string; value: string }>('Label').implement({
  description: 'A label given by the client.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'Its key, unique on the session.' }),
    value: t.exposeString('value', { description: 'Its value.' }),
  }),
})

export const ExecutorOption = builder.objectRef<{ key: string; value: string }>('ExecutorOption').implement({
  description: 'What executors are told in their own terms.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'Which: `partition`, `qos`, …' }),
    value: t.exposeString('value', { description: 'Its value.' }),
  }),
})

export function slotsOf(amounts: unknown): { slot: string; amount: string }[] {
  return Object.entries(amounts as Record<string, string>).map(([slot, amount]) => ({ slot, amount }))
}

/** Converts labels or executor options. */
export function labelsOf(labels: unknown): { key: string; value: string }[] {
  return Object.entries(labels as Record<string, string>).map(([key, value]) => ({ key, value }))
}

export const EnvVarInput = builder.inputType('EnvVarInput', {
  description: 'One variable of the environment.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name.' }),
    value: t.string({ required: true, description: 'Its value.' }),
  }),
})

export const ResourceSlotInput = builder.inputType('ResourceSlotInput', {
  description: 'An amount of one resource, per kernel.',
  fields: (t) => ({
    slot: t.string({ required: true, description: 'Which: `cpu`, `mem`, `cuda.device`, …' }),
    amount: t.string({
      required: true,
      description: 'How much, as a decimal: `0.5`, `2`; bytes take k, m, g, t (binary): `2g`, `512 MiB`.',
    }),
  }),
})

export const LabelInput = builder.inputType('LabelInput', {
  description: 'A label given by the client.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Its key, unique on the session.' }),
    value: t.string({ required: true, description: 'Its value.' }),
  }),
})

export const ExecutorOptionInput = builder.inputType('ExecutorOptionInput', {
  description: 'What executors are told in their own terms.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Which: `partition`, `qos`, …' }),
    value: t.string({ required: true, description: 'Its value: letters, digits and _ . , : & | * ( ) [ ] -.' }),
  }),
})

export const MountType = builder.objectRef<Mount>('Mount').implement({
  description: 'A volume of agents, as kernels see it.',
  fields: (t) => ({
    volume: t.exposeString('volume', { description: 'The name that agents have for it.' }),
    path: t.exposeString('path', { description: 'Where kernels find it.' }),
    readOnly: t.exposeBoolean('readOnly', { description: 'Kernels cannot change what is in it.' }),
  }),
})

export const MountInput = builder.inputType('MountInput', {
  description: 'A volume of agents for kernels.',
  fields: (t) => ({
    volume: t.string({ required: true, description: 'The name that agents have for it, as in `volumes`.' }),
    path: t.string({
      required: true,
      description:
        'Where kernels find it: absolute, of letters, digits and _ . @ + -, not within /work, /chain, /tmp, /proc, /sys, /dev or another one.',
    }),
    readOnly: t.boolean({ defaultValue: false, description: 'Kernels are not to change what is in it.' }),
  }),
})

const UsageSourceEnum = builder.enumType('UsageSource', {
  description: 'Where the figures of a usage are from.',
  values: {
    CGROUP: {
      description: 'The operating system counted each kernel as a whole, files that it kept in memory included.',
    },
    PROCESSES: {
      description:
        'Some were put together from the processes of a kernel: memory is what was seen resident while it ran, shared pages for each process, and CPU time leaves out what nobody waited for. They are not exact.',
    },
  } satisfies Record<UsageSource, object>,
})

export const UsageType = builder.objectRef<KernelUsage>('Usage').implement({
  description:
    'What was used, by the word of the agent. A figure is null if it is not known: the agent was lost, or the program ended before anybody looked.',
  fields: (t) => ({
    peakMemoryBytes: t.exposeFloat('peakMemoryBytes', {
      nullable: true,
      description: 'The most memory that a kernel held at once, with all its processes, in bytes.',
    }),
    cpuSeconds: t.exposeFloat('cpuSeconds', {
      nullable: true,
      description: 'CPU time, user and system, in seconds; of a session, of all its kernels together.',
    }),
    wallSeconds: t.exposeFloat('wallSeconds', {
      nullable: true,
      description:
        'From the start of the program until nothing of it was left, by the agent’s clock, in seconds; of a session, of the kernel that took longest.',
    }),
    source: t.expose('source', { type: UsageSourceEnum, description: 'Where the figures are from.' }),
  }),
})

export const ExitSignalType = builder.objectRef<ExitSignal>('ExitSignal').implement({
  description:
    'A signal that ended a program, known by its exit code of 128 and the number. A program may also end with such a code by itself.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, such as SIGKILL.' }),
    number: t.exposeInt('number', { description: 'Its number on Linux.' }),
  }),
})

const CheckpointStateEnum = builder.enumType('CheckpointState', {
  description: 'What a session found of the checkpoint of earlier attempts.',
  values: {
    NONE: { description: 'There was none.' },
    HERE: { description: 'It was in its directory.' },
    FETCHED: { description: 'It was brought there from elsewhere.' },
    MISSING: { description: 'There was one, and it could not be had.' },
  } satisfies Record<ShownCheckpoint['state'], object>,
})

export const CheckpointType = builder.objectRef<ShownCheckpoint>('Checkpoint').implement({
  description: 'What earlier attempts of its chain left for a session.',
  fields: (t) => ({
    state: t.expose('state', { type: CheckpointStateEnum, description: 'Whether it had it.' }),
    fromAttempt: t.exposeInt('fromAttempt', {
      nullable: true,
      description: 'The attempt that left it; null if there was none, or nobody knows.',
    }),
    bytes: t.exposeFloat('bytes', {
      nullable: true,
      description: 'The size of its files; null if it is not known, also of very many files.',
    }),
    store: t.exposeString('store', {
      nullable: true,
      description: 'Identifies the directory in which it is; agents that share it have the same.',
    }),
    publishedAt: t.expose('publishedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When it was recorded: at the end of the attempt that left it, or when its program published it. Of one that was fetched, when the copy was made.',
    }),
    note: t.exposeString('note', { nullable: true, description: 'Why it is missing, in words.' }),
  }),
})
