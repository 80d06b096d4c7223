import { useState } from 'react'
import { useQuery } from 'urql'
import { FreshCheckpoint, overridesOf } from '../../bulk/overrides.tsx'
import { Button, TextField } from '../../design/controls.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { amountWords } from '../../words/numbers.ts'
import { type UiResubmitMutationVariables, UiSpecDocument, type UiSpecQuery } from './chain.generated.ts'

export type Overrides = UiResubmitMutationVariables['overrides']
type Spec = NonNullable<UiSpecQuery['session']>

interface Props {
  name: string
  sessionId: string
  isBusy: boolean
  onClose: () => void
  onSubmit: (overrides: Overrides) => void
}

interface Overridable {
  name: string
  label: string
  value: string
}

/** The form for a resubmission, filled with the chain's values. Only changed ones are sent. */
export function ResubmitDialog({ name, sessionId, ...rest }: Props) {
  const [{ data }] = useQuery({ query: UiSpecDocument, variables: { sessionId } })
  const spec = data?.session
  return (
    <Dialog title={`Resubmit ${name}`} onClose={rest.onClose}>
      {spec ? <Form spec={spec} {...rest} /> : <div className="skeleton skeleton-form" aria-busy="true" />}
    </Dialog>
  )
}

function Form({ spec, isBusy, onClose, onSubmit }: Omit<Props, 'sessionId' | 'name'> & { spec: Spec }) {
  const fields = fieldsOf(spec)
  const [values, setValues] = useState<Record<string, string>>({})
  const [isFresh, setFresh] = useState(false)
  const changed = fields.filter(({ name, value }) => values[name] !== undefined && values[name] !== value)
  const differences = [
    ...changed.map(({ name, label, value }) => `${label} ${value || 'none'} to ${values[name] || 'none'}`),
    ...(isFresh ? ['without the checkpoint'] : []),
  ]
  const submit = () => {
    const typed = changed.map(({ name }) => [name, values[name]!] as const)
    onSubmit(overridesOf(Object.fromEntries([...typed, ...(isFresh ? [['freshCheckpoint', 'true'] as const] : [])])))
  }
  return (
    <form
      className="dialog-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) submit()
      }}
    >
      <p className="dialog-note">A new budget of retries begins. Change what should be different:</p>
      <div className="fields">
        {fields.map(({ name, label, value }) => (
          <TextField
            key={name}
            label={label}
            type="text"
            value={values[name] ?? value}
            onType={(text) => setValues((last) => ({ ...last, [name]: text }))}
          />
        ))}
        <FreshCheckpoint isFresh={isFresh} onChange={setFresh} />
      </div>
      <p className="dialog-note" aria-live="polite">
        {differences.length === 0 ? 'Nothing is changed.' : differences.join(', ')}
      </p>
      <div className="dialog-buttons">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={isBusy}>
          Resubmit
        </Button>
      </div>
    </form>
  )
}

function fieldsOf(spec: Spec): Overridable[] {
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
