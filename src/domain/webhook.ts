import { WEBHOOK_RETRY_AFTER_MAX_MS, WEBHOOK_URL_LENGTH_MAX } from './limits.ts'
import { isStorableText } from './storable-text.ts'
import {
  type ChainEventData,
  type DeploymentEventData,
  deploymentEventFields,
  type GroupEventData,
  groupEventFields,
  type DeploymentEventType,
  EVENT_TYPES,
  type RetryEventData,
  sessionEventFields,
  type StatusEventData,
  type WeeklyEventData,
  weeklyEventFields,
} from './events.ts'
import { createHmac } from 'node:crypto'
import { computeDelay, type DelayPolicy } from './retry/delay.ts'

const WELL_KNOWN_PORT_MAX = 1023
/** Allowed ports below 1024. `URL` omits the scheme's default port. */
const WEB_PORTS: readonly string[] = ['', '80', '443']

/**
 * Describes what is wrong with an endpoint's URL; undefined if nothing is. Whether the address may be reached is
 * checked at each attempt.
 */
export function endpointUrlFault(text: string): string | undefined {
  if (text.length > WEBHOOK_URL_LENGTH_MAX) return `must be at most ${WEBHOOK_URL_LENGTH_MAX} characters`
  const url = isStorableText(text) ? URL.parse(text) : null
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'must be an http:// or https:// URL'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password'
  if (url.hash !== '') return 'must not have a fragment: it would not be sent'
  if (!WEB_PORTS.includes(url.port) && Number(url.port) <= WELL_KNOWN_PORT_MAX) {
    return `must have port 80 or 443, or one above ${WELL_KNOWN_PORT_MAX}`
  }
  return undefined
}

/**
 * A pattern for event types: an event's wire name, where a final `*` matches any rest: `session.error`,
 * `session.retry_*`, `*`.
 */
const PATTERN = /^(?:[a-z_]+\.)*(?:[a-z_]+|[a-z_]*\*)$/

/**
 * Accepts a pattern only if it matches a present event type; other patterns are refused, because they are probably
 * mistakes.
 */
export function isEventPattern(text: string): boolean {
  return PATTERN.test(text) && EVENT_TYPES.some((type) => eventPatternMatches(text, type))
}

export function eventPatternMatches(pattern: string, type: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern
}

/** The `type` of a test event. */
export const TEST_EVENT_TYPE = 'webhook.test'

/** The stored facts about an event and its session at that time, so that a delivery's payload never changes. */
interface SessionDeliveryFacts {
  event: StatusEventData | RetryEventData | ChainEventData
  session: {
    name: string
    type: string
    project: string
    parentSessionId: string | null
    /** Counted as in `retryState`. */
    attempt: number
    maxAttempts: number
    exitCode: number | null
  }
}

/** The stored facts about an event and its deployment at that time. */
interface DeploymentDeliveryFacts {
  event: DeploymentEventData[DeploymentEventType]
  deployment: DeploymentFacts
}

/** The stored facts about a group that has ended. */
interface GroupDeliveryFacts {
  event: GroupEventData
  group: { id: string; key: string | null; name: string; project: string }
}

/** The stored facts about the weekly summary of a project. */
interface ProjectDeliveryFacts {
  event: WeeklyEventData
  /** Its name. */
  project: string
}

export type DeliveryFacts = SessionDeliveryFacts | DeploymentDeliveryFacts | GroupDeliveryFacts | ProjectDeliveryFacts

interface DeliveredEvent {
  webhookId: string
  type: string
  occurredAt: Date
  sessionId: string | null
  chainId: string | null
  /** Null for a test event. */
  facts: DeliveryFacts | null
}

/** Builds the JSON body of a request. All events of one type have the same fields. */
export function payloadOf(event: DeliveredEvent): string {
  return JSON.stringify({ type: event.type, timestamp: event.occurredAt.toISOString(), data: dataOf(event) })
}

function dataOf({ webhookId: id, type, sessionId, chainId, facts }: DeliveredEvent): object {
  if (!facts) return { webhook_id: id, message: 'This is a test: your endpoint is reached.' }
  if ('deployment' in facts) return deploymentData(type as DeploymentEventType, facts.event, facts.deployment)
  if ('group' in facts) {
    const { id: group_id, key: group_key, name: group_name, project } = facts.group
    return { group_id, group_key, group_name, project, ...groupEventFields(facts.event) }
  }
  if ('project' in facts) return { project: facts.project, ...weeklyEventFields(facts.event) }
  const { event, session } = facts
  return {
    session_id: sessionId,
    session_name: session.name,
    session_type: session.type,
    project: session.project,
    chain_id: chainId,
    parent_session_id: session.parentSessionId,
    ...eventData(event, session),
  }
}

function eventData(event: SessionDeliveryFacts['event'], session: SessionDeliveryFacts['session']): object {
  const { attempt, maxAttempts: max_attempts, exitCode: exit_code } = session
  const fields = sessionEventFields(event)
  if ('to' in event) return { attempt, max_attempts, ...fields, exit_code }
  return 'attempts' in event ? { ...fields, exit_code } : fields
}

/** The stored facts about a deployment at the time of the event. */
interface DeploymentFacts {
  id: string
  routeId: string | null
  name: string
  project: string
}

/** Builds `data` of a payload about a deployment or one of its routes. */
function deploymentData<Type extends DeploymentEventType>(
  type: Type,
  event: DeploymentEventData[Type],
  facts: DeploymentFacts,
): object {
  const { id, routeId, name, project } = facts
  return { deployment_id: id, deployment_name: name, project, ...deploymentEventFields(type, event, routeId) }
}

const SECRET_PREFIX = 'whsec_'

/** Formats a secret as people copy it into the receiver. */
export function formatSecret(secret: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(secret).toString('base64')
}

/**
 * The id of a delivery in its headers. Neither it nor the timestamp contains a full stop, so the boundaries of the
 * signed parts cannot be shifted.
 */
export function webhookId(deliveryId: string): string {
  return `msg_${deliveryId.replaceAll('-', '')}`
}

/**
 * Builds the headers of one attempt, signed by the symmetric scheme of Standard Webhooks 1.0.0: `v1`, HMAC-SHA256 over
 * `id.timestamp.body`. Several secrets give several signatures; the receiver needs one that matches.
 */
export function signedHeaders(input: {
  deliveryId: string
  /** The time of the attempt. */
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

/** The schedule of Standard Webhooks: the first attempt at once, then this many seconds after each failure. */
export const REDELIVERY_SECONDS: readonly number[] = [
  5,
  5 * 60,
  30 * 60,
  2 * 3600,
  5 * 3600,
  10 * 3600,
  14 * 3600,
  20 * 3600,
  24 * 3600,
]

/** Adds up to a tenth, by a hash of the delivery, so that deliveries that failed together are not repeated together. */
const JITTER: DelayPolicy = {
  delays: null,
  retryDelay: 1,
  backoff: 'FIXED',
  backoffMultiplier: 1,
  maxRetryDelay: null,
  jitter: 'DETERMINISTIC',
  jitterRatio: 0.1,
}

/** The consequence of an attempt. `restMs` is the time for which the endpoint has asked for no attempts. */
type Verdict =
  | { kind: 'delivered' }
  | { kind: 'again'; inMs: number; restMs: number }
  | { kind: 'exhausted'; restMs: number }
  /** The endpoint no longer exists (status 410). */
  | { kind: 'gone' }

/** Judges an attempt: anything but a 2xx is a failure, redirects included. */
export function judgeAttempt(input: {
  deliveryId: string
  /** Null if there was no response. */
  statusCode: number | null
  retryAfterMs: number | null
  /** Failures in the present schedule before this attempt. */
  failures: number
  /** Whether failed attempts are repeated; a test event gets one attempt. */
  redelivered: boolean
}): Verdict {
  const { deliveryId, statusCode, retryAfterMs, failures, redelivered } = input
  if (statusCode !== null && statusCode >= 200 && statusCode < 300) return { kind: 'delivered' }
  if (statusCode === 410) return { kind: 'gone' }
  const restMs = statusCode === 429 || statusCode === 503 ? (retryAfterMs ?? 0) : 0
  const baseSeconds = redelivered ? REDELIVERY_SECONDS[failures] : undefined
  if (baseSeconds === undefined) return { kind: 'exhausted', restMs }
  const { delayMs } = computeDelay({
    policy: JITTER,
    sessionId: deliveryId,
    retryCount: failures,
    random: 0,
    baseSeconds,
  })
  return { kind: 'again', inMs: Math.max(delayMs, retryAfterMs ?? 0), restMs }
}

/**
 * Parses `Retry-After` of RFC 9110: seconds, or a date. Null if the header is neither; values above the limit count as
 * the limit.
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null
  const text = header.trim()
  const ms = /^\d{1,10}$/.test(text) ? Number(text) * 1000 : httpDate(text) - now.getTime()
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, ms), WEBHOOK_RETRY_AFTER_MAX_MS)
}

/** `Date.parse` accepts much that is not an HTTP date, such as `-5`. */
function httpDate(text: string): number {
  return /^[A-Z][a-z]{2,8},? .* GMT$/.test(text) ? Date.parse(text) : Number.NaN
}
