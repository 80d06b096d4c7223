import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useQuery } from 'urql'
import type { FailureGroupState } from '../../../client/schema-types.generated.ts'
import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { toast } from '../../app/toasts.tsx'
import { SelectField, TextField, typed, typedMoment, typedOrNull } from '../../design/controls.tsx'
import { counted } from '../../words/numbers.ts'
import type { FailureGroup } from './message-parts.tsx'
import {
  UiFailureChoicesDocument,
  UiMergeFailuresDocument,
  UiNameFailureDocument,
  UiSetFailureStateDocument,
} from './messages.generated.ts'

interface FormProps {
  group: FailureGroup
  onDone: () => void
  onClose: () => void
}

const STATES: Readonly<Record<FailureGroupState, string>> = {
  OPEN: 'open: nothing is known yet',
  KNOWN: 'known: note and link say more',
  MUTED: 'muted: not in lists',
  RESOLVED: 'resolved: comes back with the next failure',
}
const STATE_FIELDS = ['state', 'note', 'link', 'mutedUntil']

/** What people know about a group. */
export function StateForm({ group, onDone, onClose }: FormProps) {
  const { failureGroupId, note, link, mutedUntil } = group
  const send = useSend()
  const [state, setState] = useState(group.state)
  const submit = async (form: HTMLFormElement) => {
    const input = {
      failureGroupId,
      state,
      note: typedOrNull(form, 'note'),
      link: typedOrNull(form, 'link'),
      mutedUntil: state === 'MUTED' ? typedMoment(form, 'mutedUntil') : null,
    }
    const { problem } = await send(UiSetFailureStateDocument, { input })
    if (problem) return problem
    toast('done', `It is ${state.toLowerCase()} now.`)
    onDone()
    return null
  }
  return (
    <FormDialog title="State" act="Save" fields={STATE_FIELDS} onSend={submit} onClose={onClose}>
      {(faults) => (
        <>
          <SelectField label="State" fault={faults['state']} wide names={STATES} value={state} onChoose={setState} />
          {state === 'MUTED' && (
            <TextField
              label="Muted until"
              hint="empty: until somebody changes it"
              fault={faults['mutedUntil']}
              wide
              name="mutedUntil"
              type="datetime-local"
              defaultValue={mutedUntil === null ? '' : localMinute(mutedUntil)}
            />
          )}
          <TextField
            label="Note"
            hint="shown below the title"
            fault={faults['note']}
            wide
            name="note"
            spellCheck
            maxLength={1000}
            defaultValue={note ?? ''}
          />
          <TextField
            label="Link"
            hint="an address with more about it, such as an issue"
            fault={faults['link']}
            wide
            name="link"
            inputMode="url"
            maxLength={1000}
            defaultValue={link ?? ''}
          />
        </>
      )}
    </FormDialog>
  )
}

/** A time in the form of a field of date and time, in the browser's zone. */
function localMinute(at: string): string {
  const then = new Date(at)
  return new Date(then.getTime() - then.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

export function NameForm({ group: { failureGroupId, name, title }, onDone, onClose }: FormProps) {
  const send = useSend()
  const submit = async (form: HTMLFormElement) => {
    const { done, problem } = await send(UiNameFailureDocument, { failureGroupId, name: typedOrNull(form, 'name') })
    if (problem) return problem
    toast('done', `It is called ${done.failureGroup.title}.`)
    onDone()
    return null
  }
  return (
    <FormDialog title="Rename" act="Rename" fields={['name']} onSend={submit} onClose={onClose}>
      {(faults) => (
        <TextField
          label="Name"
          hint="empty: the first line that its failures say"
          fault={faults['name']}
          wide
          name="name"
          spellCheck
          maxLength={256}
          defaultValue={name ?? ''}
          placeholder={title}
        />
      )}
    </FormDialog>
  )
}

const TITLE_SHOWN = 90

/** Merges a group into another one of its project, whose page is shown then. */
export function MergeForm({ group, onClose }: Omit<FormProps, 'onDone'>) {
  const { failureGroupId, title, project } = group
  const send = useSend()
  const navigate = useNavigate()
  const [{ data }] = useQuery({
    query: UiFailureChoicesDocument,
    variables: { project: project.name },
    requestPolicy: 'network-only',
  })
  const others = data?.failureGroups.edges
    .map(({ node }) => node)
    .filter((other) => other.failureGroupId !== failureGroupId)
  const submit = async (form: HTMLFormElement) => {
    const into = typed(form, 'into')
    const { done, problem } = await send(UiMergeFailuresDocument, { failureGroupIds: [failureGroupId], into })
    if (problem) return problem
    toast('done', `Its failures are shown with ${done.failureGroup.title}.`)
    onClose()
    void navigate({ to: '/failures/$failureGroupId', params: { failureGroupId: into }, replace: true })
    return null
  }
  return (
    <FormDialog
      title="Merge into another group"
      note={
        others?.length === 0
          ? `No other group of ${project.name} has failed in the last 30 days.`
          : `The failures of “${title}”, also those that come, are shown with the chosen group. Its page can split it off again.`
      }
      act="Merge"
      isReady={others !== undefined && others.length > 0}
      fields={['into']}
      codes={{ FAILURE_GROUP_NOT_FOUND: 'into' }}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <SelectField
          label="Into"
          fault={faults['into']}
          wide
          name="into"
          names={Object.fromEntries(
            (others ?? []).map((other) => [
              other.failureGroupId,
              `${cutTo(TITLE_SHOWN, other.title)} (${counted(other.attempts, 'attempt')})`,
            ]),
          )}
        />
      )}
    </FormDialog>
  )
}

function cutTo(length: number, text: string): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
