import type { Prisma } from '../../../generated/prisma/client.ts'
import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { ID_PREFIX_WORDS, idsBeginningWith } from '../../../services/input/id-prefix.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { NEWEST_FIRST } from '../../../services/paging/orders.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { WebhookDeliveryNode, WebhookDeliveryStatusEnum } from './webhook-delivery.type.ts'
import { WebhookNode } from './webhook.type.ts'

builder.queryField('webhooks', (t) =>
  t.connection(
    {
      type: WebhookNode,
      description: "The webhooks of the token's project, or all; newest first.",
      args: {
        project: t.arg.string({ description: 'Those of the project of this name.' }),
        enabled: t.arg.boolean({ description: 'Enabled ones, or disabled ones.' }),
        idPrefix: t.arg.string({ description: ID_PREFIX_WORDS }),
      },
      complexity: pageComplexity,
      resolve: (_root, { project, enabled, idPrefix, ...args }, context, info) => {
        const { prisma } = context.services
        const wanted: Prisma.WebhookWhereInput = {
          ...projectScope(context.viewer),
          ...(project != null && { project: { name: project } }),
          ...(enabled != null && { enabled }),
          ...(idPrefix != null && { id: idsBeginningWith(idPrefix, 'idPrefix') }),
        }
        const query = edgeQuery({ context, info, typeName: 'Webhook', order: NEWEST_FIRST })
        return keysetPage({
          args,
          order: NEWEST_FIRST,
          find: ({ where, ...page }) => prisma.webhook.findMany({ ...query, ...page, where: { AND: [wanted, where] } }),
          count: () => prisma.webhook.count({ where: wanted }),
        })
      },
    },
    { name: 'WebhookConnection', description: 'A page of webhooks.' },
    { name: 'WebhookEdge', description: 'One webhook and its place.' },
  ),
)

builder.queryField('webhookDeliveries', (t) =>
  t.connection(
    {
      type: WebhookDeliveryNode,
      description: 'Deliveries of one webhook in the last 14 days, newest first.',
      args: {
        webhookId: t.arg({ type: 'UUID', required: true, description: 'Which webhook.' }),
        status: t.arg({ type: [WebhookDeliveryStatusEnum], description: 'With one of these statuses.' }),
        idPrefix: t.arg.string({ description: ID_PREFIX_WORDS }),
      },
      complexity: pageComplexity,
      resolve: (_root, { webhookId, status, idPrefix, ...args }, context, info) => {
        const { prisma } = context.services
        const wanted: Prisma.WebhookDeliveryWhereInput = {
          webhookId,
          webhook: projectScope(context.viewer),
          ...(status && { status: { in: status } }),
          ...(idPrefix != null && { id: idsBeginningWith(idPrefix, 'idPrefix') }),
        }
        const query = edgeQuery({ context, info, typeName: 'WebhookDelivery', order: NEWEST_FIRST })
        return keysetPage({
          args,
          order: NEWEST_FIRST,
          find: ({ where, ...page }) =>
            prisma.webhookDelivery.findMany({ ...query, ...page, where: { AND: [wanted, where] } }),
          count: () => prisma.webhookDelivery.count({ where: wanted }),
        })
      },
    },
    { name: 'WebhookDeliveryConnection', description: 'A page of deliveries.' },
    { name: 'WebhookDeliveryEdge', description: 'One delivery and its place.' },
  ),
)
