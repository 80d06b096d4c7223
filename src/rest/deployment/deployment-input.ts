import { createDeploymentSchema } from '../../services/deployment/create-deployment.ts'
import { deploymentSpecSchema } from '../../services/deployment/deployment-fields.ts'
import { scaleSchema } from '../../services/deployment/scale-deployment.ts'
import { component, inputSchema, type JsonSchema } from '../resources/input-schema.ts'

export const DEPLOYMENT_INPUT = component('DeploymentInput', {
  ...inputSchema(createDeploymentSchema),
  description: 'What `createDeployment` takes, with names in snake_case; durations in seconds.',
})

export const DEPLOYMENT_CHANGE = component('DeploymentChange', changeSchema())

export const DEPLOYMENT_SCALE = component('DeploymentScale', {
  ...inputSchema(scaleSchema),
  description: 'What is not given stays as it is; null stands for the defaults of `min_healthy` and `max_surge`.',
})

/** In a change, all fields are optional. */
function changeSchema(): JsonSchema {
  const { required: _, ...change } = inputSchema(deploymentSpecSchema)
  change.properties!['image'] = { anyOf: [change.properties!['image']!, { type: 'null' }] }
  return { ...change, description: 'What is not given stays as it is; `image` null is none.' }
}
