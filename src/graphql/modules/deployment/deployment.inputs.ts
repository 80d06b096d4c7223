import { builder } from '../../builder.ts'
import { EnvVarInput, LabelInput, ResourceSlotInput } from '../session/pairs.inputs.ts'

const MIN_HEALTHY =
  'Never fewer healthy replicas while it is updated. Null: three quarters of the replicas, rounded up.'
const MAX_SURGE = 'So many more than wanted while it is updated. Null: a quarter of the replicas, rounded up.'
const STALE_AFTER = 'Seconds that the outcome of a check counts. Null: three times interval and timeout.'

const HealthCheckInput = builder.inputType('HealthCheckInput', {
  description: 'How a route is found to be healthy: by HTTP GET requests that it answers with a status of 200 to 299.',
  fields: (t) => ({
    path: t.string({ defaultValue: '/', description: 'What is asked for.' }),
    interval: t.float({ defaultValue: 5, description: 'Seconds between two checks, from 0.1.' }),
    timeout: t.float({ defaultValue: 2, description: 'Seconds that an answer may take, from 0.05.' }),
    healthyThreshold: t.int({ defaultValue: 1, description: 'Successes in a row that make it healthy.' }),
    unhealthyThreshold: t.int({ defaultValue: 3, description: 'Failures in a row that make it unhealthy.' }),
    initialDelay: t.float({ defaultValue: 0, description: 'Seconds from the start of user code to the first check.' }),
    staleAfter: t.float({ description: STALE_AFTER }),
  }),
})

export const CreateDeploymentInput = builder.inputType('CreateDeploymentInput', {
  description: 'What to serve, how often, and how its health is found. Durations are in seconds.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Small letters, digits and -, unique in the project.' }),
    project: t.string({ defaultValue: 'default', description: 'Whose it is, by name.' }),
    resourceGroup: t.string({ defaultValue: 'default', description: 'Where its routes run, by name.' }),
    image: t.string({ description: 'Environment and interpreter of its program.' }),
    command: t.stringList({ required: true, description: 'The program and its arguments.' }),
    environ: t.field({ type: [EnvVarInput], description: 'Its environment, beside what Reprise adds.' }),
    resourceSlots: t.field({ type: [ResourceSlotInput], description: 'What each route may use.' }),
    labels: t.field({ type: [LabelInput], description: 'Words of your own.' }),
    agentLabels: t.field({ type: [LabelInput], description: 'An agent must have all of these labels to run a route.' }),
    priority: t.int({ defaultValue: 10, description: '0 to 100; the higher goes first.' }),
    replicas: t.int({ defaultValue: 1, description: 'How many healthy routes are wanted.' }),
    minHealthy: t.int({ description: MIN_HEALTHY }),
    maxSurge: t.int({ description: MAX_SURGE }),
    portVariable: t.string({
      defaultValue: 'PORT',
      description: 'The environment variable that tells the program on which port to serve.',
    }),
    healthCheck: t.field({ type: HealthCheckInput, description: 'How its routes are found to be healthy.' }),
    startTimeout: t.float({
      defaultValue: 300,
      description: 'From the creation of a route to its first success; else it has failed to start.',
    }),
    evictAfter: t.float({
      defaultValue: 10,
      description: 'How long an unhealthy route may take to recover before it is replaced.',
    }),
    drain: t.float({
      defaultValue: 2,
      description: 'Between the end of a route for its clients and the end of its program.',
    }),
    creationId: t.string({ description: 'Your idempotency key, unique in the project.' }),
  }),
})

export const ScaleDeploymentInput = builder.inputType('ScaleDeploymentInput', {
  description: 'How many replicas are wanted. What is not given stays as it is.',
  fields: (t) => ({
    deploymentId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
    replicas: t.int({ description: 'How many healthy routes are wanted.' }),
    minHealthy: t.int({ description: MIN_HEALTHY }),
    maxSurge: t.int({ description: MAX_SURGE }),
  }),
})

const HealthCheckChange = builder.inputType('HealthCheckChange', {
  description: 'What is not given stays as it is.',
  fields: (t) => ({
    path: t.string({ description: 'What is asked for.' }),
    interval: t.float({ description: 'Seconds between two checks, from 0.1.' }),
    timeout: t.float({ description: 'Seconds that an answer may take, from 0.05.' }),
    healthyThreshold: t.int({ description: 'Successes in a row that make it healthy.' }),
    unhealthyThreshold: t.int({ description: 'Failures in a row that make it unhealthy.' }),
    initialDelay: t.float({ description: 'Seconds from the start of user code to the first check.' }),
    staleAfter: t.float({ description: STALE_AFTER }),
  }),
})

export const UpdateDeploymentInput = builder.inputType('UpdateDeploymentInput', {
  description: 'What to change of what its routes are made from. What is not given stays as it is.',
  fields: (t) => ({
    deploymentId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
    resourceGroup: t.string({ description: 'Where its routes run, by name.' }),
    image: t.string({ description: 'Environment and interpreter of its program. Null: none.' }),
    command: t.stringList({ description: 'The program and its arguments.' }),
    environ: t.field({ type: [EnvVarInput], description: 'Its whole environment, beside what Reprise adds.' }),
    resourceSlots: t.field({ type: [ResourceSlotInput], description: 'All that each route may use.' }),
    labels: t.field({ type: [LabelInput], description: 'All words of your own.' }),
    agentLabels: t.field({ type: [LabelInput], description: 'All labels that an agent must have to run a route.' }),
    priority: t.int({ description: '0 to 100; the higher goes first.' }),
    portVariable: t.string({
      description: 'The environment variable that tells the program on which port to serve.',
    }),
    healthCheck: t.field({ type: HealthCheckChange, description: 'How its routes are found to be healthy.' }),
    startTimeout: t.float({ description: 'From the creation of a route to its first success, in seconds.' }),
    evictAfter: t.float({ description: 'How long an unhealthy route may take to recover, in seconds.' }),
    drain: t.float({ description: 'Between the end of a route for its clients and of its program, in seconds.' }),
  }),
})

export const DestroyDeploymentInput = builder.inputType('DestroyDeploymentInput', {
  description: 'Which deployment to end.',
  fields: (t) => ({
    deploymentId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
    reason: t.string({ description: 'Why, in your words.' }),
  }),
})
