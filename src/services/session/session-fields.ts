import { z } from 'zod'
import {
  AGENT_GPUS_MAX,
  AGENTS_NAMED_MAX,
  ARGUMENT_BYTES_MAX,
  BATCH_TIMEOUT_SECONDS_MAX,
  PROGRESS_TIMEOUT_SECONDS_MIN,
  MAX_PENDING_SECONDS_MAX,
  COMMAND_ARGUMENTS_MAX,
  COMMAND_BYTES_MAX,
  ENVIRON_BYTES_MAX,
  ENVIRON_ENTRIES_MAX,
  EXECUTOR_OPTIONS_MAX,
  INPUTS_MAX,
  LABELS_MAX,
  MOUNTS_MAX,
  NAME_LENGTH_MAX,
  OUTPUT_PATTERN_LENGTH_MAX,
  OUTPUT_PATTERNS_MAX,
} from '../../domain/limits.ts'
import { changeNeed, GPU_SLOTS, type GpuChange, type GpuNeed } from '../../domain/gpu.ts'
import { parseAmount } from '../../domain/amounts.ts'
import { duration } from '../../domain/durations.ts'
import { parseRetryPolicy } from '../../domain/retry/policy/stored-policy.ts'
import type { RetryPolicy } from '../../domain/retry/policy/policy.ts'
import { isPlainText, isStorableText, PLAIN_TEXT, STORABLE_TEXT, UNSTORABLE } from '../../domain/storable-text.ts'
import { environBytes, execBytes, fitsArgument } from '../../domain/session/session-spec.ts'
import {
  EXECUTOR_OPTION_KEY,
  EXECUTOR_OPTION_KEY_FAULT,
  EXECUTOR_OPTION_VALUE,
  EXECUTOR_OPTION_VALUE_FAULT,
} from '../../domain/session/kernel-environment.ts'
import { mountAbove, mountPathFault, VOLUME_NAME, VOLUME_NAME_RULE } from '../../domain/session/mounts.ts'
import { outputPathFault, outputPatternFault, OUTPUTS_WHEN } from '../../domain/session/outputs.ts'
import { outputKeepDays, slotAmounts, text } from '../input/input-fields.ts'
import type { ResubmissionOverrides } from '../../domain/resubmission.ts'
import { mayReadEnviron } from '../access/authorize.ts'
import type { Viewer } from '../service-context.ts'

/** Fields of a session as clients give them, shared by all inputs. */

export const argument = z
  .string()
  .refine(isStorableText, STORABLE_TEXT)
  .refine(fitsArgument, `must be at most ${ARGUMENT_BYTES_MAX} bytes`)

export const commandOrNone = z
  .array(argument)
  .max(COMMAND_ARGUMENTS_MAX)
  .refine((words) => execBytes(words) <= COMMAND_BYTES_MAX, {
    message: `must be at most ${COMMAND_BYTES_MAX} bytes in all, 9 more for each argument`,
  })
export const command = commandOrNone.min(1)

/**
 * A session that requests no slots, or only memory, still takes one core, so that an agent runs no more such sessions
 * than it has cores.
 */
const DEFAULT_SLOTS: Readonly<Record<string, string>> = { cpu: '1' }

/** An amount of 0 counts as not requested: `cpu` of 0 requests no core. */
export const resourceSlots = slotAmounts
  .superRefine((amounts, context) => {
    const broken = GPU_SLOTS.find((slot) => Number(amounts[slot] ?? 0) > 1 && amounts[slot]!.includes('.'))
    if (broken === undefined) return
    const message = `${broken} must be a whole number, or a part of one GPU below 1`
    context.addIssue({ code: 'custom', message })
  })
  .transform((amounts) => {
    const isMemoryAlone = Object.keys(amounts).length === 1 && Object.hasOwn(amounts, 'mem')
    const requested = isMemoryAlone ? { ...amounts, ...DEFAULT_SLOTS } : amounts
    return Object.fromEntries(Object.entries(requested).filter(([, amount]) => amount !== '0'))
  })
  .default(DEFAULT_SLOTS)

const gpuMemory = z.union([z.string(), z.number()]).transform((written, context) => {
  const bytes = Number(parseAmount('mem', written) ?? 0)
  if (bytes > 0 && Number.isSafeInteger(bytes)) return bytes
  context.addIssue({ code: 'custom', message: 'must be bytes, which may end in k, m, g or t, like 40g' })
  return z.NEVER
})

/** The GPUs of each kernel: their number, a part of their model's name, and the memory of each. */
export const gpus = z.strictObject({
  count: z.int().min(1).max(AGENT_GPUS_MAX).nullish(),
  model: text(NAME_LENGTH_MAX).nullish(),
  memory: gpuMemory.nullish(),
})

/**
 * Adds the number of GPUs to the slots, and keeps what they must be like. Without a number, that of the slots counts,
 * or 1.
 */
export function foldGpus(
  slots: Record<string, string>,
  wanted: z.output<typeof gpus> | null | undefined,
): { resourceSlots: Record<string, string>; gpuNeed: GpuNeed | null } {
  if (wanted == null) return { resourceSlots: slots, gpuNeed: null }
  const { count } = wanted
  const isCounted = GPU_SLOTS.some((slot) => slots[slot] !== undefined)
  return {
    resourceSlots: isCounted ? slots : { ...slots, 'cuda.device': String(count ?? 1) },
    gpuNeed: changeNeed(null, wanted),
  }
}

/** A change of the resources of a session that exists, as clients give it. */
interface SizeChange {
  resourceSlots?: Record<string, string> | null | undefined
  gpus?: z.output<typeof gpus> | null | undefined
}

/** Moves the number of GPUs to the slots. In the rest, null removes a condition and a missing one stays as it is. */
export function foldGpuChange({ resourceSlots: amounts, gpus: wanted }: SizeChange): {
  resourceSlots?: Record<string, string>
  gpus?: GpuChange
} {
  const { count, ...change } = wanted ?? {}
  const slots = count == null ? amounts : { ...amounts, 'cuda.device': String(count) }
  return { ...(slots && { resourceSlots: slots }), ...(wanted && { gpus: change }) }
}

/** Checks that the number of GPUs is given once. */
export function checkGpus(
  { gpus: wanted, resourceSlots: slots }: { gpus?: unknown; resourceSlots?: unknown },
  context: z.RefinementCtx,
): void {
  const { count } = (wanted ?? {}) as { count?: unknown }
  const given = GPU_SLOTS.find((slot) => Object.hasOwn(slots ?? {}, slot))
  if (count == null || given === undefined) return
  context.addIssue({ code: 'custom', path: ['gpus', 'count'], message: `${given} in resourceSlots is their number` })
}

/** Converts [{ key, value }], with each key once, to { key: value } in the same order. */
function pairs(key: z.ZodType<string, string>, value: z.ZodType<string, string>, most: number) {
  return z
    .array(z.strictObject({ key, value }))
    .max(most)
    .superRefine(unique('key'))
    .transform((entries) => Object.fromEntries(entries.map((entry) => [entry.key, entry.value])))
}

export const labels = pairs(
  text(NAME_LENGTH_MAX),
  z.string().max(NAME_LENGTH_MAX).refine(isStorableText, UNSTORABLE).refine(isPlainText, PLAIN_TEXT),
  LABELS_MAX,
)

export const executorOptionKey = z.string().regex(EXECUTOR_OPTION_KEY, EXECUTOR_OPTION_KEY_FAULT)

export const executorOptions = pairs(
  executorOptionKey,
  z.string().regex(EXECUTOR_OPTION_VALUE, EXECUTOR_OPTION_VALUE_FAULT),
  EXECUTOR_OPTIONS_MAX,
)

/** Mounts sorted by path, because the order in which they are given does not matter. */
export const mounts = z
  .array(
    z.strictObject({
      volume: z.string().regex(VOLUME_NAME, VOLUME_NAME_RULE),
      path: z.string().superRefine((path, context) => {
        const fault = mountPathFault(path)
        if (fault !== null) context.addIssue(fault)
      }),
      readOnly: z
        .boolean()
        .nullish()
        .transform((readOnly) => readOnly ?? false),
    }),
  )
  .max(MOUNTS_MAX)
  .superRefine((all, context) => {
    for (const [index, { path }] of all.entries()) {
      const above = mountAbove(
        path,
        all.filter((_, other) => other !== index).map((other) => other.path),
      )
      if (above === undefined) continue
      context.addIssue({ code: 'custom', path: [index, 'path'], message: `another volume is mounted at ${above}` })
    }
  })
  .transform((all) => all.toSorted((a, b) => (a.path < b.path ? -1 : 1)))

/** A pattern in the syntax of `.gitignore`. */
export const outputPattern = z
  .string()
  .max(OUTPUT_PATTERN_LENGTH_MAX)
  .refine(isStorableText, STORABLE_TEXT)
  .superRefine((pattern, context) => {
    const fault = outputPatternFault(pattern)
    if (fault !== null) context.addIssue(fault)
  })

/** The order of patterns counts: the last one that matches decides. */
export const outputs = z.strictObject({
  paths: z.array(outputPattern).min(1).max(OUTPUT_PATTERNS_MAX),
  when: z
    .enum(OUTPUTS_WHEN)
    .nullish()
    .transform((when) => when ?? 'ALWAYS'),
  keepDays: outputKeepDays.nullish().transform((keepDays) => keepDays ?? null),
  inPlace: z
    .boolean()
    .nullish()
    .transform((inPlace) => inPlace ?? false),
})

/** Outputs of other sessions, each of which is also a dependency. */
export const inputs = z
  .array(
    z.strictObject({
      from: z.uuid().toLowerCase(),
      match: outputPattern.nullish().transform((match) => match ?? null),
      to: z
        .string()
        .refine((path) => outputPathFault(path) === null, 'must be relative to the working directory, without . and ..')
        .nullish()
        .transform((to) => to ?? null),
    }),
  )
  .max(INPUTS_MAX)

export const agentIds = z
  .array(z.uuid().toLowerCase())
  .max(AGENTS_NAMED_MAX)
  .transform((ids) => [...new Set(ids)])

const notOurs = (name: z.ZodString) =>
  name.refine((given) => !given.startsWith('REPRISE_'), "names that begin with REPRISE_ are the server's own")

export const variableName = notOurs(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be letters, digits and _, and not begin with a digit'),
)

const variablesNamed = (nameSchema: z.ZodType<string>) =>
  z
    .array(
      z
        .strictObject({
          name: nameSchema,
          value: argument,
        })
        .refine(({ name, value }) => fitsArgument(`${name}=${value}`), {
          path: ['value'],
          message: `name and value together must be at most ${ARGUMENT_BYTES_MAX - 1} bytes`,
        }),
    )
    .max(ENVIRON_ENTRIES_MAX)
    .superRefine(unique('name'))
    .refine((entries) => environBytes(entries) <= ENVIRON_BYTES_MAX, {
      message: `must be at most ${ENVIRON_BYTES_MAX} bytes in all, 10 more for each variable`,
    })

/** Programs of Java and .NET read variables with dots in their names. */
const plainName = notOurs(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_.]*$/, 'must be letters, digits, _ and ., and not begin with a digit'),
)

export const environ = variablesNamed(plainName)

/** Their names have no dots: a shell cannot export such a variable, so its value would pass through arguments. */
export const secretVariables = variablesNamed(variableName)

/** Lets comparisons of fields run even if other fields are invalid; the compared values may then be of any type. */
export function besideOtherFaults({ value }: { value: unknown }): boolean {
  return typeof value === 'object' && value !== null
}

/** Checks that no variable is both plain and secret, and that both kinds together fit into one environment. */
export function checkSecrets(
  { environ: plain, secretEnviron }: { environ?: unknown; secretEnviron?: unknown },
  context: z.RefinementCtx,
): void {
  if (!Array.isArray(plain) || !Array.isArray(secretEnviron) || secretEnviron.length === 0) return
  const names = new Set(plain.map((entry: { name?: unknown } | null) => entry?.name))
  for (const [index, entry] of secretEnviron.entries()) {
    if (!names.has((entry as { name?: unknown } | null)?.name)) continue
    context.addIssue({ code: 'custom', path: ['secretEnviron', index, 'name'], message: 'is also in environ' })
  }
  if (environBytes(plain) + environBytes(secretEnviron) > ENVIRON_BYTES_MAX) {
    const message = `must be at most ${ENVIRON_BYTES_MAX} bytes together with environ, 10 more for each variable`
    context.addIssue({ code: 'custom', path: ['secretEnviron'], message })
  }
  if (plain.length + secretEnviron.length > ENVIRON_ENTRIES_MAX) {
    const message = `must be at most ${ENVIRON_ENTRIES_MAX} variables together with environ`
    context.addIssue({ code: 'custom', path: ['secretEnviron'], message })
  }
}

export const batchTimeout = duration(z.number().positive().max(BATCH_TIMEOUT_SECONDS_MAX))

/** Seconds that an attempt may make no progress. */
export const progressTimeout = duration(z.number().min(PROGRESS_TIMEOUT_SECONDS_MIN).max(BATCH_TIMEOUT_SECONDS_MAX))

/** Seconds that a session may wait in PENDING. */
export const maxPending = duration(z.number().positive().max(MAX_PENDING_SECONDS_MAX))

export const priority = z.int().min(0).max(100)

export const retryPolicy = z.unknown().transform((input, context): Partial<RetryPolicy> => {
  const parsed = parseRetryPolicy(input ?? {})
  if ('policy' in parsed) return parsed.policy
  for (const { path, message } of parsed.issues) {
    context.addIssue({ code: 'custom', path: path === '' ? [] : path.split('.'), message })
  }
  return {}
})

export function unique<Key extends string>(key: Key) {
  return (entries: readonly Record<Key, string>[], context: z.RefinementCtx) => {
    const seen = new Set<string>()
    for (const [index, entry] of entries.entries()) {
      if (seen.has(entry[key])) context.addIssue({ code: 'custom', path: [index, key], message: 'must be given once' })
      seen.add(entry[key])
    }
  }
}

/** Replaces a value that the viewer may not read. */
const REDACTED = '[redacted]'

export interface ShownVariable {
  name: string
  value: string
  /** Set if `value` replaces the real value. */
  redacted?: true
}

/** The environment as this viewer may read it: the names, with values or their replacement. */
export function shownEnviron(
  viewer: Pick<Viewer, 'role'>,
  variables: readonly { name: string; value: string }[],
): ShownVariable[] {
  return mayReadEnviron(viewer) ? [...variables] : redactedEnviron(variables)
}

function redactedEnviron(variables: readonly { name: string }[]): ShownVariable[] {
  return variables.map(({ name }) => ({ name, value: REDACTED, redacted: true }))
}

/** The overrides of a resubmission as this viewer may read them. */
export function shownOverrides(viewer: Pick<Viewer, 'role'>, overrides: object): object {
  return mayReadEnviron(viewer) ? withoutSecrets(overrides) : auditedOverrides(overrides)
}

/**
 * The overrides without values of the environment, because the audit log is read by more people than may read these
 * values.
 */
export function auditedOverrides(overrides: ResubmissionOverrides): object {
  const { environ: variables } = overrides
  return withoutSecrets(variables === undefined ? overrides : { ...overrides, environ: redactedEnviron(variables) })
}

/** Removes secret variables, because no client may read them, not even encrypted. */
function withoutSecrets(overrides: Omit<ResubmissionOverrides, 'environ'>): object {
  const { secretEnviron } = overrides
  return secretEnviron === undefined ? overrides : { ...overrides, secretEnviron: redactedEnviron(secretEnviron) }
}

/**
 * A changed or overridden field as this viewer may read it: for a variable, whether it changed, was added or removed.
 */
export function shownField(viewer: Pick<Viewer, 'role'>, field: string, value: string | null): string | null {
  if (value === null) return null
  const readable = field.startsWith('environ.') ? mayReadEnviron(viewer) : !field.startsWith('secretEnviron.')
  return readable ? value : REDACTED
}
