import { useState } from 'react'
import { useQuery } from 'urql'
import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { toast } from '../../app/toasts.tsx'
import { FreshCheckpoint, overridesOf } from '../../bulk/overrides.tsx'
import { TextField } from '../../design/controls.tsx'
import { amountWords } from '../../words/numbers.ts'
import { UiResubmitDocument, UiSpecDocument, type UiSpecQuery } from './chain.generated.ts'

type Spec = NonNullable<UiSpecQuery['session']>

interface Props {
  name: string
  sessionId: string
  onDone: () => void
  onClose: () => void
}

interface Overridable {
  name: string
  label: string
  value: string
  /** The place in the input, for the server's faults. */
  path: string
}

const CODES = { RESOURCE_GROUP_NOT_FOUND: 'overrides.resourceGroup' }

/** The form for a resubmission, filled with the chain's values. Only changed ones are sent. */
export function ResubmitDialog({ name, sessionId, onDone, onClose }: Props) {
  const send = useSend()
  const [{ data }] = useQuery({ query: UiSpecDocument, variables: { sessionId } })
  const spec = data?.session
  const [values, setValues] = useState<Record<string, string>>({})
  const [isFresh, setFresh] = useState(false)
  const changed = spec ? placed(fieldsOf(spec).filter((field) => isChanged(field, values))) : []
  const fields = spec ? placed(fieldsOf(spec), changed) : []
  const differences = [
    ...changed.map((field) => `${field.label} ${field.value || 'none'} to ${values[field.name] || 'none'}`),
    ...(isFresh ? ['without the checkpoint'] : []),
  ]
  const submit = async () => {
    const given = changed.map((field) => [field.name, values[field.name]!] as const)
    const overrides = overridesOf(
      Object.fromEntries([...given, ...(isFresh ? [['freshCheckpoint', 'true'] as const] : [])]),
    )
    const { done, problem } = await send(UiResubmitDocument, { input: { sessionIds: [sessionId], overrides } })
    if (problem) return problem
    const [refused] = done.__typename === 'ResubmitSessionsPayload' ? done.refused : []
    if (refused) return { ...refused, issues: [] }
    toast('done', `${name} is resubmitted.`)
    onDone()
    return null
  }
  return (
    <FormDialog
      title={`Resubmit ${name}`}
      note="A new budget of retries begins. Change what should be different:"
      act="Resubmit"
      isReady={spec !== undefined}
      fields={fields.map(({ path }) => path)}
      codes={CODES}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) =>
        spec ? (
          <>
            {fields.map((field) => (
              <TextField
                key={field.name}
                label={field.label}
                fault={faults[field.path]}
                type="text"
                value={values[field.name] ?? field.value}
                onType={(text) => setValues((last) => ({ ...last, [field.name]: text }))}
              />
            ))}
            <FreshCheckpoint isFresh={isFresh} onChange={setFresh} />
            <p className="dialog-note field-wide" aria-live="polite">
              {differences.length === 0 ? 'Nothing is changed.' : differences.join(', ')}
            </p>
          </>
        ) : (
          <div className="skeleton skeleton-form" aria-busy="true" />
        )
      }
    </FormDialog>
  )
}

function isChanged({ name, value }: Overridable, values: Readonly<Record<string, string>>): boolean {
  return values[name] !== undefined && values[name] !== value
}

/** The lists in the input, each with the beginning of the names of its fields. */
const LISTS = { 'slot.': 'resourceSlots', 'env.': 'environ' } as const

/** The fields with their places in an input that has only the changed ones. */
function placed(fields: readonly Overridable[], changed: readonly Overridable[] = fields): Overridable[] {
  return fields.map((field) => {
    const [prefix, list] = Object.entries(LISTS).find(([each]) => field.name.startsWith(each)) ?? []
    if (prefix === undefined) return field
    const at = changed.filter(({ name }) => name.startsWith(prefix)).findIndex(({ name }) => name === field.name)
    return { ...field, path: at < 0 ? field.path : `overrides.${list}.${at}` }
  })
}

const GPU_SLOTS: readonly string[] = ['cuda.device', 'rocm.device']

const field = (name: string, label: string, value: string, path: string): Overridable => ({
  name,
  label,
  value,
  path: `overrides.${path}`,
})

function gpuFields({ requiredGpus }: Spec): Overridable[] {
  const { model = null, memoryBytes = null } = requiredGpus ?? {}
  const memory = memoryBytes === null ? '' : amountWords('mem', String(memoryBytes))
  return [
    field('gpuModel', 'GPU model', model ?? '', 'gpus.model'),
    field('gpuMemory', 'memory of each GPU', memory, 'gpus.memory'),
  ]
}

function fieldsOf(spec: Spec): Overridable[] {
  return [
    ...spec.resourceSlots.map(({ slot, amount }) =>
      field(`slot.${slot}`, slot, amountWords(slot, amount), `slot.${slot}`),
    ),
    ...(spec.resourceSlots.some(({ slot }) => GPU_SLOTS.includes(slot)) ? gpuFields(spec) : []),
    field('maxRetries', 'retries', String(spec.retryPolicy.maxRetries), 'retryPolicy.maxRetries'),
    field('retryDelay', 'first delay, seconds', String(spec.retryPolicy.retryDelay), 'retryPolicy.retryDelay'),
    field(
      'batchTimeout',
      'timeout, seconds',
      spec.batchTimeout === null ? '' : String(spec.batchTimeout),
      'batchTimeout',
    ),
    field('priority', 'priority', String(spec.priority), 'priority'),
    field('resourceGroup', 'resource group', spec.resourceGroup.name, 'resourceGroup'),
    ...spec.environ.map(({ name, value }) => field(`env.${name}`, name, value, `env.${name}`)),
  ]
}
