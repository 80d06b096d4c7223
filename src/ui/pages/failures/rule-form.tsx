import { useMemo, useState } from 'react'
import { useQuery } from 'urql'
import type { RetryRuleInput, SetRetryDefaultsInput } from '../../../client/schema-types.generated.ts'
import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { toast } from '../../app/toasts.tsx'
import { noAdministration, useViewer } from '../../app/viewer.ts'
import { SelectField, TextField } from '../../design/controls.tsx'
import { causeInWords } from '../../design/causes.ts'
import { Backtest } from '../../policy/backtest.tsx'
import { givenOf, readDraft } from '../../policy/policy-draft.ts'
import type { Field } from '../../policy/policy-fields.ts'
import type { FailureGroup } from './message-parts.tsx'
import { UiAddRuleDocument, UiRuleDefaultsDocument } from './messages.generated.ts'

const ACTIONS = { FAIL: 'do not retry', RETRY: 'retry', RETRY_UNCOUNTED: 'retry, without using up the budget' }
type Action = keyof typeof ACTIONS

const DELAY: Field = { name: 'delay', path: 'delay', kind: 'duration', label: 'Delay' }

/**
 * A rule for failures like those of a group, with what it would have done in the last 30 days. Rules match causes and
 * exit codes, not messages: a decision never waits for a log.
 */
export function RuleForm({ group, onClose }: { group: FailureGroup; onClose: () => void }) {
  const { cause, exitCode, project } = group
  const send = useSend()
  const [action, setAction] = useState<Action>('FAIL')
  const [delay, setDelay] = useState('')
  const [{ data }] = useQuery({ query: UiRuleDefaultsDocument, variables: {}, requestPolicy: 'network-only' })
  const given = readDraft({ delay }, [DELAY])
  const seconds = given.input['delay'] as number | undefined
  const policy = useMemo(
    () => ({ rules: [ruleFor({ cause, exitCode }, action, seconds)] }),
    [cause, exitCode, action, seconds],
  )
  const filter = useMemo(() => {
    const failureCause = cause === null ? null : [cause]
    return { project: project.name, failureCause, exitCode: exitCode === null ? null : [exitCode] }
  }, [project.name, cause, exitCode])
  const own = data?.retryDefaults.find(({ scope, name }) => scope === 'PROJECT' && name === project.name)
  const refusal = noAdministration(useViewer(), 'PROJECT')
  const submit = async () => {
    const before = own?.policy ? givenOf(own.policy) : {}
    const rules = [...policy.rules, ...((before['rules'] as RetryRuleInput[] | undefined) ?? [])]
    const input = { scope: 'PROJECT', name: project.name, policy: { ...before, rules } } as SetRetryDefaultsInput
    const { problem } = await send(UiAddRuleDocument, { input })
    if (problem) return problem
    toast('done', `New sessions of ${project.name} have the rule, unless they bring their own rules.`)
    onClose()
    return null
  }
  return (
    <FormDialog
      title="Rule for such failures"
      note={`It is the first rule of the defaults of ${project.name}, and matches all failures with this cause and exit code (${causeInWords(cause, exitCode)}), whatever they say: a decision does not wait for a log.`}
      act="Add to the defaults"
      isReady={refusal === null && data !== undefined && Object.keys(given.faults).length === 0}
      fields={['policy.rules.0.delay']}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <>
          <SelectField label="Then" wide names={ACTIONS} value={action} onChoose={setAction} />
          {action !== 'FAIL' && (
            <TextField
              label="Delay"
              hint="such as 20m; empty: by the policy of the session"
              fault={given.faults['delay'] ?? faults['policy.rules.0.delay']}
              wide
              value={delay}
              onType={setDelay}
            />
          )}
          <Backtest policy={policy} base="OWN_POLICY" filter={filter} />
          {refusal !== null && <p className="field-note">{refusal}</p>}
        </>
      )}
    </FormDialog>
  )
}

function ruleFor(
  { cause, exitCode }: Pick<FailureGroup, 'cause' | 'exitCode'>,
  action: Action,
  delay: number | undefined,
): RetryRuleInput {
  return {
    match: { ...(cause && { causes: [cause] }), ...(exitCode !== null && { exitCodes: [exitCode] }) },
    action,
    ...(action !== 'FAIL' && delay !== undefined && { delay }),
  }
}
