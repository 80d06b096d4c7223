import type { ResubmissionOverrides } from '../../domain/resubmission/overrides.ts'
import { mayReadEnviron } from '../access/authorize.ts'
import type { Viewer } from '../service-context.ts'

/** Stands for a value that the viewer may not read. */
export const REDACTED = '[redacted]'

export interface ShownVariable {
  name: string
  value: string
  /** Whether `value` only stands for the real one. */
  redacted?: true
}

/** An environment as this viewer may read it: the names, and the values or what stands for them. */
export function shownEnviron(
  viewer: Pick<Viewer, 'role'>,
  environ: readonly { name: string; value: string }[],
): ShownVariable[] {
  return mayReadEnviron(viewer) ? [...environ] : redactedEnviron(environ)
}

export function redactedEnviron(environ: readonly { name: string }[]): ShownVariable[] {
  return environ.map(({ name }) => ({ name, value: REDACTED, redacted: true }))
}

/** The overrides of a resubmission as this viewer may read them. */
export function shownOverrides(viewer: Pick<Viewer, 'role'>, overrides: object): object {
  return mayReadEnviron(viewer) ? withoutSecrets(overrides) : auditedOverrides(overrides)
}

/** Without values of the environment: what is written down for good is read by more people than may read these. */
export function auditedOverrides(overrides: ResubmissionOverrides): object {
  const { environ } = overrides
  return withoutSecrets(environ === undefined ? overrides : { ...overrides, environ: redactedEnviron(environ) })
}

/** Nobody reads these, encrypted or not. */
function withoutSecrets(overrides: Omit<ResubmissionOverrides, 'environ'>): object {
  const { secretEnviron } = overrides
  return secretEnviron === undefined ? overrides : { ...overrides, secretEnviron: redactedEnviron(secretEnviron) }
}

/** A changed or overridden field as this viewer may read it: of a variable, that it changed, was added or removed. */
export function shownField(viewer: Pick<Viewer, 'role'>, field: string, value: string | null): string | null {
  if (value === null) return null
  const readable = field.startsWith('environ.') ? mayReadEnviron(viewer) : !field.startsWith('secretEnviron.')
  return readable ? value : REDACTED
}
