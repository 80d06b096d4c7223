import { RepriseError } from '../../../domain/errors.ts'
import type { CreateSessionInput as CreateSession } from '../../../services/session/create-session-input.ts'
import { createSession, createSessions } from '../../../services/session/create-sessions.ts'
import { builder } from '../../builder.ts'
import {
  ConflictError,
  errorShape,
  ForbiddenError,
  NotFoundError,
  QuotaExceededError,
  ValidationError,
  type ErrorShape,
} from '../error/error.type.ts'
import { asResult, typeOf } from '../error/result.ts'
import { sessionPayload, type SessionPayload } from './session-payload.ts'
import { RetryPolicyInput } from '../retry/retry-policy.types.ts'
import { EnvVarInput, ExecutorOptionInput, LabelInput, ResourceSlotInput } from './pairs.inputs.ts'
import { MountInput } from './mount.type.ts'
import { ClusterModeEnum, SessionTypeEnum } from './session.enums.ts'

export const CreateSessionInput = builder.inputType('CreateSessionInput', {
  description: 'What to run, and how.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name; need not be unique.' }),
    sessionType: t.field({ type: SessionTypeEnum, defaultValue: 'BATCH', description: 'What it is for.' }),
    project: t.string({ defaultValue: 'default', description: 'Name of the project.' }),
    resourceGroup: t.string({ defaultValue: 'default', description: 'Name of the resource group to run in.' }),
    image: t.string({
      description:
        'Container image of its kernels; for agents without containers, a preset of environment and interpreter.',
    }),
    command: t.stringList({ required: true, description: 'The program and its arguments: `["sh", "-c", "exit 3"]`.' }),
    codeSha256: t.string({
      description:
        'SHA-256 of code that was uploaded for the project (`PUT /v2/code/{sha256}`): its kernels find the files in their working directory.',
    }),
    environ: t.field({
      type: [EnvVarInput],
      description: 'Environment of its kernels, in addition to the variables set by Reprise.',
    }),
    secretEnviron: t.field({
      type: [EnvVarInput],
      description: 'Variables whose values are encrypted, handed to kernels that start, and read by nobody else.',
    }),
    resourceSlots: t.field({ type: [ResourceSlotInput], description: 'Resources of each kernel.' }),
    clusterSize: t.int({ defaultValue: 1, description: 'How many kernels.' }),
    clusterMode: t.field({ type: ClusterModeEnum, description: 'How they are spread over agents.' }),
    batchTimeout: t.float({ description: 'Batch timeout: seconds that user code may run.' }),
    startsAt: t.field({ type: 'DateTime', description: 'Earliest start time.' }),
    priority: t.int({ defaultValue: 10, description: '0 to 100; the higher goes first.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels of your choice.' }),
    allowAgents: t.field({ type: ['UUID'], description: 'Only these agents may run it, and its retries; none: all.' }),
    avoidAgents: t.field({ type: ['UUID'], description: 'Agents to avoid: used only if no other has free capacity.' }),
    excludeAgents: t.field({
      type: ['UUID'],
      description: 'Agents that must not run it, nor its retries: it waits if no other is left.',
    }),
    agentLabels: t.field({ type: [LabelInput], description: 'An agent must have all of these labels to run it.' }),
    executorOptions: t.field({
      type: [ExecutorOptionInput],
      description:
        "What the executor is told beside the resource group's own options, as the `partition` of a Slurm cluster; only keys of the group's `allowedExecutorOptions`. Retries and resubmissions keep them.",
    }),
    mounts: t.field({
      type: [MountInput],
      description:
        'Volumes for its kernels. It runs on agents that have all of them for its project. Retries and resubmissions keep them.',
    }),
    concurrencyKey: t.string({
      description: 'Of the sessions of its project with this key only `concurrencyLimit` are placed at once.',
    }),
    concurrencyLimit: t.int({ description: 'How many with its `concurrencyKey`, 1 to 1000; 1 if nothing is said.' }),
    dependsOn: t.field({ type: ['UUID'], description: 'Sessions whose chains must succeed first.' }),
    creationId: t.string({
      description:
        'Idempotency key chosen by the client, unique in the project. The endings `:retry:<number>` and `:resubmission:<number>` are reserved.',
    }),
    retryPolicy: t.field({ type: RetryPolicyInput, description: 'How it is retried.' }),
  }),
})

const CreateSessionsInput = builder.inputType('CreateSessionsInput', {
  description: 'Sessions to create.',
  fields: (t) => ({
    sessions: t.field({ type: [CreateSessionInput], required: true, description: 'At most 1000.' }),
  }),
})

interface CreatedShape extends SessionPayload<'CreateSessionPayload'> {
  created: boolean
}

const CreateSessionPayload = sessionPayload<CreatedShape>('CreateSessionPayload', 'A session that exists now.')
builder.objectField(CreateSessionPayload, 'created', (t) =>
  t.exposeBoolean('created', { description: 'False if the `creationId` was known: the session already existed.' }),
)

const ERRORS = [ValidationError, NotFoundError, ConflictError, QuotaExceededError, ForbiddenError]

const CreateSessionResult = builder.unionType('CreateSessionResult', {
  description: 'A session, or an error that the caller can correct.',
  types: [CreateSessionPayload, ...ERRORS],
  resolveType: typeOf,
})

interface CreatedManyShape {
  __typename: 'CreateSessionsPayload'
  results: (CreatedShape | ErrorShape)[]
}

const CreateSessionsPayload = builder.objectRef<CreatedManyShape>('CreateSessionsPayload').implement({
  description: 'The outcome of each.',
  fields: (t) => ({
    results: t.expose('results', {
      type: [CreateSessionResult],
      description: 'In the order of the input. A failure does not affect the others.',
    }),
  }),
})

const CreateSessionsResult = builder.unionType('CreateSessionsResult', {
  description: 'The outcome of each, or an error that the caller can correct.',
  types: [CreateSessionsPayload, ValidationError, ForbiddenError],
  resolveType: typeOf,
})

const payload = (result: { sessionId: string; created: boolean }): CreatedShape => ({
  __typename: 'CreateSessionPayload',
  ...result,
})

builder.mutationField('createSession', (t) =>
  t.field({
    type: CreateSessionResult,
    description:
      'Creates a session. Idempotent with a `creationId`: the same id with the same input returns the same session, and with another input CREATION_ID_REUSED.',
    args: { input: t.arg({ type: CreateSessionInput, required: true, description: 'What to run, and how.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => payload(await createSession(context, input as CreateSession))),
  }),
)

builder.mutationField('createSessions', (t) =>
  t.field({
    type: CreateSessionsResult,
    description: 'Creates up to 1000 sessions, each by itself as `createSession` does.',
    args: { input: t.arg({ type: CreateSessionsInput, required: true, description: 'The sessions.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'CreateSessionsPayload' as const,
        results: (await createSessions(context, input.sessions as CreateSession[])).map((result) =>
          result instanceof RepriseError ? errorShape(result) : payload(result),
        ),
      })),
  }),
)
