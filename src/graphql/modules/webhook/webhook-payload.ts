import { builder } from '../../builder.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { WebhookDeliveryNode } from './webhook-delivery.type.ts'
import { WebhookNode } from './webhook.type.ts'

/** Payloads whose subject is read after the commit, in one read shaped by the selection. */

export interface WebhookPayload<Name extends string = string> {
  __typename: Name
  webhookId: string
}

export function webhookPayload<Shape extends WebhookPayload>(name: Shape['__typename'], description: string) {
  const payload = builder.objectRef<Shape>(name).implement({ description })
  builder.objectField(payload, 'webhook', (t) =>
    t.prismaField({
      type: WebhookNode,
      description: 'The webhook, as it is now.',
      resolve: (query, { webhookId }: WebhookPayload, _args, { services, viewer }) =>
        stillThere(
          services.prisma.webhook.findFirst({ ...query, where: { id: webhookId, ...projectScope(viewer) } }),
          'WEBHOOK_NOT_FOUND',
        ),
    }),
  )
  return payload
}

export interface DeliveryPayload<Name extends string = string> {
  __typename: Name
  deliveryId: string
}

export function deliveryPayload<Shape extends DeliveryPayload>(name: Shape['__typename'], description: string) {
  const payload = builder.objectRef<Shape>(name).implement({ description })
  builder.objectField(payload, 'delivery', (t) =>
    t.prismaField({
      type: WebhookDeliveryNode,
      description: 'The delivery, as it is now.',
      resolve: (query, { deliveryId }: DeliveryPayload, _args, { services, viewer }) =>
        stillThere(
          services.prisma.webhookDelivery.findFirst({
            ...query,
            where: { id: deliveryId, webhook: projectScope(viewer) },
          }),
          'WEBHOOK_DELIVERY_NOT_FOUND',
        ),
    }),
  )
  return payload
}
