import { createRoute } from '@hono/zod-openapi'
import { describeDeployment } from '../../services/deployment/describe-deployments.ts'
import { updateDeployment, type UpdateDeploymentInput } from '../../services/deployment/update-deployment.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { readJsonObject } from '../json-body.ts'
import { DEPLOYMENT_CHANGE } from './deployment-input.ts'
import { DeploymentResource, toDeployment } from './deployment.resource.ts'
import { writtenInput } from '../resources/written-input.ts'
import type { RestApp } from '../rest-app.ts'
import { BODY_PROBLEMS, body } from '../routes/body.ts'
import { DeploymentIdParameter } from '../routes/parameters.ts'

const route = createRoute({
  method: 'patch',
  path: '/v2/deployments/{id}',
  operationId: 'updateDeployment',
  summary: 'Change the specification of a deployment',
  description: 'Adds a revision; routes are replaced step by step. Fields that are not given keep their values.',
  tags: ['deployments'],
  request: {
    params: DeploymentIdParameter,
    body: body(DEPLOYMENT_CHANGE, { command: ['node', 'server.js', '--fast'], health_check: { timeout: 1 } }),
  },
  responses: {
    200: json(DeploymentResource, 'The deployment, as it is now.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'DEPLOYMENT_NOT_FOUND', 'DEPLOYMENT_DESTROYED', 'RESOURCE_GROUP_NOT_FOUND'),
  },
})

export function serveUpdateDeployment(app: RestApp): void {
  app.openapi(route, async (c) => {
    const context = c.get('context')
    const change = writtenInput(await readJsonObject(c.env.incoming)) as Omit<UpdateDeploymentInput, 'deploymentId'>
    const { deploymentId } = await updateDeployment(context, { ...change, deploymentId: c.req.valid('param').id })
    return c.json(toDeployment(await describeDeployment(context, deploymentId)), 200)
  })
}
