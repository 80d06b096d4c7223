import { createHmac } from 'node:crypto'

/** The signature scheme of Standard Webhooks 1.0.0, symmetric: `v1`, HMAC-SHA256 over `id.timestamp.body`. */

const SECRET_PREFIX = 'whsec_'

/** The form in which people copy it into the receiver. */
export function formatSecret(secret: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(secret).toString('base64')
}

/** Neither this id nor the timestamp contains a full stop, so the boundaries of the signed parts cannot be shifted. */
export function webhookId(deliveryId: string): string {
  return `msg_${deliveryId.replaceAll('-', '')}`
}

/** The headers of one attempt. Several secrets give several signatures; the receiver needs one that matches. */
export function signedHeaders(input: {
  deliveryId: string
  /** When the attempt is made. */
  at: Date
  body: string
  secrets: readonly Uint8Array[]
}): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const id = webhookId(input.deliveryId)
  const timestamp = String(Math.floor(input.at.getTime() / 1000))
  const signed = `${id}.${timestamp}.${input.body}`
  const signatures = input.secrets.map((secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`)
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
