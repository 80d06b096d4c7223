import type { RevisionRow } from '../../../services/read-deployments.ts'
import { builder } from '../../builder.ts'
import { EnvVar, Label, labelsOf, ResourceSlot, slotsOf } from '../session/pairs.type.ts'

const seconds = (ms: number) => ms / 1000

const HealthCheck = builder.objectRef<RevisionRow>('HealthCheck').implement({
  description: 'How a route is found to be healthy: by HTTP GET requests that it answers with a status of 200 to 299.',
  fields: (t) => ({
    path: t.exposeString('healthPath', { description: 'What is asked for.' }),
    interval: t.float({
      description: 'Seconds between two checks.',
      resolve: ({ healthIntervalMs }) => seconds(healthIntervalMs),
    }),
    timeout: t.float({
      description: 'Seconds that an answer may take.',
      resolve: ({ healthTimeoutMs }) => seconds(healthTimeoutMs),
    }),
    healthyThreshold: t.exposeInt('healthyThreshold', { description: 'Successes in a row that make it healthy.' }),
    unhealthyThreshold: t.exposeInt('unhealthyThreshold', { description: 'Failures in a row that make it unhealthy.' }),
    initialDelay: t.float({
      description: 'Seconds from the start of user code to the first check.',
      resolve: ({ initialDelayMs }) => seconds(initialDelayMs),
    }),
    staleAfter: t.float({
      description: 'Seconds that the outcome of a check counts.',
      resolve: ({ staleAfterMs }) => seconds(staleAfterMs),
    }),
  }),
})

export const DeploymentRevision = builder.objectRef<RevisionRow>('DeploymentRevision').implement({
  description: 'What the routes of a deployment are made from. An update adds one; none is ever changed.',
  fields: (t) => ({
    number: t.exposeInt('revision', { description: 'Its place among those of its deployment, from 1.' }),
    resourceGroup: t.exposeString('resourceGroup', { description: 'Where its routes run, by name.' }),
    image: t.exposeString('image', { nullable: true, description: 'Environment and interpreter of its program.' }),
    command: t.exposeStringList('command', { description: 'The program and its arguments.' }),
    environ: t.field({
      type: [EnvVar],
      description: 'Its environment, beside what Reprise adds.',
      resolve: ({ environ }) => environ,
    }),
    resourceSlots: t.field({
      type: [ResourceSlot],
      description: 'What each route may use.',
      resolve: ({ resourceSlots }) => slotsOf(resourceSlots),
    }),
    priority: t.exposeInt('priority', { description: '0 to 100; the higher goes first.' }),
    labels: t.field({ type: [Label], description: 'Words of its client.', resolve: ({ labels }) => labelsOf(labels) }),
    agentLabels: t.field({
      type: [Label],
      description: 'An agent must have all of them to run a route.',
      resolve: ({ agentLabels }) => labelsOf(agentLabels),
    }),
    portVariable: t.exposeString('portVariable', {
      description: 'The environment variable that tells the program on which port to serve.',
    }),
    healthCheck: t.field({
      type: HealthCheck,
      description: 'How its routes are found to be healthy.',
      resolve: (revision) => revision,
    }),
    startTimeout: t.float({
      description: 'Seconds from the creation of a route to its first success; else it has failed to start.',
      resolve: ({ startTimeoutMs }) => seconds(startTimeoutMs),
    }),
    evictAfter: t.float({
      description: 'Seconds that an unhealthy route may take to recover before it is replaced.',
      resolve: ({ evictAfterMs }) => seconds(evictAfterMs),
    }),
    drain: t.float({
      description: 'Seconds between the end of a route for its clients and the end of its program.',
      resolve: ({ drainMs }) => seconds(drainMs),
    }),
    createdBy: t.exposeString('createdBy', { nullable: true, description: 'Who made it: the name of the token.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
  }),
})

export const DeploymentRevisionConnection = builder.connectionObject(
  { type: DeploymentRevision, name: 'DeploymentRevisionConnection', description: 'A page of revisions.' },
  { name: 'DeploymentRevisionEdge', description: 'One revision and its place.' },
)
