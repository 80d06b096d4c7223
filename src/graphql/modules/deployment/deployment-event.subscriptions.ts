import { DEPLOYMENT_EVENT_TYPES, type DeploymentOutboxEvent } from '../../../domain/events.ts'
import { builder } from '../../builder.ts'
import { eventStream } from '../event-stream.ts'
import { DeploymentEventObject, DeploymentEventTypeEnum, deploymentWireName } from './deployment-event.type.ts'

const DeploymentEventFilter = builder.inputType('DeploymentEventFilter', {
  description: 'All that are given must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name.' }),
    deploymentId: t.field({ type: 'UUID', description: 'About this deployment and its routes.' }),
    types: t.field({ type: [DeploymentEventTypeEnum], description: 'One of these.' }),
  }),
})

builder.subscriptionField('deploymentEvents', (t) =>
  t.field({
    type: DeploymentEventObject,
    description:
      'What happens to deployments and their routes. With the cursor of the last event that the client has as `after`, everything since then comes first, and nothing is missed.',
    args: {
      filter: t.arg({ type: DeploymentEventFilter, description: 'Which events.' }),
      after: t.arg.string({ description: 'The cursor of the last event that the client has.' }),
    },
    subscribe: (_root, { filter, after }, context) =>
      eventStream<DeploymentOutboxEvent>(context, {
        filter: filter ?? {},
        types: new Set(filter?.types?.map(deploymentWireName) ?? DEPLOYMENT_EVENT_TYPES),
        after,
      }),
    resolve: (event) => event,
  }),
)
