import type { Draft } from '../../policy/policy-fields.ts'
import { ALL_FIELDS } from './airflow-fields.ts'

/** What the address says about a policy: what is typed, by names of fields. */
export interface PolicySearch {
  /** The settings are those of an operator of Airflow. */
  from?: 'airflow'
  /** What of the address was not understood, and is left out. */
  dropped?: string[]
  [field: string]: unknown
}

const TEXT_LENGTH_MAX = 200
const RULES_LENGTH_MAX = 4_000

/** What is not understood is left out, and named. Wrong values stay: they are said at their fields. */
export function readPolicySearch(given: Record<string, unknown>): PolicySearch {
  const read: PolicySearch = {}
  const dropped: string[] = []
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || name === 'dropped') continue
    const text = textOf(value)
    const isRules = name === 'rules'
    const isKnown = name === 'from' ? text === 'airflow' : ALL_FIELDS.some((field) => field.name === name)
    if (!isKnown || text === '' || text.length > (isRules ? RULES_LENGTH_MAX : TEXT_LENGTH_MAX)) dropped.push(name)
    else read[name] = value
  }
  return { ...read, ...(dropped.length > 0 && { dropped }) }
}

export function draftOf(search: PolicySearch): Draft {
  const { from: _, dropped: __, ...fields } = search
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, textOf(value)]))
}

/** As short as the address can have it: numbers and lists without quotes. */
export function searchOf(draft: Draft, from: PolicySearch['from']): PolicySearch {
  const given = Object.entries(draft).filter(([, text]) => text.trim() !== '')
  return { ...(from && { from }), ...Object.fromEntries(given.map(([name, text]) => [name, plain(text.trim())])) }
}

function plain(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return textOf(value) === text || Array.isArray(value) ? value : text
  } catch {
    return text
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
