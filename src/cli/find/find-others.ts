import type { Client } from '../../client/node/index.ts'
import { take, takeAll } from '../session/take.ts'
import { ambiguous, findId, type Candidate } from './find-id.ts'

/** The id of a webhook given by id, or by a unique beginning of it. @throws NotFoundError, UsageError */
export function findWebhook(client: Client, text: string): Promise<string> {
  return findId(text, {
    noun: 'webhook',
    code: 'WEBHOOK_NOT_FOUND',
    async beginning(idPrefix, count) {
      const { items } = await take(client.webhooks({ idPrefix }), count)
      return items.map(({ webhookId, url }) => ({ id: webhookId, name: url }))
    },
  })
}

/** The same of a delivery, of this webhook or of any. @throws NotFoundError, UsageError */
export function findDelivery(client: Client, text: string, webhook?: string): Promise<string> {
  return findId(text, {
    noun: 'delivery',
    code: 'WEBHOOK_DELIVERY_NOT_FOUND',
    async beginning(idPrefix, count) {
      const found: Candidate[] = []
      const ids = webhook ? [webhook] : (await takeAll(client.webhooks())).map(({ webhookId }) => webhookId)
      for (const webhookId of ids) {
        const { items } = await take(client.webhookDeliveries(webhookId, { idPrefix }), count)
        found.push(...items.map(({ deliveryId, eventType }) => ({ id: deliveryId, name: eventType })))
      }
      return found
    },
  })
}

/** The same of a resubmission. @throws NotFoundError, UsageError */
export function findResubmission(client: Client, text: string): Promise<string> {
  return findId(text, {
    noun: 'resubmission',
    code: 'RESUBMISSION_NOT_FOUND',
    async beginning(idPrefix, count) {
      const { items } = await take(client.resubmissions({ idPrefix }), count)
      return items.map(({ resubmissionId, clientKey }) => ({ id: resubmissionId, name: clientKey }))
    },
  })
}

/** The same of a token, also by a name that no other has which is in force. @throws NotFoundError, UsageError */
export function findToken(client: Client, text: string): Promise<string> {
  return findId(text, {
    noun: 'token',
    code: 'TOKEN_NOT_FOUND',
    async beginning(idPrefix, count) {
      const { items } = await take(client.tokens({ idPrefix }), count)
      return items.map(({ tokenId, name }) => ({ id: tokenId, name }))
    },
    async named(wanted) {
      const tokens = await takeAll(client.tokens())
      const found = tokens.filter(({ name, revokedAt }) => name === wanted && !revokedAt)
      if (found.length > 1)
        throw ambiguous(
          wanted,
          found.map(({ tokenId, name }) => ({ id: tokenId, name })),
        )
      return found[0] && { id: found[0].tokenId }
    },
  })
}
