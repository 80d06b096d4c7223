import { type SealedVariable, secretNames } from '../../../domain/session/sealed-variable.ts'
import { type ScheduleRecord, templateOf } from '../../../services/schedule/read-schedules.ts'
import type { ParsedCreateSession } from '../../../services/session/create-session-input.ts'
import { builder } from '../../builder.ts'
import { EnvVar, Label, labelsOf, ResourceSlot, slotsOf } from '../session/values.types.ts'
import { ClusterModeEnum, SessionTypeEnum } from '../session/session.types.ts'

type Template = ParsedCreateSession & { secretNames: string[] }

export const ScheduledSession = builder.objectRef<Template>('ScheduledSession').implement({
  description: 'The session that the runs of a schedule create, as `createSession` would from the same input.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    sessionType: t.expose('sessionType', { type: SessionTypeEnum, description: 'What it is for.' }),
    resourceGroup: t.exposeString('resourceGroup', { description: 'Name of the resource group to run in.' }),
    image: t.string({ nullable: true, description: 'Its image.', resolve: ({ image }) => image ?? null }),
    command: t.exposeStringList('command', { description: 'The program and its arguments.' }),
    environ: t.field({ type: [EnvVar], description: 'Its environment.', resolve: ({ environ }) => environ }),
    secretEnviron: t.stringList({
      description: 'Names of its secret variables, whose values nobody can read.',
      resolve: (template) => template.secretNames,
    }),
    resourceSlots: t.field({
      type: [ResourceSlot],
      description: 'Resources of each kernel.',
      resolve: ({ resourceSlots }) => slotsOf(resourceSlots),
    }),
    clusterSize: t.exposeInt('clusterSize', { description: 'How many kernels it has.' }),
    clusterMode: t.expose('clusterMode', { type: ClusterModeEnum, description: 'How they are spread over agents.' }),
    batchTimeout: t.float({
      nullable: true,
      description: 'Seconds that user code may run.',
      resolve: ({ batchTimeout }) => batchTimeout ?? null,
    }),
    priority: t.exposeInt('priority', { description: '0 to 100; the higher goes first.' }),
    labels: t.field({ type: [Label], description: 'Its labels.', resolve: ({ labels }) => labelsOf(labels) }),
    maxRetries: t.int({
      nullable: true,
      description: 'The retries of each run, as given; null: by the defaults of its project when a run is made.',
      resolve: ({ retryPolicy }) => retryPolicy.maxRetries ?? null,
    }),
  }),
})

export function scheduledSession(schedule: ScheduleRecord): Template | null {
  const template = templateOf(schedule)
  const secrets = schedule.secretEnviron as unknown as SealedVariable[]
  return template && { ...template, secretNames: secretNames(secrets) }
}
