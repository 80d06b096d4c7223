import { causeInWords } from '../design/causes.ts'
import { amountWords } from '../words/amount.ts'

const STATES: Readonly<Record<string, string>> = {
  LIVE: 'running',
  WAITING_RETRY: 'waiting for a retry',
  HELD: 'held',
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
}

/** What selected the sessions, a condition each: `failed`, `out of memory`, `team=cms`, `project research`. */
export function filterInWords(filter: string | null): string[] {
  if (filter === null) return ['named one by one']
  const { chains, ...conditions } = JSON.parse(filter) as Record<string, unknown>
  return Object.entries((chains as object | undefined) ?? conditions).map(([name, value]) =>
    conditionInWords(name, value),
  )
}

function conditionInWords(name: string, value: unknown): string {
  switch (name) {
    case 'state':
      return (value as string[]).map((state) => STATES[state] ?? state).join(' or ')
    case 'cause':
    case 'failureCause':
      return (value as string[]).map((cause) => causeInWords(cause, null)).join(' or ')
    case 'label': {
      const { key, value: of } = value as { key: string; value: string }
      return `${key}=${of}`
    }
    case 'search':
      return `“${String(value)}”`
    case 'activityAt':
    case 'createdAt':
    case 'dueAt':
      return `${TIMES[name]} ${Object.entries(value as object)
        .map(([bound, at]) => `${BOUNDS[bound]} ${minute(String(at))}`)
        .join(' and ')}`
    default:
      return `${name} ${typeof value === 'string' || typeof value === 'number' ? value : JSON.stringify(value)}`
  }
}

const TIMES = { activityAt: 'active', createdAt: 'created', dueAt: 'due' }
const BOUNDS: Readonly<Record<string, string>> = { gt: 'after', gte: 'since', lt: 'before', lte: 'until' }

/** `2026-01-31 12:04 UTC` */
function minute(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`
}

/** What is changed, or with what force and reason: `priority 7`, `mem 8g`. */
export function overridesInWords(overrides: string): string[] {
  const given = Object.entries(JSON.parse(overrides) as Record<string, unknown>)
  return given.flatMap(([name, value]) => {
    if (Array.isArray(value)) return value.map((each) => pairInWords(name, each))
    if (value !== null && typeof value === 'object') {
      return Object.entries(value).map(([key, each]) => `${key} ${amountWords(key, String(each))}`)
    }
    return value === true ? [name] : [`${name} ${String(value)}`]
  })
}

function pairInWords(list: string, pair: unknown): string {
  if (pair === null || typeof pair !== 'object') return `${list} ${String(pair)}`
  const { name, value } = pair as { name?: string; value?: string }
  return value === undefined ? String(name) : `${name} = ${value}`
}
