import type { KernelUsage, UsageSource } from '../../../domain/agent/kernel-report.ts'
import type { ExitSignal } from '../../../domain/session/failure.ts'
import type { Mount } from '../../../domain/session/mounts.ts'
import { mayReadEnviron } from '../../../services/access/authorize.ts'
import type { ShownCheckpoint } from '../../../services/session/read-sessions.ts'
import { shownEnviron } from '../../../services/session/session-fields.ts'
import { builder } from '../../builder.ts'

/**
 * Defines small values of sessions that other types have as well. The database's JSON objects become lists of pairs
 * here, because GraphQL can type those.
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
      description: 'Whether the value is hidden from the token of this request.',
      resolve: (_variable, _args, { viewer }) => !mayReadEnviron(viewer),
    }),
  }),
})

export const ResourceSlot = builder.objectRef<{ slot: string; amount: string }>('ResourceSlot').implement({
  description: 'An amount of one resource, per kernel.',
  fields: (t) => ({
    slot: t.exposeString('slot', { description: 'The resource: `cpu`, `mem`, `cuda.device`, …' }),
    amount: t.exposeString('amount', { description: 'The amount, as a plain decimal; bytes for memory.' }),
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
  description: 'An option for the executor, such as a Slurm partition.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'Its name: `partition`, `qos`, …' }),
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
    slot: t.string({ required: true, description: 'The resource: `cpu`, `mem`, `cuda.device`, …' }),
    amount: t.string({
      required: true,
      description: 'The amount, as a decimal: `0.5`, `2`. Bytes take k, m, g, t (binary): `2g`, `512 MiB`.',
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
  description: 'An option for the executor, such as a Slurm partition.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Its name: `partition`, `qos`, …' }),
    value: t.string({ required: true, description: 'Its value: letters, digits and _ . , : & | * ( ) [ ] -.' }),
  }),
})

export const MountType = builder.objectRef<Mount>('Mount').implement({
  description: 'A volume that kernels mount.',
  fields: (t) => ({
    volume: t.exposeString('volume', { description: 'Name of the volume.' }),
    path: t.exposeString('path', { description: 'Its path in the kernel.' }),
    readOnly: t.exposeBoolean('readOnly', { description: 'Whether it is read-only for kernels.' }),
  }),
})

export const MountInput = builder.inputType('MountInput', {
  description: 'A volume that kernels mount.',
  fields: (t) => ({
    volume: t.string({ required: true, description: 'Name of the volume, as in `volumes`.' }),
    path: t.string({
      required: true,
      description:
        'Its path in the kernel: absolute, of letters, digits and _ . @ + -, and not within /work, /chain, /tmp, /proc, /sys, /dev or another mount.',
    }),
    readOnly: t.boolean({ defaultValue: false, description: 'True: read-only for kernels.' }),
  }),
})

const UsageSourceEnum = builder.enumType('UsageSource', {
  description: 'How the figures of a usage were measured.',
  values: {
    CGROUP: {
      description: 'The operating system measured each kernel as a whole, including files that it kept in memory.',
    },
    PROCESSES: {
      description:
        'Some figures are sums over the processes of a kernel and not exact: memory is the resident memory seen while it ran, with shared pages counted for each process; CPU time lacks processes that no parent waited for.',
    },
  } satisfies Record<UsageSource, object>,
})

export const UsageType = builder.objectRef<KernelUsage>('Usage').implement({
  description:
    'Used resources, as reported by the agent. A figure is null if it is not known: the agent was lost, or the program ended before it was measured.',
  fields: (t) => ({
    peakMemoryBytes: t.expose('peakMemoryBytes', {
      type: 'Bytes',
      nullable: true,
      description: 'Peak memory of a kernel with all its processes, in bytes.',
    }),
    cpuSeconds: t.exposeFloat('cpuSeconds', {
      nullable: true,
      description: 'CPU time, user and system, in seconds; for a session, the sum over its kernels.',
    }),
    wallSeconds: t.exposeFloat('wallSeconds', {
      nullable: true,
      description:
        "Seconds from the start of the program until its last process had ended, by the agent's clock; for a session, the longest of its kernels.",
    }),
    source: t.expose('source', { type: UsageSourceEnum, description: 'How the figures were measured.' }),
  }),
})

export const ExitSignalType = builder.objectRef<ExitSignal>('ExitSignal').implement({
  description:
    'A signal that ended a program, derived from the exit code 128 plus its number. A program may also exit with such a code by itself.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, such as SIGKILL.' }),
    number: t.exposeInt('number', { description: 'Its number on Linux.' }),
  }),
})

const CheckpointStateEnum = builder.enumType('CheckpointState', {
  description: 'State of the checkpoint of earlier attempts when a session started.',
  values: {
    NONE: { description: 'There was no checkpoint.' },
    HERE: { description: "It was in the session's directory." },
    FETCHED: { description: 'It was copied there from elsewhere.' },
    MISSING: { description: 'There was one, but it was not available.' },
  } satisfies Record<ShownCheckpoint['state'], object>,
})

export const CheckpointType = builder.objectRef<ShownCheckpoint>('Checkpoint').implement({
  description: 'The checkpoint that earlier attempts of its chain left for a session.',
  fields: (t) => ({
    state: t.expose('state', { type: CheckpointStateEnum, description: 'Whether the session had it when it started.' }),
    fromAttempt: t.exposeInt('fromAttempt', {
      nullable: true,
      description: 'The attempt that left it; null if there was none, or the attempt is not known.',
    }),
    bytes: t.expose('bytes', {
      type: 'Bytes',
      nullable: true,
      description:
        'The size of its files in bytes; null if it is not known, for example because there are very many files.',
    }),
    store: t.exposeString('store', {
      nullable: true,
      description: 'Id of the directory that it is stored in; agents that share the directory have the same id.',
    }),
    publishedAt: t.expose('publishedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When it was recorded: at the end of the attempt that left it, or when its program published it. For a copy, when the copy was made.',
    }),
    note: t.exposeString('note', { nullable: true, description: 'Why it was not available, in words.' }),
  }),
})
