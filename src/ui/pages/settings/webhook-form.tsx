import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { toast } from '../../app/toasts.tsx'
import { useViewer } from '../../app/viewer.ts'
import { TextField, typed, typedOrNull } from '../../design/controls.tsx'
import { NameField, useNames } from './section.tsx'
import { UiCreateWebhookDocument, UiUpdateWebhookDocument, type UiWebhookFragment } from './webhooks.generated.ts'

interface Props {
  changed: UiWebhookFragment | undefined
  /** The project that is chosen in the bar. */
  project?: string | undefined
  /** Called with the secret of a new webhook. */
  onDone: (secret: string | null) => void
  onClose: () => void
}

const FIELDS = ['url', 'eventTypes', 'description', 'project', 'labels', 'chainId']
const CODES = { PROJECT_NOT_FOUND: 'project' }

export function WebhookForm({ changed, project, onDone, onClose }: Props) {
  const viewer = useViewer()
  const send = useSend()
  const names = useNames()
  const submit = async (form: HTMLFormElement) => {
    const settings = {
      url: typed(form, 'url'),
      eventTypes: listOf(typed(form, 'eventTypes')),
      description: typed(form, 'description'),
      labels: listOf(typed(form, 'labels')).map(labelOf),
      chainId: typedOrNull(form, 'chainId'),
    }
    if (changed) {
      const input = { ...settings, webhookId: changed.webhookId }
      const { problem } = await send(UiUpdateWebhookDocument, { input })
      if (problem) return problem
      toast('done', 'The webhook is changed.')
      onDone(null)
      return null
    }
    const input = { ...settings, project: viewer.project?.name ?? typedOrNull(form, 'project') }
    const { done, problem } = await send(UiCreateWebhookDocument, { input })
    if (problem) return problem
    onDone(done.secret)
    return null
  }
  return (
    <FormDialog
      title={changed ? 'Change the webhook' : 'New webhook'}
      act={changed ? 'Save' : 'Create'}
      fields={FIELDS}
      codes={CODES}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <>
          <TextField
            label="Address"
            fault={faults['url']}
            wide
            name="url"
            inputMode="url"
            defaultValue={changed?.url}
            placeholder="https://"
          />
          <TextField
            label="Events"
            hint="names, with * for any rest: chain.failed, session.retry_*"
            fault={faults['eventTypes']}
            wide
            name="eventTypes"
            defaultValue={changed?.eventTypes.join(', ') ?? 'chain.*'}
          />
          {!changed && viewer.project === null && (
            <NameField
              label="Project"
              name="project"
              names={names.projects}
              first={project}
              hint="empty: all"
              fault={faults['project']}
              wide
            />
          )}
          <TextField
            label="Only with labels"
            hint="like team=cms"
            fault={faults['labels']}
            name="labels"
            defaultValue={changed?.labels.map(({ key, value }) => `${key}=${value}`).join(', ')}
          />
          <TextField
            label="Only of the chain"
            hint="its id"
            fault={faults['chainId']}
            name="chainId"
            defaultValue={changed?.chainId ?? ''}
          />
          <TextField
            label="Description"
            hint="for people"
            fault={faults['description']}
            wide
            name="description"
            spellCheck
            defaultValue={changed?.description}
          />
        </>
      )}
    </FormDialog>
  )
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}

function labelOf(text: string): { key: string; value: string } {
  const [key, ...value] = text.split('=')
  return { key: key!.trim(), value: value.join('=').trim() }
}
