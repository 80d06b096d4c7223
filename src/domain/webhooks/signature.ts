import { createHmac } from 'node:crypto'

/** The signature scheme of Standard Webhooks 1.0.0, symmetric: `v1`, HMAC-SHA256 over `id.timestamp.body`. */

const SECRET_PREFIX = 'whsec_'

/** As people copy it into the receiver. */
export function formatSecret(secret: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(secret).toString('base64')
}

/** Neither contains a full stop, so that nobody can move the borders of what is signed. */
export function webhookId(deliveryId: string): string {
  return `msg_${deliveryId.replaceAll('-', '')}`
}

/** Headers of one attempt. Several secrets give several signatures, of which the receiver needs one to fit. */
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
