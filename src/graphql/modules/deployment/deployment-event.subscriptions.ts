import { DEPLOYMENT_EVENT_TYPES, type DeploymentOutboxEvent } from '../../../domain/events.ts'
import { builder } from '../../builder.ts'
import { eventStream } from '../../execution/authorized-events.ts'
import { DeploymentEventObject, DeploymentEventTypeEnum, deploymentWireName } from './deployment-event.type.ts'

const DeploymentEventFilter = builder.inputType('DeploymentEventFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name.' }),
    deploymentId: t.field({ type: 'UUID', description: 'About this deployment and its routes.' }),
    types: t.field({ type: [DeploymentEventTypeEnum], description: 'With one of these values.' }),
  }),
})

builder.subscriptionField('deploymentEvents', (t) =>
  t.field({
    type: DeploymentEventObject,
    description:
      "Events of deployments and their routes. With the cursor of the client's last event as `after`, everything since then comes first, and nothing is missed.",
    args: {
      filter: t.arg({ type: DeploymentEventFilter, description: 'Which events.' }),
      after: t.arg.string({ description: "Cursor of the client's last event." }),
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
