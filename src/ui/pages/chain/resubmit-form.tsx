import { useState } from 'react'
import { useQuery } from 'urql'
import { UiSpecDocument, type UiResubmitMutationVariables, type UiSpecQuery } from './chain.generated.ts'
import { amountWords } from './spec-words.ts'

export type Overrides = UiResubmitMutationVariables['overrides']
type Spec = NonNullable<UiSpecQuery['session']>

interface Props {
  sessionId: string
  isBusy: boolean
  onCancel: () => void
  onSubmit: (overrides: Overrides) => void
}

interface Field {
  name: string
  label: string
  value: string
  /** What it is, for those who type another. */
  hint?: string
}

/** What a resubmission may change, filled with what the chain has. What was left as it is, is not sent. */
export function ResubmitForm({ sessionId, isBusy, onCancel, onSubmit }: Props) {
  const [{ data }] = useQuery({ query: UiSpecDocument, variables: { sessionId } })
  const spec = data?.session
  if (!spec) return <div className="skeleton skeleton-form" aria-busy="true" />
  return <Filled spec={spec} {...{ isBusy, onCancel, onSubmit }} />
}

function Filled({ spec, isBusy, onCancel, onSubmit }: Omit<Props, 'sessionId'> & { spec: Spec }) {
  const fields = fieldsOf(spec)
  const [values, setValues] = useState<Record<string, string>>({})
  const changed = fields.filter(({ name, value }) => values[name] !== undefined && values[name] !== value)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) onSubmit(overridesOf(changed, values))
      }}
    >
      <p className="dialog-note">A new budget of retries begins. Change what should be different:</p>
      <div className="form-fields">
        {fields.map(({ name, label, value, hint }) => (
          <label key={name} className="field">
            <span>{label}</span>
            <input
              type="text"
              value={values[name] ?? value}
              title={hint}
              spellCheck={false}
              onChange={(event) => setValues((last) => ({ ...last, [name]: event.target.value }))}
            />
          </label>
        ))}
      </div>
      <p className="dialog-note" aria-live="polite">
        {changed.length === 0
          ? 'Nothing is changed.'
          : changed
              .map(({ name, label, value }) => `${label} ${value || 'none'} to ${values[name] || 'none'}`)
              .join(', ')}
      </p>
      <div className="dialog-buttons">
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={isBusy}>
          Resubmit
        </button>
      </div>
    </form>
  )
}

function fieldsOf(spec: Spec): Field[] {
  return [
    ...spec.resourceSlots.map(({ slot, amount }) => ({
      name: `slot.${slot}`,
      label: slot,
      value: amountWords(slot, amount),
    })),
    { name: 'maxRetries', label: 'retries', value: String(spec.retryPolicy.maxRetries) },
    { name: 'retryDelay', label: 'first delay, seconds', value: String(spec.retryPolicy.retryDelay) },
    {
      name: 'batchTimeout',
      label: 'timeout, seconds',
      value: spec.batchTimeout === null ? '' : String(spec.batchTimeout),
    },
    { name: 'priority', label: 'priority', value: String(spec.priority) },
    { name: 'resourceGroup', label: 'resource group', value: spec.resourceGroup.name },
    ...spec.environ.map(({ name, value }) => ({ name: `env.${name}`, label: name, value })),
  ]
}

function overridesOf(changed: readonly Field[], values: Record<string, string>): Overrides {
  const of = (name: string) => (changed.some((field) => field.name === name) ? values[name]! : undefined)
  const within = (prefix: string) =>
    changed
      .filter(({ name }) => name.startsWith(prefix))
      .map(({ name }) => [name.slice(prefix.length), values[name]!] as const)
  const number = (name: string) => (of(name) === undefined ? undefined : Number(of(name)))
  const policy = { maxRetries: number('maxRetries'), retryDelay: number('retryDelay') }
  return {
    ...(within('slot.').length > 0 && { resourceSlots: within('slot.').map(([slot, amount]) => ({ slot, amount })) }),
    ...(within('env.').length > 0 && { environ: within('env.').map(([name, value]) => ({ name, value })) }),
    ...((policy.maxRetries ?? policy.retryDelay) !== undefined && { retryPolicy: policy }),
    ...(of('batchTimeout') !== undefined && {
      batchTimeout: of('batchTimeout') === '' ? null : number('batchTimeout'),
    }),
    ...(of('priority') !== undefined && { priority: number('priority') }),
    ...(of('resourceGroup') !== undefined && { resourceGroup: of('resourceGroup') }),
  }
}
