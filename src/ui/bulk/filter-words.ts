import { causeInWords, HOLDS } from '../design/causes.ts'

/** The conditions that selected the sessions: `failed`, `out of memory`, `team=cms`, `project research`. */
export function filterInWords(filter: unknown): string[] {
  if (filter === null) return ['named one by one']
  const { chains, ...conditions } = filter as Record<string, unknown>
  return Object.entries((chains as object | undefined) ?? conditions).flatMap(([name, value]) =>
    value === null ? [] : conditionInWords(name, value),
  )
}

const STATES: Readonly<Record<string, string>> = {
  QUEUED: 'queued',
  IMPOSSIBLE: 'impossible',
  RUNNING: 'running',
  LIVE: 'queued or running',
  WAITING_RETRY: 'waiting for a retry',
  HELD: 'held',
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
}

const TIMES: Readonly<Record<string, string>> = {
  activityAt: 'active',
  createdAt: 'created',
  dueAt: 'due',
  startedAt: 'started',
  terminatedAt: 'ended',
}

/** The words before a value, where they are not the name of the field. */
const NAMES: Readonly<Record<string, string>> = {
  resourceGroup: 'group',
  idPrefix: 'id begins with',
  chainId: 'chain',
  dependsOn: 'depends on',
  failureReason: 'reason',
  failureGroup: 'group of failures',
}

function conditionInWords(name: string, value: unknown): string[] {
  const time = TIMES[name]
  if (time !== undefined) return [`${time} ${boundsInWords(value)}`]
  switch (name) {
    case 'state':
      return [eachOf(value, (state) => STATES[state] ?? state)]
    case 'cause':
    case 'failureCause':
      return [eachOf(value, (cause) => causeInWords(cause, null))]
    case 'holdReason':
      return [`held: ${eachOf(value, (reason) => (HOLDS as Readonly<Record<string, string>>)[reason] ?? reason)}`]
    case 'sessionType':
    case 'status':
    case 'result':
    case 'origin':
    case 'retryPhase':
      return [eachOf(value, (each) => each.toLowerCase().replaceAll('_', ' '))]
    case 'exitCode':
      return [`exit code ${eachOf(value, String)}`]
    case 'timedOut':
      return [value === true ? 'timed out' : 'not timed out']
    case 'label':
      return [labelInWords(value)]
    case 'labels':
      return (value as unknown[]).map(labelInWords)
    case 'OR':
      return [(value as unknown[]).map((each) => allOf(each)).join(' or ')]
    case 'AND':
      return (value as unknown[]).flatMap(filterInWords)
    case 'NOT':
      return [`not ${allOf(value)}`]
    case 'failed':
      return [`an attempt failed: ${allOf(value)}`]
    case 'at':
      return [boundsInWords(value)]
    case 'search':
      return [`“${String(value)}”`]
    default:
      return [`${NAMES[name] ?? spaced(name)} ${valueInWords(value)}`]
  }
}

/** `(failed, project a)` */
function allOf(filter: unknown): string {
  return `(${filterInWords(filter).join(', ')})`
}

/** `1 or 3` */
function eachOf(value: unknown, words: (each: string) => string): string {
  return (Array.isArray(value) ? value : [value]).map((each) => words(String(each))).join(' or ')
}

/** `team=cms`, `team=cms or atlas`, `with team`, `without team` */
function labelInWords(label: unknown): string {
  const { key, value, equals, in: among, exists } = label as Record<string, unknown>
  if (exists !== undefined && exists !== null) return `${exists === true ? 'with' : 'without'} ${String(key)}`
  return `${String(key)}=${eachOf(among ?? equals ?? value, String)}`
}

/** A value of any other field: a text, a list, a pattern of texts, or a range. */
function valueInWords(value: unknown): string {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return eachOf(value, String)
  const given = Object.entries(value).filter(([, each]) => each !== null)
  if (given.some(([bound]) => !(bound in PATTERNS))) return JSON.stringify(value)
  return given.map(([bound, each]) => `${PATTERNS[bound]}${eachOf(each, String)}`).join(' and ')
}

const PATTERNS: Readonly<Record<string, string>> = {
  equals: '',
  in: '',
  contains: 'contains ',
  startsWith: 'begins with ',
  endsWith: 'ends with ',
  gt: '> ',
  gte: '≥ ',
  lt: '< ',
  lte: '≤ ',
  min: '≥ ',
  max: '≤ ',
}

const BOUNDS: Readonly<Record<string, string>> = { gt: 'after', gte: 'since', lt: 'before', lte: 'until' }

function boundsInWords(value: unknown): string {
  return Object.entries(value as object)
    .filter(([, at]) => at !== null)
    .map(([bound, at]) => `${BOUNDS[bound]} ${minute(String(at))}`)
    .join(' and ')
}

/** `retry count` for `retryCount` */
function spaced(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** `2026-01-31 12:04 UTC` */
function minute(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`
}
