import { useState } from 'react'
import { useQuery } from 'urql'
import { SelectField, TextField, typed, typedMoment, typedNumber, typedOrNull } from '../../design/controls.tsx'
import { counted } from '../../words/numbers.ts'
import { useSend } from '../act.ts'
import { isSureOf, TypedCount } from '../confirm.tsx'
import { FormDialog } from '../form-dialog.tsx'
import { toast } from '../toasts.tsx'
import { useViewer } from '../viewer.ts'
import { type Scope, ScopeFields, scopeWords } from './scope-fields.tsx'
import { UiSetSwitchDocument, type UiSwitchFragment, UiWaitingRetriesDocument } from './switches.generated.ts'

const CHOICES = {
  off: 'off: those that are due are held',
  on: 'on: those that are held go, gradually',
  same: 'as they are: change limit and breaker only',
} as const
type Retries = keyof typeof CHOICES

interface Props {
  /** The switch to change; undefined to choose its scope in the form. */
  changed: UiSwitchFragment | undefined
  /** The choice that is selected at first. */
  retries: Retries
  onDone: () => void
  onClose: () => void
}

const FIELDS = [
  'name',
  'disabled',
  'rateLimit.perSecond',
  'rateLimit.burst',
  'rateLimit',
  'breaker.failures',
  'breaker.chains',
  'breaker.window',
  'breaker',
  'until',
  'reason',
]
const CODES = { PROJECT_NOT_FOUND: 'name', DOMAIN_NOT_FOUND: 'name' }

/** The form that switches retries off or on, or limits their rate, with a reason, permanently or for a time. */
export function SwitchForm({ changed, retries: first, onDone, onClose }: Props) {
  const viewer = useViewer()
  const send = useSend()
  const [scope, setScope] = useState<Scope>(changed?.scope ?? (viewer.project ? 'PROJECT' : 'CLUSTER'))
  const [retries, setRetries] = useState<Retries>(first)
  const [name, setName] = useState(changed?.name ?? viewer.project?.name ?? '')
  const concerned = useConcerned(scope, name, retries === 'off')
  const [typedCount, setTypedCount] = useState('')
  const submit = async (form: HTMLFormElement) => {
    const where = { scope, name: scope === 'CLUSTER' ? null : typed(form, 'name') }
    const limit = limitOf(form)
    const breaker = breakerIn(form)
    const input = {
      ...where,
      ...(retries !== 'same' && { disabled: retries === 'off' }),
      ...(JSON.stringify(limit) !== JSON.stringify(rateOf(changed)) && { rateLimit: limit }),
      ...(JSON.stringify(breaker) !== JSON.stringify(breakerOf(changed)) && { breaker }),
      until: typedMoment(form, 'until'),
      reason: typedOrNull(form, 'reason'),
    }
    const { done, problem } = await send(UiSetSwitchDocument, { input })
    if (problem) return problem
    toast('done', doneWords(done.retrySwitch))
    onDone()
    return null
  }
  return (
    <FormDialog
      title={changed ? `Retries ${scopeWords(changed.scope, changed.name)}` : 'Switch retries'}
      note={retries === 'off' && concerned.words}
      act={retries === 'off' ? 'Switch off' : retries === 'on' ? 'Switch on' : 'Save'}
      isDanger={retries === 'off'}
      isReady={isSureOf(concerned.count, typedCount)}
      fields={FIELDS}
      codes={CODES}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <>
          {!changed && (
            <ScopeFields
              viewer={viewer}
              scope={scope}
              onScope={setScope}
              name={name}
              onName={setName}
              fault={faults['name']}
            />
          )}
          {changed && <input type="hidden" name="name" value={name} />}
          <SelectField
            label="Retries"
            fault={faults['disabled']}
            wide
            names={CHOICES}
            value={retries}
            onChoose={setRetries}
          />
          <TextField
            label="At most, a second"
            hint="empty: no limit"
            fault={faults['rateLimit.perSecond'] ?? faults['rateLimit']}
            name="perSecond"
            inputMode="decimal"
            defaultValue={changed?.rateLimit?.perSecond ?? ''}
          />
          <TextField
            label="And at once"
            hint="after a quiet time"
            fault={faults['rateLimit.burst']}
            name="burst"
            inputMode="numeric"
            defaultValue={changed?.rateLimit?.burst ?? ''}
          />
          <TextField
            label="Hold after failures alike"
            hint="empty: never by itself"
            fault={faults['breaker.failures'] ?? faults['breaker']}
            name="breakerFailures"
            inputMode="numeric"
            defaultValue={changed?.breaker?.failures ?? ''}
          />
          <TextField
            label="In so many chains"
            hint="but for single probes"
            fault={faults['breaker.chains']}
            name="breakerChains"
            inputMode="numeric"
            defaultValue={changed?.breaker?.chains ?? ''}
          />
          <TextField
            label="Within, in minutes"
            hint="of failures and chains"
            fault={faults['breaker.window']}
            wide
            name="breakerMinutes"
            inputMode="decimal"
            defaultValue={changed?.breaker ? changed.breaker.window / 60 : ''}
          />
          <TextField
            label="Until"
            hint="empty: until it is changed"
            fault={faults['until']}
            wide
            name="until"
            type="datetime-local"
          />
          <TextField
            label="Reason"
            hint="shown beside the switch"
            fault={faults['reason']}
            wide
            name="reason"
            spellCheck
            maxLength={1000}
          />
          <TypedCount count={concerned.count} typed={typedCount} onTyped={setTypedCount} />
        </>
      )}
    </FormDialog>
  )
}

/** How many retries a switch would hold, where that can be counted. */
function useConcerned(scope: Scope, name: string, isOff: boolean): { count: number; words: string } {
  const filter = { phase: ['SCHEDULED' as const, 'HELD' as const], ...(scope === 'PROJECT' && { project: name }) }
  const isCounted = isOff && (scope === 'CLUSTER' || (scope === 'PROJECT' && name !== ''))
  const [{ data }] = useQuery({
    query: UiWaitingRetriesDocument,
    variables: { filter },
    pause: !isCounted,
    requestPolicy: 'network-only',
  })
  const waiting = isCounted ? data?.retryDecisions : undefined
  if (!waiting) return { count: 0, words: 'Retries are held once they are due. Running sessions continue.' }
  const { totalCount, totalCountIsExact } = waiting
  const number = `${totalCountIsExact ? '' : 'more than '}${counted(totalCount, 'retry', 'retries')}`
  return {
    count: totalCount,
    words: `${number} ${totalCount === 1 ? 'waits' : 'wait'} there now, and would be held once due. Running sessions continue.`,
  }
}

function limitOf(form: HTMLFormElement): { perSecond: number; burst: number } | null {
  const perSecond = typedNumber(form, 'perSecond')
  const burst = typedNumber(form, 'burst')
  if (perSecond === null && burst === null) return null
  return { perSecond: perSecond ?? 0, burst: burst ?? (typeof perSecond === 'number' ? Math.ceil(perSecond) : 0) }
}

function rateOf(changed: UiSwitchFragment | undefined): { perSecond: number; burst: number } | null {
  return changed?.rateLimit ? { perSecond: changed.rateLimit.perSecond, burst: changed.rateLimit.burst } : null
}

type Breaker = UiSwitchFragment['breaker']

/** Null if none of its fields is filled in. The server refuses a breaker with a part missing. */
function breakerIn(form: HTMLFormElement): Breaker {
  const [failures, chains, minutes] = ['breakerFailures', 'breakerChains', 'breakerMinutes'].map((name) =>
    typedNumber(form, name),
  )
  if (failures === null && chains === null && minutes === null) return null
  return { failures: failures ?? 0, chains: chains ?? 0, window: Math.round((minutes ?? 0) * 60) }
}

function breakerOf(changed: UiSwitchFragment | undefined): Breaker {
  if (!changed?.breaker) return null
  const { failures, chains, window } = changed.breaker
  return { failures, chains, window }
}

function doneWords({ scope, name, disabled, rateLimit }: UiSwitchFragment): string {
  const where = scopeWords(scope, name)
  if (disabled) return `Retries are off ${where}.`
  return rateLimit ? `Retries are on ${where}, at most ${rateLimit.perSecond} a second.` : `Retries are on ${where}.`
}
