/** Wire names of the events about sessions and their chains, as stored in the outbox. */
export const SESSION_EVENT_TYPES = [
  'session.created',
  'session.status_changed',
  'session.terminated',
  'session.error',
  'session.cancelled',
  'session.retry_scheduled',
  'session.retry_held',
  'session.retry_dispatched',
  'session.retry_succeeded',
  'session.retry_exhausted',
  'session.retry_cancelled',
  'session.checkpoint_missing',
  'session.outputs_complete',
  'chain.succeeded',
  'chain.failed',
  'chain.cancelled',
  'chain.reopened',
  'failure_group.new',
  'failure_group.regressed',
] as const

export type SessionEventType = (typeof SESSION_EVENT_TYPES)[number]

/** Wire names of the events about deployments and their routes, as stored in the outbox. */
export const DEPLOYMENT_EVENT_TYPES = [
  'deployment.created',
  'deployment.scaled',
  'deployment.updated',
  'deployment.status_changed',
  'deployment.destroyed',
  'route.status_changed',
] as const

export type DeploymentEventType = (typeof DEPLOYMENT_EVENT_TYPES)[number]

/** Wire names of the events about groups of sessions, as stored in the outbox. */
export const GROUP_EVENT_TYPES = ['group.ended'] as const

export type GroupEventType = (typeof GROUP_EVENT_TYPES)[number]

/** Wire names of the events about projects, as stored in the outbox. */
export const PROJECT_EVENT_TYPES = ['insights.weekly'] as const

export type ProjectEventType = (typeof PROJECT_EVENT_TYPES)[number]

export const EVENT_TYPES = [
  ...SESSION_EVENT_TYPES,
  ...DEPLOYMENT_EVENT_TYPES,
  ...GROUP_EVENT_TYPES,
  ...PROJECT_EVENT_TYPES,
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** The events about retries with their names in GraphQL (RetryEventType). */
export const RETRY_EVENT_TYPES = {
  'session.retry_scheduled': 'RETRY_SCHEDULED',
  'session.retry_held': 'RETRY_HELD',
  'session.retry_dispatched': 'RETRY_DISPATCHED',
  'session.retry_succeeded': 'RETRY_SUCCEEDED',
  'session.retry_exhausted': 'RETRY_EXHAUSTED',
  'session.retry_cancelled': 'RETRY_CANCELLED',
} as const satisfies Partial<Record<SessionEventType, string>>

export type RetryEventName = (typeof RETRY_EVENT_TYPES)[keyof typeof RETRY_EVENT_TYPES]

/** `data` of the events about a status. */
export interface StatusEventData {
  from: string | null
  to: string
  reason?: string | null
}

/** `data` of the events about a retry. */
export interface RetryEventData {
  attempt: number
  maxAttempts: number
  cause: string | null
  delaySeconds: number | null
  /** ISO 8601 */
  scheduledAt: string | null
  childSessionId: string | null
  reason: string | null
}

/**
 * `data` of the events about a chain, which also concern its newest session. Seconds cover the whole chain. The event
 * of a reopened chain has only the new epoch and, as the reason, the person who resubmitted it.
 */
export interface ChainEventData {
  epoch: number
  attempts: number
  /** The cause of the last attempt's failure; null if it did not fail. */
  cause?: string | null
  reason?: string | null
  runningSeconds?: number
  waitingSeconds?: number
}

/** `data` of the event that the outputs of an attempt are settled. */
export interface OutputsEventData {
  /** An OutputsState. */
  state: string
  files: number
  bytes: number
}

/** `data` of the events about a group of failures, of which the session is the first. */
export interface FailureGroupEventData {
  failureGroupId: string
  /** The title of the group. */
  reason: string
  cause: string | null
}

/** `data` of the events about a deployment and its routes, by type. */
export interface DeploymentEventData {
  'deployment.created': { replicas: number; revision: number }
  /** Numbers of replicas. */
  'deployment.scaled': { from: number; to: number }
  /** Revision numbers. */
  'deployment.updated': { from: number; to: number }
  'deployment.status_changed': { from: string; to: string; reason?: string | null }
  'deployment.destroyed': { reason?: string | null }
  /** `from` is null for a new route; host and port are unknown at first. */
  'route.status_changed': {
    from: string | null
    to: string
    reason?: string | null
    sessionId: string
    revision: number
    host?: string | null
    port?: number | null
  }
}

/** `data` of the event that a group has ended. */
export interface GroupEventData {
  /** A GroupOutcome. */
  outcome: string
  reason: string
  /** How often the group was reopened before. */
  epoch: number
  counts: { total: number; succeeded: number; failed: number; cancelled: number }
  /** The failed members with the smallest indexes. */
  failures: { index: number; chainId: string; sessionId: string; cause: string | null }[]
}

/** What the attempts of a project that ended in a week came to; `docs/insights.md` defines each figure. */
export interface WeeklyFigures {
  attempts: number
  failed: number
  retries: number
  chainsSaved: number
  chainsLost: number
  /** CPUs, bytes and GPUs, times seconds. */
  slotSecondsLost: { cpu: number; mem: number; gpu: number }
  /** Null without any attempt. */
  effectiveShare: number | null
}

/** `data` of the weekly summary of a project. */
export interface WeeklyEventData {
  /** Monday 00:00 (UTC), and a week later; ISO 8601. */
  from: string
  to: string
  figures: WeeklyFigures
  /** Of the week before. */
  before: WeeklyFigures
  /** Those that cost most. */
  failureGroups: { failureGroupId: string; title: string; failed: number; cpuSecondsLost: number }[]
}

interface OutboxRow {
  cursor: EventCursor
  projectId: string
  occurredAt: Date
}

export interface SessionOutboxEvent extends OutboxRow {
  type: SessionEventType
  sessionId: string
  chainId: string
  deploymentId: null
  routeId: null
  groupId: null
  data: StatusEventData | RetryEventData | ChainEventData | OutputsEventData | FailureGroupEventData
}

export interface DeploymentOutboxEvent extends OutboxRow {
  type: DeploymentEventType
  sessionId: null
  chainId: null
  deploymentId: string
  /** Set if the event is about a route of the deployment. */
  routeId: string | null
  groupId: null
  data: DeploymentEventData[DeploymentEventType]
}

export interface GroupOutboxEvent extends OutboxRow {
  type: GroupEventType
  sessionId: null
  chainId: null
  deploymentId: null
  routeId: null
  groupId: string
  data: GroupEventData
}

export interface ProjectOutboxEvent extends OutboxRow {
  type: ProjectEventType
  sessionId: null
  chainId: null
  deploymentId: null
  routeId: null
  groupId: null
  data: WeeklyEventData
}

/** One row of the outbox, about a session, a deployment, a group or a project. */
export type OutboxEvent = SessionOutboxEvent | DeploymentOutboxEvent | GroupOutboxEvent | ProjectOutboxEvent

export function isProjectEvent(event: OutboxEvent): event is ProjectOutboxEvent {
  return PROJECT_EVENT_TYPES.some((type) => type === event.type)
}

/** A filter of events; all given conditions must match. */
export interface EventFilter {
  projectId?: string | null
  chainId?: string | null
  /** The event's chain must be one of these. */
  chainIds?: ReadonlySet<string> | null
  sessionId?: string | null
  deploymentId?: string | null
  types?: ReadonlySet<EventType> | null
  /** Conditions on the labels of the session or deployment; events do not carry them, so statements check them. */
  labels?: readonly { key: string; present: boolean; values: readonly string[] | null }[] | null
}

/** Checks all conditions except `labels`. */
export function eventMatches(event: OutboxEvent, filter: EventFilter): boolean {
  const { projectId, chainId, chainIds, sessionId, deploymentId, types } = filter
  if (sessionId && sessionId !== event.sessionId) return false
  if (chainId && chainId !== event.chainId) return false
  if (chainIds && (event.chainId === null || !chainIds.has(event.chainId))) return false
  if (deploymentId && deploymentId !== event.deploymentId) return false
  if (projectId && projectId !== event.projectId) return false
  return !types || types.has(event.type)
}

/**
 * The fields of an event besides its subject, named as in webhooks and REST. Events of one type have the same fields.
 */
export function sessionEventFields(event: SessionOutboxEvent['data']): object {
  if ('to' in event) return statusFields(event)
  if ('files' in event) return { outputs_state: event.state, files: event.files, bytes: event.bytes }
  if ('failureGroupId' in event) {
    const { failureGroupId, reason, cause } = event
    return { failure_group_id: failureGroupId, reason, cause: cause ?? null }
  }
  return 'attempts' in event ? chainFields(event) : retryFields(event)
}

type Fields = { [Type in DeploymentEventType]: (event: DeploymentEventData[Type], routeId: string | null) => object }

const DEPLOYMENT_FIELDS: Fields = {
  'deployment.created': ({ replicas, revision }) => ({ replicas, revision }),
  'deployment.scaled': ({ from, to }) => ({ previous_replicas: from, replicas: to }),
  'deployment.updated': ({ from, to }) => ({ previous_revision: from, revision: to }),
  'deployment.status_changed': ({ from, to, reason }) => ({
    previous_status: from,
    status: to,
    reason: reason ?? null,
  }),
  'deployment.destroyed': ({ reason }) => ({ reason: reason ?? null }),
  'route.status_changed': ({ from, to, reason, sessionId, revision, host, port }, routeId) => ({
    route_id: routeId,
    session_id: sessionId,
    revision,
    previous_status: from,
    status: to,
    reason: reason ?? null,
    host: host ?? null,
    port: port ?? null,
  }),
}

/** The fields of an event about a deployment or one of its routes. */
export function deploymentEventFields<Type extends DeploymentEventType>(
  type: Type,
  event: DeploymentEventData[Type],
  routeId: string | null,
): object {
  return DEPLOYMENT_FIELDS[type](event, routeId)
}

/** The fields of the event that a group has ended. */
export function groupEventFields({ outcome, reason, epoch, counts, failures }: GroupEventData): object {
  const named = failures.map(({ index, chainId, sessionId, cause }) => ({
    index,
    chain_id: chainId,
    session_id: sessionId,
    cause,
  }))
  return { outcome, reason, epoch, counts, failures: named }
}

/** The fields of the weekly summary of a project. */
export function weeklyEventFields({ from, to, figures, before, failureGroups }: WeeklyEventData): object {
  const groups = failureGroups.map(({ failureGroupId, title, failed, cpuSecondsLost }) => ({
    failure_group_id: failureGroupId,
    title,
    failed,
    cpu_seconds_lost: cpuSecondsLost,
  }))
  return { from, to, ...figureFields(figures), week_before: figureFields(before), failure_groups: groups }
}

function figureFields(figures: WeeklyFigures): object {
  const { attempts, failed, retries, chainsSaved, chainsLost, slotSecondsLost, effectiveShare } = figures
  return {
    attempts,
    failed,
    retries,
    chains_saved: chainsSaved,
    chains_lost: chainsLost,
    slot_seconds_lost: slotSecondsLost,
    effective_share: effectiveShare,
  }
}

/** A position in the outbox: transaction id, then row id, both decimal. */
export interface EventCursor {
  xid: bigint
  id: bigint
}

export function compareCursors(a: EventCursor, b: EventCursor): number {
  if (a.xid !== b.xid) return a.xid < b.xid ? -1 : 1
  if (a.id !== b.id) return a.id < b.id ? -1 : 1
  return 0
}

/** Encodes a cursor as text that is opaque to clients. */
export function encodeCursor(cursor: EventCursor): string {
  return btoa(`${cursor.xid}:${cursor.id}`).replaceAll('=', '')
}

/** Decodes a cursor; undefined if the text is not one. */
export function decodeCursor(text: string): EventCursor | undefined {
  if (!/^[A-Za-z0-9+/]{1,80}$/.test(text)) return undefined
  const match = /^(\d{1,20}):(\d{1,19})$/.exec(safeAtob(text))
  if (!match) return undefined
  const cursor = { xid: BigInt(match[1]!), id: BigInt(match[2]!) }
  return cursor.xid <= XID_MAX && cursor.id <= ID_MAX ? cursor : undefined
}

function statusFields(event: StatusEventData): object {
  return { previous_status: event.from, status: event.to, reason: event.reason ?? null }
}

function retryFields(event: RetryEventData): object {
  return {
    attempt: event.attempt,
    max_attempts: event.maxAttempts,
    cause: event.cause,
    reason: event.reason,
    delay_seconds: event.delaySeconds,
    due_at: event.scheduledAt,
    // The former name of `due_at`.
    scheduled_at: event.scheduledAt,
    child_session_id: event.childSessionId,
  }
}

function chainFields(event: ChainEventData): object {
  return {
    epoch: event.epoch,
    attempts: event.attempts,
    cause: event.cause ?? null,
    reason: event.reason ?? null,
    running_seconds: event.runningSeconds ?? null,
    waiting_seconds: event.waitingSeconds ?? null,
  }
}

const XID_MAX = 2n ** 64n - 1n
const ID_MAX = 2n ** 63n - 1n

function safeAtob(text: string): string {
  try {
    return atob(text)
  } catch {
    return ''
  }
}
