import { listDeployments } from '../../../services/deployment/read-deployments.ts'
import { ID_PREFIX_WORDS } from '../../../services/input/id-prefix.ts'
import { builder } from '../../builder.ts'
import { pageComplexity } from '../../paging.ts'
import { DateTimeFilter, StringFilter } from '../filters.inputs.ts'
import { DeploymentStatusEnum } from './deployment.enums.ts'
import { DeploymentOrder, deploymentOrder } from './deployment.order.ts'
import { DeploymentNode } from './deployment.type.ts'

const DeploymentFilter = builder.inputType('DeploymentFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    status: t.field({ type: [DeploymentStatusEnum], description: 'In one of these statuses.' }),
    project: t.string({ description: 'In the project of this name.' }),
    idPrefix: t.string({ description: ID_PREFIX_WORDS }),
    name: t.field({ type: StringFilter, description: 'By name.' }),
    createdAt: t.field({ type: DateTimeFilter, description: 'By when it was created.' }),
  }),
})

builder.queryField('deployment', (t) =>
  t.field({
    type: DeploymentNode,
    nullable: true,
    description: 'One deployment; null if there is none that you may see.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `deploymentId`.' }) },
    resolve: (_root, { id }, { loaders }) => loaders.deployments.load(id),
  }),
)

builder.queryField('deployments', (t) =>
  t.connection(
    {
      type: DeploymentNode,
      description: 'Deployments, including destroyed ones; newest first by default.',
      args: {
        filter: t.arg({ type: DeploymentFilter, description: 'Which deployments.' }),
        orderBy: t.arg({ type: DeploymentOrder, description: 'In which order.' }),
      },
      complexity: pageComplexity,
      resolve: (_root, { filter, orderBy, ...page }, { services: { prisma }, viewer }) =>
        listDeployments({ prisma, viewer }, { filter: filter ?? {}, order: deploymentOrder(orderBy), page }),
    },
    { name: 'DeploymentConnection', description: 'A page of deployments.' },
    { name: 'DeploymentEdge', description: 'One deployment and its place.' },
  ),
)
