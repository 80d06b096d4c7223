import { createHash } from 'node:crypto'
import { z } from 'zod'
import { duration } from '../../domain/durations.ts'
import type { GpuNeed } from '../../domain/gpu.ts'
import type { ValidationIssue } from '../../domain/errors.ts'
import {
  CLUSTER_SIZE_MAX,
  CONCURRENCY_KEY_LENGTH_MAX,
  CONCURRENCY_LIMIT_MAX,
  CREATION_ID_LENGTH_MAX,
  DEPENDENCIES_MAX,
  GROUP_TIMEOUT_MAX_SECONDS,
  NAME_LENGTH_MAX,
} from '../../domain/limits.ts'
import type { SealedVariable } from '../../domain/session/kernel-environment.ts'
import { isClientsCreationId, NOT_DERIVED, PRIORITY_DEFAULT } from '../../domain/session/session-spec.ts'
import { isStorableMoment, STORABLE_MOMENT } from '../../domain/storable-text.ts'
import {
  agentIds,
  batchTimeout,
  besideOtherFaults,
  checkGpus,
  checkSecrets,
  command,
  commandOrNone,
  environ,
  foldGpus,
  gpus,
  secretVariables,
  executorOptions,
  inputs,
  labels,
  maxPending,
  mounts,
  outputs,
  priority,
  progressTimeout,
  resourceSlots,
  retryPolicy,
} from './session-fields.ts'
import { codeSha256 } from '../code/upload-code.ts'
import { text } from '../input/input-fields.ts'
import { canonicalJson, issuesOf, withoutNulls } from '../input/parse-input.ts'

/** A session as a client gives it. Everything but name and command has a default; null counts as missing. */
export type CreateSessionInput = Pick<Written, 'name' | 'command'> & {
  [Field in Exclude<keyof Written, 'name' | 'command'>]?: Written[Field] | null
}
type Written = z.input<typeof createSessionSchema>
export type ParsedCreateSession = Omit<z.output<typeof createSessionSchema>, 'gpus' | 'progressTimeout'> & {
  gpuNeed: GpuNeed | null
}

const startsAt = z
  .union([z.date(), z.iso.datetime({ offset: true })])
  .transform((time) => (typeof time === 'string' ? new Date(time) : time))
  .refine(isStorableMoment, STORABLE_MOMENT)

const fields = z.strictObject({
  name: text(NAME_LENGTH_MAX),
  sessionType: z.enum(['BATCH', 'INTERACTIVE', 'INFERENCE']).default('BATCH'),
  project: text(NAME_LENGTH_MAX).default('default'),
  resourceGroup: text(NAME_LENGTH_MAX).default('default'),
  image: text(NAME_LENGTH_MAX).nullish(),
  command,
  codeSha256: codeSha256.nullish(),
  environ: environ.default([]),
  secretEnviron: secretVariables.default([]),
  resourceSlots,
  gpus: gpus.nullish(),
  clusterSize: z.int().min(1).max(CLUSTER_SIZE_MAX).default(1),
  clusterMode: z.enum(['SINGLE_NODE', 'MULTI_NODE']).default('SINGLE_NODE'),
  batchTimeout: batchTimeout.nullish(),
  gpuIdleTimeout: batchTimeout.nullish(),
  progressTimeout: progressTimeout.nullish(),
  onHang: commandOrNone.optional(),
  neverRunTwice: z.boolean().optional(),
  stopGrace: duration(z.number().min(0).max(GROUP_TIMEOUT_MAX_SECONDS)).nullish(),
  maxPending: maxPending.nullish(),
  startsAt: startsAt.nullish(),
  priority: priority.default(PRIORITY_DEFAULT),
  labels: labels.default({}),
  allowAgents: agentIds.default([]),
  avoidAgents: agentIds.default([]),
  excludeAgents: agentIds.default([]),
  agentLabels: labels.default({}),
  executorOptions: executorOptions.default({}),
  mounts: mounts.default([]),
  outputs: outputs.nullish(),
  inputs: inputs.default([]),
  dependsOn: z.array(z.uuid().toLowerCase()).max(DEPENDENCIES_MAX).default([]),
  concurrencyKey: text(CONCURRENCY_KEY_LENGTH_MAX).nullish(),
  concurrencyLimit: z.int().min(1).max(CONCURRENCY_LIMIT_MAX).nullish(),
  creationId: text(CREATION_ID_LENGTH_MAX).refine(isClientsCreationId, NOT_DERIVED).nullish(),
  retryPolicy: retryPolicy.prefault({}),
})

/** The input of `createSession`, with GraphQL's names. */
export const createSessionSchema = fields
  .superRefine(checkSecrets, { when: besideOtherFaults })
  .superRefine(checkGpus, { when: besideOtherFaults })
  .superRefine(checkConcurrency, { when: besideOtherFaults })
  .superRefine(checkNeverTwice, { when: besideOtherFaults })

function checkConcurrency(
  { concurrencyKey, concurrencyLimit }: { concurrencyKey?: unknown; concurrencyLimit?: unknown },
  context: z.RefinementCtx,
): void {
  if (concurrencyLimit == null || concurrencyKey != null) return
  context.addIssue({
    code: 'custom',
    path: ['concurrencyLimit'],
    message: 'Only together with concurrencyKey, whose limit it is',
  })
}

function checkNeverTwice(
  { neverRunTwice, retryPolicy: policy }: { neverRunTwice?: unknown; retryPolicy?: { maxRetries?: number } },
  context: z.RefinementCtx,
): void {
  if (neverRunTwice !== true || (policy?.maxRetries ?? 0) === 0) return
  const message = 'Must be 0 for a session that never runs twice'
  context.addIssue({ code: 'custom', path: ['retryPolicy', 'maxRetries'], message })
}

/** Reports all faults at once. Null counts as missing. */
export function parseCreateSession(input: unknown): { value: ParsedCreateSession } | { issues: ValidationIssue[] } {
  const parsed = createSessionSchema.safeParse(withoutNulls(input))
  if (parsed.success) {
    const { gpus: wanted, progressTimeout: limit = null, ...given } = parsed.data
    const policy = limit === null ? given.retryPolicy : { ...given.retryPolicy, progressTimeout: limit }
    return { value: withLimit({ ...given, retryPolicy: policy, ...foldGpus(given.resourceSlots, wanted) }) }
  }
  return { issues: issuesOf(parsed.error) }
}

/** The limit of a concurrency key is 1 unless the client gives one. */
function withLimit(value: ParsedCreateSession): ParsedCreateSession {
  return value.concurrencyKey == null ? value : { ...value, concurrencyLimit: value.concurrencyLimit ?? 1 }
}

/** 128 bits are enough, because a digest only tells a repeated request from a different one. */
const DIGEST_BYTES = 16

/**
 * Fingerprint of a client's input, equal for inputs that request the same: defaults of fields are filled in, amounts,
 * ids and times are normalised, and the order of variables, labels, agents, dependencies and slots does not count. The
 * policy is compared as given, so that defaults of projects may change between two requests. Fields without a value are
 * omitted, so that a field added by a later release changes no digest.
 */
export function inputDigest(input: Asked, secrets: readonly SealedVariable[]): string {
  const { allowAgents, avoidAgents, excludeAgents, dependsOn } = input
  const asked = Object.entries({
    ...input,
    creationId: null,
    environ: input.environ.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    // A digest without a key would reveal whether a guess is right.
    secretEnviron: secrets.map(({ name, digest }) => ({ name, digest })).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    allowAgents: allowAgents?.toSorted(),
    avoidAgents: avoidAgents?.toSorted(),
    excludeAgents: excludeAgents?.toSorted(),
    dependsOn: [...new Set(dependsOn)].toSorted(),
    startsAt: input.startsAt?.toISOString(),
  }).filter(([, value]) => !isEmpty(value))
  const hash = createHash('sha256').update(canonicalJson(Object.fromEntries(asked)))
  return hash.digest().subarray(0, DIGEST_BYTES).toString('base64url')
}

/** The parsed input of a session or of a deployment, which has fewer of these fields. */
type Asked = Pick<ParsedCreateSession, 'environ'> &
  Partial<Pick<ParsedCreateSession, 'allowAgents' | 'avoidAgents' | 'excludeAgents' | 'dependsOn' | 'startsAt'>>

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
