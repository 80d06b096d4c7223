import { secretNames } from '../../../domain/session/kernel-environment.ts'
import { readVisibleRevisions, type RevisionRow } from '../../../services/deployment/read-deployments.ts'
import { builder } from '../../builder.ts'
import { inOrderOf, nodeKey, numberedKey } from '../../ids.ts'
import { RequiredGpus } from '../session/gpus.types.ts'
import { EnvVar, Label, labelsOf, MountType, ResourceSlot, slotsOf } from '../session/values.types.ts'

const seconds = (ms: number) => ms / 1000

const HealthCheck = builder.objectRef<RevisionRow>('HealthCheck').implement({
  description: 'Health check of a route: an HTTP GET request, which succeeds with a status of 200 to 299.',
  fields: (t) => ({
    path: t.exposeString('healthPath', { description: 'The path to request.' }),
    interval: t.float({
      description: 'Seconds between two checks.',
      resolve: ({ healthIntervalMs }) => seconds(healthIntervalMs),
    }),
    timeout: t.float({
      description: 'Timeout of a check in seconds.',
      resolve: ({ healthTimeoutMs }) => seconds(healthTimeoutMs),
    }),
    healthyThreshold: t.exposeInt('healthyThreshold', {
      description: 'Number of consecutive successes that make it healthy.',
    }),
    unhealthyThreshold: t.exposeInt('unhealthyThreshold', {
      description: 'Number of consecutive failures that make it unhealthy.',
    }),
    initialDelay: t.float({
      description: 'Seconds from the start of user code to the first check.',
      resolve: ({ initialDelayMs }) => seconds(initialDelayMs),
    }),
    staleAfter: t.float({
      description: 'Seconds for which the result of a check is valid.',
      resolve: ({ staleAfterMs }) => seconds(staleAfterMs),
    }),
  }),
})

const keyOf = ({ deploymentId, revision }: RevisionRow) => nodeKey([deploymentId, revision])

export const DeploymentRevision = builder.node(builder.objectRef<RevisionRow>('DeploymentRevision'), {
  description: "The specification of a deployment's routes. An update adds a revision; a revision never changes.",
  id: { resolve: keyOf },
  loadMany: async (ids, { services: { prisma }, db, viewer }) => {
    const keys = ids.flatMap((id) => numberedKey(id) ?? [])
    const found = await readVisibleRevisions(
      { prisma, db, viewer },
      keys.map(({ of, number }) => ({ deploymentId: of, revision: number })),
    )
    return inOrderOf(ids, found, keyOf)
  },
  fields: (t) => ({
    number: t.exposeInt('revision', { description: 'Its number within its deployment, from 1.' }),
    resourceGroup: t.exposeString('resourceGroup', { description: 'Name of the resource group for its routes.' }),
    image: t.exposeString('image', {
      nullable: true,
      description:
        'Container image of its program; for agents without containers, a preset of environment and interpreter.',
    }),
    command: t.exposeStringList('command', { description: 'The program and its arguments.' }),
    environ: t.field({
      type: [EnvVar],
      description: 'Its environment, in addition to the variables set by Reprise.',
      resolve: ({ environ }) => environ,
    }),
    secretEnviron: t.stringList({
      description: 'Names of its secret variables, whose values nobody can read.',
      resolve: ({ secretEnviron }) => secretNames(secretEnviron),
    }),
    resourceSlots: t.field({
      type: [ResourceSlot],
      description: 'Resources of each route.',
      resolve: ({ resourceSlots }) => slotsOf(resourceSlots),
    }),
    requiredGpus: t.expose('gpuNeed', {
      type: RequiredGpus,
      nullable: true,
      description: 'What the GPUs of each route must be like; null if any will do.',
    }),
    priority: t.exposeInt('priority', { description: 'Priority, 0 to 100; higher ones are scheduled first.' }),
    labels: t.field({
      type: [Label],
      description: 'Labels given by its client.',
      resolve: ({ labels }) => labelsOf(labels),
    }),
    agentLabels: t.field({
      type: [Label],
      description: 'An agent must have all of them to run a route.',
      resolve: ({ agentLabels }) => labelsOf(agentLabels),
    }),
    mounts: t.field({
      type: [MountType],
      description: 'Volumes that its routes mount.',
      resolve: ({ mounts }) => mounts,
    }),
    portVariable: t.exposeString('portVariable', {
      description: "Name of the environment variable that holds the program's port.",
    }),
    healthCheck: t.field({
      type: HealthCheck,
      description: 'The health check of its routes.',
      resolve: (revision) => revision,
    }),
    startTimeout: t.float({
      description:
        'Seconds from the creation of a route to its first successful check, after which it has failed to start.',
      resolve: ({ startTimeoutMs }) => seconds(startTimeoutMs),
    }),
    evictAfter: t.float({
      description: 'Seconds that an unhealthy route may take to recover before it is replaced.',
      resolve: ({ evictAfterMs }) => seconds(evictAfterMs),
    }),
    drain: t.float({
      description: 'Seconds between removing a route from service discovery and stopping its program.',
      resolve: ({ drainMs }) => seconds(drainMs),
    }),
    createdBy: t.exposeString('createdBy', { nullable: true, description: 'Who created it: the name of the token.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

export const DeploymentRevisionConnection = builder.connectionObject(
  { type: DeploymentRevision, name: 'DeploymentRevisionConnection', description: 'A page of revisions.' },
  { name: 'DeploymentRevisionEdge', description: 'One revision with its cursor.' },
)
