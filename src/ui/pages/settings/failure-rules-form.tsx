import { useState } from 'react'
import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { toast } from '../../app/toasts.tsx'
import { LinesField } from '../../design/controls.tsx'
import { counted } from '../../words/numbers.ts'
import { type UiProjectsQuery, UiSetFailureRulesDocument } from './settings.generated.ts'

interface Props {
  project: UiProjectsQuery['projects']['edges'][number]['node']
  onDone: () => void
  onClose: () => void
}

/** The rules by which failures of a project are grouped, one in each line. */
export function RulesForm({ project: { name: project, failureRules }, onDone, onClose }: Props) {
  const send = useSend()
  const [text, setText] = useState(() => failureRules.map(({ name, pattern }) => `${name} = ${pattern}`).join('\n'))
  const submit = async () => {
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    const { problem } = await send(UiSetFailureRulesDocument, { input: { project, rules: lines.map(ruleOf) } })
    if (problem) {
      const { issues, ...rest } = problem
      const words = issues.map(({ path, message }) => faultOf(path, message, lines))
      return issues.length === 0 ? problem : { ...rest, issues: [{ path: 'rules', message: words.join('. ') }] }
    }
    toast('done', `${counted(lines.length, 'rule')} for failures of ${project} from now on.`)
    onDone()
    return null
  }
  return (
    <FormDialog
      title={`Rules for failures of ${project}`}
      note="Failures with a line that matches a rule are one group, whatever else they say. Failures that are stored stay in their groups."
      act="Set"
      fields={['rules']}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <LinesField
          label="Rules"
          hint="group = pattern, where * is any text and ? any character of a whole line; the first that matches counts"
          fault={faults['rules']}
          wide
          rows={8}
          value={text}
          placeholder="GPU memory = *CUDA out of memory*"
          onType={setText}
        />
      )}
    </FormDialog>
  )
}

/** Names of groups have no `=` here. A line without one is refused by the server, as it has no pattern. */
function ruleOf(line: string): { name: string; pattern: string } {
  const at = line.indexOf('=')
  if (at < 0) return { name: line.trim(), pattern: '' }
  return { name: line.slice(0, at).trim(), pattern: line.slice(at + 1).trim() }
}

/** `rules.2.pattern` in the words of the form. */
function faultOf(path: string, message: string, lines: readonly string[]): string {
  const [, at, field] = path.split('.')
  if (at === undefined || field === undefined) return message
  return `“${lines[Number(at)]}”: ${field === 'name' ? 'group' : field}: ${message}`
}
