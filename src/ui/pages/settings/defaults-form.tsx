import { useState } from 'react'
import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { type Scope, ScopeFields, scopeWords } from '../../app/retry/scope-fields.tsx'
import { toast } from '../../app/toasts.tsx'
import { useViewer } from '../../app/viewer.ts'
import { typed } from '../../design/controls.tsx'
import { draftOfPolicy, readDraft, untypedOf } from '../../policy/policy-draft.ts'
import { type Draft, POLICY_FIELDS, POLICY_SECTIONS } from '../../policy/policy-fields.ts'
import { PolicyInputs } from '../../policy/policy-form.tsx'
import { type UiDefaultFragment, UiSetDefaultsDocument } from './settings.generated.ts'

interface Props {
  changed: UiDefaultFragment | undefined
  onDone: () => void
  onClose: () => void
}

/** The sections of a policy, without the one for trying it. */
const SECTIONS = POLICY_SECTIONS.filter(([, fields]) => fields.every((field) => POLICY_FIELDS.includes(field)))
const FIELDS = ['name', ...POLICY_FIELDS.map(({ path }) => `policy.${path}`)]
const CODES = { PROJECT_NOT_FOUND: 'name', DOMAIN_NOT_FOUND: 'name' }

export function DefaultsForm({ changed, onDone, onClose }: Props) {
  const viewer = useViewer()
  const send = useSend()
  const [scope, setScope] = useState<Scope>(changed?.scope ?? (viewer.project ? 'PROJECT' : 'CLUSTER'))
  const [draft, setDraft] = useState<Draft>(changed?.policy ? draftOfPolicy(changed.policy) : {})
  const first = changed?.name ?? viewer.project?.name ?? ''
  const submit = async (form: HTMLFormElement) => {
    const given = readDraft(draft, POLICY_FIELDS)
    const wrong = POLICY_FIELDS.filter(({ name }) => given.faults[name] !== undefined)
    if (wrong.length > 0) {
      const issues = wrong.map(({ name, path }) => ({ path: `policy.${path}`, message: given.faults[name]! }))
      return { message: '', code: null, issues }
    }
    const name = scope === 'CLUSTER' ? null : (changed?.name ?? typed(form, 'name'))
    const policy = { ...(changed?.policy && untypedOf(changed.policy)), ...given.input }
    const { problem } = await send(UiSetDefaultsDocument, { input: { scope, name, policy } })
    if (problem) return problem
    toast('done', `The defaults are set ${scopeWords(scope, name)}.`)
    onDone()
    return null
  }
  return (
    <FormDialog
      title={changed ? `Retry defaults ${scopeWords(changed.scope, changed.name)}` : 'Set retry defaults'}
      note="Empty fields are not set here."
      act="Set"
      fields={FIELDS}
      codes={CODES}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <>
          {!changed && (
            <ScopeFields viewer={viewer} scope={scope} onScope={setScope} name={first} fault={faults['name']} />
          )}
          <div className="settings-policy">
            <PolicyInputs
              sections={SECTIONS}
              foldedFrom={2}
              draft={draft}
              faults={Object.fromEntries(
                POLICY_FIELDS.filter(({ path }) => faults[`policy.${path}`] !== undefined).map(({ name, path }) => [
                  name,
                  faults[`policy.${path}`]!,
                ]),
              )}
              onChange={(name, text) => setDraft((before) => ({ ...before, [name]: text }))}
            />
          </div>
        </>
      )}
    </FormDialog>
  )
}
