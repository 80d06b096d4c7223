import type {
  AgentStatus,
  DeploymentStatus,
  BulkActionItemStatus,
  FailureGroupOrder,
  InsightGrouping,
  SessionOrder,
  SessionAction,
  SessionType,
  UsageGrouping,
} from '../../../client/schema-types.generated.ts'
import { CAUSES, RETRIED_CAUSES } from '../causes.ts'
import { RANGES } from './time-range.ts'

/** The words of addresses, each with the API's value. */

export const AGENT_STATUSES = {
  alive: 'ALIVE',
  suspect: 'SUSPECT',
  lost: 'LOST',
  draining: 'DRAINING',
  removed: 'TERMINATED',
} as const satisfies Record<string, AgentStatus>

/** The tabs in their order, each with the state of the chains that it shows. */
export const STATE_TABS = {
  queued: 'QUEUED',
  impossible: 'IMPOSSIBLE',
  running: 'RUNNING',
  waiting: 'WAITING_RETRY',
  held: 'HELD',
  failed: 'FAILED',
  succeeded: 'SUCCEEDED',
  cancelled: 'CANCELLED',
} as const
export type StateTab = keyof typeof STATE_TABS

/** The words for times in addresses, in hours. */
export const SINCE = { '1h': 1, '24h': 24, '7d': 168, '30d': 720, '31d': 744 } as const
export type SinceWord = keyof typeof SINCE

/** The orders of the list; with `-`, the largest or newest first. */
export const ORDERS = {
  '-latest': { field: 'ACTIVITY', direction: 'DESC' },
  latest: { field: 'ACTIVITY', direction: 'ASC' },
  name: { field: 'NAME', direction: 'ASC' },
  '-name': { field: 'NAME', direction: 'DESC' },
  '-attempts': { field: 'ATTEMPTS', direction: 'DESC' },
  attempts: { field: 'ATTEMPTS', direction: 'ASC' },
  '-total': { field: 'TOTAL_TIME', direction: 'DESC' },
  total: { field: 'TOTAL_TIME', direction: 'ASC' },
  '-created': { field: 'CREATED_AT', direction: 'DESC' },
  created: { field: 'CREATED_AT', direction: 'ASC' },
  due: { field: 'DUE_AT', direction: 'ASC' },
} as const
export type OrderWord = keyof typeof ORDERS
export const DEFAULT_ORDER: OrderWord = '-latest'

export const SESSION_ORDERS = {
  name: { field: 'NAME', direction: 'ASC' },
  '-name': { field: 'NAME', direction: 'DESC' },
  attempt: { field: 'ATTEMPT', direction: 'ASC' },
  '-attempt': { field: 'ATTEMPT', direction: 'DESC' },
  since: { field: 'STATUS_CHANGED_AT', direction: 'ASC' },
  '-since': { field: 'STATUS_CHANGED_AT', direction: 'DESC' },
  created: { field: 'CREATED_AT', direction: 'ASC' },
  '-created': { field: 'CREATED_AT', direction: 'DESC' },
} as const satisfies Record<string, SessionOrder>

const { attempt: _, '-attempt': __, ...deploymentOrders } = SESSION_ORDERS
export const DEPLOYMENT_ORDERS = deploymentOrders
/** The order of sessions and of deployments. */
export const NEWEST_FIRST = '-created'

/** The server no longer writes two of these, but an old database may have them. */
export const MOVING: DeploymentStatus[] = ['PENDING', 'CREATED', 'DEPLOYING', 'SCALING']
export const DEPLOYMENT_STATUSES = {
  ready: ['READY'],
  moving: MOVING,
  ending: ['DESTROYING'],
  destroyed: ['DESTROYED'],
} satisfies Record<string, DeploymentStatus[]>

export const GROUPINGS = {
  cause: 'CAUSE',
  exit: 'EXIT_CODE',
  name: 'NAME',
  label: 'LABEL',
  agent: 'AGENT',
} as const
export type GroupingWord = keyof typeof GROUPINGS

export const INSIGHT_GROUPINGS = {
  cause: 'CAUSE',
  exit: 'EXIT_CODE',
  message: 'FAILURE_GROUP',
  rule: 'RULE',
  name: 'NAME',
  user: 'USER',
  project: 'PROJECT',
  label: 'LABEL',
  batch: 'SESSION_GROUP',
  image: 'IMAGE',
  agent: 'AGENT',
  group: 'RESOURCE_GROUP',
} as const satisfies Record<string, InsightGrouping>
export type InsightWord = keyof typeof INSIGHT_GROUPINGS

export const USAGE_GROUPINGS = {
  user: 'USER',
  project: 'PROJECT',
  label: 'LABEL',
  name: 'NAME',
  group: 'RESOURCE_GROUP',
} as const satisfies Record<string, UsageGrouping>
export type UsageWord = keyof typeof USAGE_GROUPINGS

/** The orders of failures by what they say. */
export const MESSAGE_ORDERS = {
  attempts: 'ATTEMPTS',
  latest: 'LATEST',
  lost: 'LOST',
} as const satisfies Record<string, FailureGroupOrder>

export const ITEM_STATUSES = {
  done: 'DONE',
  refused: 'REFUSED',
  left: 'PENDING',
} as const satisfies Record<string, BulkActionItemStatus>

export const BULK_ACTIONS = {
  resubmit: 'RESUBMIT',
  'retry-now': 'RETRY_NOW',
  'cancel-retry': 'CANCEL_RETRY',
  terminate: 'TERMINATE',
} as const satisfies Record<string, SessionAction>

export const PHASES = { waiting: 'SCHEDULED', held: 'HELD' } as const

export const HOLD_REASONS = {
  switch: 'DISABLED',
  rate: 'RATE_LIMITED',
  quota: 'QUOTA',
  alive: 'PARENT_ALIVE',
  breaker: 'BREAKER',
} as const

/** The words, each with whether the group has ended. */
export const GROUP_STATUSES = { live: false, ended: true } as const

/** The words, each with whether the schedule is paused. */
export const SCHEDULE_STATUSES = { active: false, paused: true } as const

export const SESSION_TYPES = {
  batch: 'BATCH',
  interactive: 'INTERACTIVE',
  inference: 'INFERENCE',
} as const satisfies Record<string, SessionType>

export const SESSION_STATUSES = {
  waiting: { status: ['PENDING'] },
  starting: { status: ['SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING'] },
  running: { status: ['RUNNING'] },
  ending: { status: ['TERMINATING'] },
  succeeded: { status: ['TERMINATED'], result: ['SUCCESS'] },
  failed: { status: ['ERROR'] },
  terminated: { status: ['TERMINATED', 'CANCELLED'], result: ['UNDEFINED'] },
} as const

export const DELIVERIES = { pending: 'PENDING', failed: 'FAILED', delivered: 'DELIVERED' } as const

const TEXT_LENGTH_MAX = 200

/** Returns undefined for a value that it does not understand. */
type Reader = (value: unknown) => string | number | undefined

const text = (value: unknown): string | undefined => {
  const given = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  return typeof given === 'string' && given !== '' && given.length <= TEXT_LENGTH_MAX ? given : undefined
}
/** A time in the server's format, or a shorter form: `2026-11-23`, `2026-11-23T14:00Z`. */
const moment = (value: unknown): string | undefined => {
  const given = text(value)
  const at = given !== undefined && /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(given) ? Date.parse(given) : NaN
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}
const uuid = (value: unknown): string | undefined =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text(value) ?? '') ? text(value) : undefined
/** `team:cms` */
const label = (value: unknown): string | undefined => (/^[^:]+:/.test(text(value) ?? '') ? text(value) : undefined)
/** A whole number from 1. */
const wholeNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
const oneOf =
  <Table extends object>(table: Table) =>
  (value: unknown): (keyof Table & string) | undefined =>
    typeof value === 'string' && Object.hasOwn(table, value) ? (value as keyof Table & string) : undefined

/** The parameters of each page's address. An address shows a colleague the same page. */
const PARAMETERS = {
  overview: { range: oneOf(RANGES), project: text },
  chains: {
    state: oneOf(STATE_TABS),
    /** The type of its sessions; by default all but replicas of deployments. */
    type: oneOf(SESSION_TYPES),
    cause: oneOf(CAUSES),
    label,
    q: text,
    project: text,
    /** The exact name. */
    name: text,
    /** An attempt failed for this cause, or `any`, even if a later one succeeded. */
    failed: oneOf({ ...CAUSES, any: true }),
    /** An attempt failed with this exit code. */
    exit: wholeNumber,
    /** An attempt failed on the agent with this id. */
    agent: uuid,
    /** The time since the latest activity; with a filter for failed attempts, since one of them failed. */
    since: oneOf(SINCE),
    /** The same time, at or after this moment. */
    from: moment,
    /** The same time, before this moment. */
    to: moment,
    /** The least number of attempts. */
    attempts: wholeNumber,
    /** Members of the group of sessions with this id. */
    group: uuid,
    order: oneOf(ORDERS),
  },
  newSession: { project: text },
  retries: {
    phase: oneOf(PHASES),
    /** The hold reason. */
    reason: oneOf(HOLD_REASONS),
    cause: oneOf(RETRIED_CAUSES),
    project: text,
  },
  failures: {
    range: oneOf(RANGES),
    by: oneOf(GROUPINGS),
    cause: oneOf(CAUSES),
    /** The bars show shares, not numbers. */
    view: oneOf({ share: true }),
    project: text,
    /** The order of the messages. */
    order: oneOf(MESSAGE_ORDERS),
    /** `show=all`: with muted and resolved messages. */
    show: oneOf({ all: true }),
  },
  failure: { range: oneOf(RANGES) },
  /** `group`: the resource group. The project is only kept for other pages. */
  queue: { group: text, project: text },
  advice: { show: oneOf({ open: true, applied: true, dismissed: true }), project: text },
  /** `key` is that of the label to group by. */
  insights: { range: oneOf(RANGES), by: oneOf(INSIGHT_GROUPINGS), key: text, project: text },
  usage: { range: oneOf(RANGES), by: oneOf(USAGE_GROUPINGS), key: text, project: text },
  /** Agents belong to all projects; the project is only kept for other pages. */
  agents: { status: oneOf(AGENT_STATUSES), group: text, project: text },
  /** `q` is a part of the name. */
  deployments: { status: oneOf(DEPLOYMENT_STATUSES), q: text, project: text, order: oneOf(DEPLOYMENT_ORDERS) },
  schedules: { status: oneOf(SCHEDULE_STATUSES), q: text, project: text },
  /** `q` is the beginning of the name or of the key. */
  groups: { status: oneOf(GROUP_STATUSES), q: text, project: text },
  /** `from`: the members are shown from this index on. */
  group: { from: wholeNumber },
  sessions: {
    type: oneOf(SESSION_TYPES),
    status: oneOf(SESSION_STATUSES),
    /** A part of the name. */
    q: text,
    /** The id of an agent that has or had one of its kernels. */
    agent: uuid,
    /** The id of the group of failures that it belongs to. */
    failure: uuid,
    /** The resource group. */
    group: text,
    project: text,
    order: oneOf(SESSION_ORDERS),
  },
  /** `after` is the cursor after which the page begins. The project is only kept for other pages. */
  bulkActions: { action: oneOf(BULK_ACTIONS), after: text, project: text },
  /** `show`: which of its chains are listed. */
  bulkAction: { show: oneOf(ITEM_STATUSES) },
  /** The chosen project is kept on all pages of the settings. */
  settings: { project: text },
  /** `show=all`: with revoked and expired tokens. */
  tokens: { project: text, show: oneOf({ all: true }) },
  webhook: { project: text, status: oneOf(DELIVERIES) },
  /** `action` and `actor` are parts of names; `by`: the server itself, or anybody else. */
  audit: {
    project: text,
    action: text,
    actor: text,
    outcome: oneOf({ refused: true, done: true }),
    by: oneOf({ people: true, server: true }),
  },
} satisfies Record<string, Record<string, Reader>>

export type SearchPage = keyof typeof PARAMETERS
type ReadersOf<Of extends SearchPage> = (typeof PARAMETERS)[Of]
type Understood<Read> = Read extends (value: unknown) => infer Value ? Exclude<Value, undefined> : never

type Whole<Part> = { [Name in keyof Part]: Part[Name] }

/** The parsed parameters of a page's address. */
export type SearchOf<Of extends SearchPage> = Whole<
  { [Name in keyof ReadersOf<Of>]?: Understood<ReadersOf<Of>[Name]> } & {
    /** The names of query parameters that could not be parsed. */
    dropped?: string[]
  }
>

/** Parses the parameters of a page's address. Lists the names of those that it cannot parse in `dropped`. */
export function searchReader<Of extends SearchPage>(page: Of): (given: Record<string, unknown>) => SearchOf<Of> {
  const readers: Readonly<Record<string, Reader>> = PARAMETERS[page]
  return (given) => {
    // Sets every parameter, also those that cannot be parsed: the router keeps the given value of missing ones.
    const read = Object.fromEntries<ReturnType<Reader>>(Object.keys(readers).map((name) => [name, undefined]))
    // The router writes the result into the address, and parses that again.
    const before: unknown[] = Array.isArray(given['dropped']) ? given['dropped'].slice(0, 10) : []
    const dropped = before.filter((name) => typeof name === 'string').map((name) => name.slice(0, 40))
    for (const [name, value] of Object.entries(given)) {
      if (value === undefined || name === 'dropped') continue
      const understood = Object.hasOwn(readers, name) ? readers[name]!(value) : undefined
      if (understood === undefined) dropped.push(name.slice(0, 40))
      read[name] = understood
    }
    return { ...read, ...(dropped.length > 0 && { dropped }) } as SearchOf<Of>
  }
}
