import type { SealedVariable } from '../session/kernel-environment.ts'
import type { GpuNeed } from '../gpu.ts'
import { SHIPPED_POLICY } from '../retry/policy/policy.ts'

/** An attempt's spec as plain JSON, by field; amounts are decimals as text. */
export type AttemptSpec = Readonly<Record<string, unknown>>

/**
 * One field that changed. Text is shown as it is, a secret as its digest, any other value as JSON; null means no value.
 */
export interface SpecDifference {
  /** `image`, or the path of a nested value: `resourceSlots.mem`, `environ.LR`, `retryPolicy.maxRetries`. */
  field: string
  before: string | null
  after: string | null
}

/** Compares two specs; the result is sorted by field. */
export function specDifference(before: AttemptSpec, after: AttemptSpec): SpecDifference[] {
  const old = flatten(before)
  const now = flatten(after)
  return [...new Set([...old.keys(), ...now.keys()])]
    .toSorted()
    .map((field) => ({ field, before: old.get(field) ?? null, after: now.get(field) ?? null }))
    .filter((difference) => difference.before !== difference.after)
}

/** A value that a resubmission set, and its value in the attempt before. */
export interface SpecOverride {
  field: string
  value: string | null
  before: string | null
}

/** Lists the overrides of a resubmission, one entry per value, sorted by field. */
export function flattenOverrides(overrides: Record<string, unknown>, specBefore: AttemptSpec): SpecOverride[] {
  const old = flatten(specBefore)
  return Object.entries(overrides)
    .flatMap(([field, value]) => entriesOf(field, value))
    .map(([field, value]) => ({ field, value: textOf(value), before: old.get(field) ?? null }))
    .toSorted((a, b) => (a.field < b.field ? -1 : 1))
}

function flatten(spec: AttemptSpec): Map<string, string> {
  const entries = Object.entries(spec).flatMap(([field, value]) => entriesOf(field, whole(field, value)))
  return new Map(entries.flatMap(([field, value]) => pairOf(field, textOf(value))))
}

/** Adds the fields of a policy that a session does not store, because they have their shipped value. */
function whole(field: string, value: unknown): unknown {
  return field === 'retryPolicy' && typeof value === 'object' ? { ...SHIPPED_POLICY, ...value } : value
}

function pairOf(field: string, text: string | null): [string, string][] {
  return text === null ? [] : [[field, text]]
}

function entriesOf(field: string, value: unknown): [string, unknown][] {
  if (field === 'environ' && Array.isArray(value)) {
    const variables = value as { name: string; value: string }[]
    return variables.map(({ name, value: text }) => [`environ.${name}`, text])
  }
  if (field === 'secretEnviron' && Array.isArray(value)) {
    const variables = value as SealedVariable[]
    return variables.map(({ name, digest }) => [`secretEnviron.${name}`, digest])
  }
  if (field === 'gpuNeed') {
    const { model, memoryBytes } = (value ?? {}) as Partial<GpuNeed>
    const entries: [string, unknown][] = [
      ['gpus.model', model],
      ['gpus.memory', memoryBytes],
    ]
    return entries.filter(([, each]) => each !== undefined)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[field, value]]
  return Object.entries(value).map(([name, each]) => [`${field}.${name}`, each])
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}
