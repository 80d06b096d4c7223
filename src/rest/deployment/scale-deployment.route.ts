import { createRoute } from '@hono/zod-openapi'
import { describeDeployment } from '../../services/deployment/describe-deployments.ts'
import { scaleDeployment, type ScaleDeploymentInput } from '../../services/deployment/scale-deployment.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { readJsonObject } from '../json-body.ts'
import { DEPLOYMENT_SCALE } from './deployment-input.ts'
import { DeploymentResource, toDeployment } from './deployment.resource.ts'
import { writtenInput } from '../resources/written-input.ts'
import type { RestApp } from '../rest-app.ts'
import { BODY_PROBLEMS, body } from '../routes/body.ts'
import { DeploymentIdParameter } from '../routes/parameters.ts'

const route = createRoute({
  method: 'post',
  path: '/v2/deployments/{id}/scale',
  operationId: 'scaleDeployment',
  summary: 'Set the number of replicas',
  tags: ['deployments'],
  request: { params: DeploymentIdParameter, body: body(DEPLOYMENT_SCALE, { replicas: 5 }) },
  responses: {
    200: json(DeploymentResource, 'The deployment, as it is now.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'DEPLOYMENT_NOT_FOUND', 'DEPLOYMENT_DESTROYED'),
  },
})

export function serveScaleDeployment(app: RestApp): void {
  app.openapi(route, async (c) => {
    const context = c.get('context')
    const change = writtenInput(await readJsonObject(c.env.incoming)) as Omit<ScaleDeploymentInput, 'deploymentId'>
    const { deploymentId } = await scaleDeployment(context, { ...change, deploymentId: c.req.valid('param').id })
    return c.json(toDeployment(await describeDeployment(context, deploymentId)), 200)
  })
}
