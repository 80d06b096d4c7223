import { builder } from '../../builder.ts'
import { DeploymentNode } from './deployment.type.ts'

export interface DeploymentPayload<Name extends string = string> {
  __typename: Name
  deploymentId: string
}

/** A payload whose deployment is read after the commit. */
export function deploymentPayload<Shape extends DeploymentPayload>(name: Shape['__typename'], description: string) {
  return builder.objectRef<Shape>(name).implement({
    description,
    fields: (t) => ({
      deployment: t.field({
        type: DeploymentNode,
        description: 'The deployment, as it is now.',
        resolve: async ({ deploymentId }: DeploymentPayload, _args, { loaders }) => {
          // An earlier mutation of the same request may have loaded a state that is now outdated.
          const deployment = await loaders.deployments.clear(deploymentId).load(deploymentId)
          if (!deployment) throw new Error(`no deployment ${deploymentId}`)
          return deployment
        },
      }),
    }),
  })
}
