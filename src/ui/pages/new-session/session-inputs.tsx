import { LinesField, SelectField, TextField } from '../../design/controls.tsx'
import type { Draft } from '../../policy/policy-fields.ts'
import { WITHOUT_SECRETS } from './schedule-draft.ts'
import { AGENT_FIELDS, mountField, mountRows, secretField, secretRows, usualPath } from './session-draft.ts'
import '../../policy/policy.css'

interface SessionInputsProps {
  draft: Draft
  faults: Readonly<Record<string, string>>
  projects: readonly string[]
  groups: readonly string[]
  volumes: readonly KnownVolume[]
  /** The name if none is typed. */
  name: string
  /** True for the session of a schedule, whose runs have their own times. */
  isRepeated: boolean
  /** The names of the secret variables of a session that is changed. */
  presentSecrets: readonly string[]
  onChange: (name: string, text: string) => void
}

/** The fields of a session, without its retry policy. */
export function SessionInputs({
  draft,
  faults,
  projects,
  groups,
  volumes,
  name,
  isRepeated,
  presentSecrets,
  onChange,
}: SessionInputsProps) {
  const typed = (field: string) => ({
    fault: faults[field],
    value: draft[field] ?? '',
    onType: (text: string) => onChange(field, text),
  })
  const choice = (field: string, label: string, values: readonly string[]) => {
    const value = draft[field] ?? 'default'
    return (
      <SelectField
        label={label}
        fault={faults[field]}
        names={[...new Set([value, ...values])]}
        value={value}
        onChoose={(chosen) => onChange(field, chosen)}
      />
    )
  }
  const line = (field: string, label: string, placeholder: string, hint?: string) => (
    <TextField {...typed(field)} label={label} hint={hint} type="text" maxLength={1_000} placeholder={placeholder} />
  )
  const lines = (field: string, label: string, placeholder: string) => (
    <LinesField {...typed(field)} label={label} hint="name=value, one a line" wide rows={2} placeholder={placeholder} />
  )
  const select = <Value extends string>(field: string, label: string, names: Readonly<Record<Value, string>>) => (
    <SelectField
      label={label}
      fault={faults[field]}
      names={names}
      value={(draft[field] ?? '') as Value}
      onChoose={(chosen) => onChange(field, chosen)}
    />
  )
  const agents = (field: string, label: string) => (
    <LinesField {...typed(field)} label={label} hint="names or ids, one a line" wide rows={1} />
  )
  return (
    <>
      <fieldset className="policy-section">
        <legend>What runs</legend>
        <div className="fields">
          <LinesField
            {...typed('command')}
            label="Command"
            wide
            hint={draft['shell'] ? undefined : 'quotes keep words together; nothing is expanded'}
            rows={3}
            placeholder="python train.py --epochs 20"
          />
          <label className="field-switch">
            <input
              type="checkbox"
              checked={draft['shell'] !== undefined}
              onChange={({ target }) => onChange('shell', target.checked ? 'true' : '')}
            />
            <span>Through a shell (sh -c): with pipes and variables</span>
          </label>
          {line('name', 'Name', name || 'that of the program')}
          {line('image', 'Image', 'none')}
          {lines('env', 'Environment', 'LR=0.1')}
          {lines('labels', 'Labels', 'team=cms')}
        </div>
        <details className="new-session-more" open={secretRows(draft) > 1 || presentSecrets.length > 0 || undefined}>
          <summary>Secret variables</summary>
          <p className="new-session-hint">Encrypted, given to the program, and never shown again.</p>
          {presentSecrets.length > 0 && (
            <>
              <p className="new-session-hint">
                Present ones: {presentSecrets.join(', ')}. They stay, unless you type secrets here, which replace all of
                them.
              </p>
              <label className="field-switch">
                <input
                  type="checkbox"
                  checked={draft[WITHOUT_SECRETS] !== undefined}
                  onChange={({ target }) => onChange(WITHOUT_SECRETS, target.checked ? 'true' : '')}
                />
                <span>Remove them</span>
              </label>
            </>
          )}
          <div className="fields">
            {Array.from({ length: secretRows(draft) }, (_, index) => (
              <Secret key={index} index={index} typed={typed} fault={faults[secretField(index, 'name')]} />
            ))}
          </div>
        </details>
      </fieldset>
      <fieldset className="policy-section">
        <legend>Where and when</legend>
        <div className="fields">
          {choice('project', 'Project', projects)}
          {choice('group', 'Resource group', groups)}
          {line('cpu', 'CPU', draft['slots'] ? 'none' : '1', 'cores, like 0.5')}
          {line('mem', 'Memory', 'none', 'like 512m or 4g')}
          {line('priority', 'Priority', '10', '0 to 100; the higher goes first')}
          {line('timeout', 'Time limit of an attempt', 'none', 'like 90s, 5m or 2h')}
          {line('maxPending', 'Waits for a place at most', 'as long as it takes', 'then the attempt has failed')}
          {line('stopGrace', 'Grace before it is killed', 'that of the group', 'after it is asked to stop, like 30s')}
        </div>
        <details className="new-session-more" open={isAnySet(draft, ['gpus', 'gpuModel', 'gpuMemory', 'gpuIdle'])}>
          <summary>GPUs</summary>
          <div className="fields">
            {line('gpus', 'GPUs', 'none', 'of NVIDIA, like 2, or 0.5 where they are shared')}
            {line('gpuModel', 'Model', 'any', 'part of its name, like a100')}
            {line('gpuMemory', 'Memory of each', 'any', 'at least, like 40g')}
            {line('gpuIdle', 'May be idle for', 'as long as it runs', 'then the attempt has failed, like 30m')}
          </div>
        </details>
        <details className="new-session-more" open={draft['slots'] !== undefined || undefined}>
          <summary>Other resources</summary>
          <div className="fields">{lines('slots', 'Slots', 'rocm.device=1')}</div>
        </details>
        <details className="new-session-more" open={isAnySet(draft, ['type', 'clusterSize', 'clusterMode'])}>
          <summary>Kind, and several kernels</summary>
          <div className="fields">
            {select('type', 'Kind', KINDS)}
            {line('clusterSize', 'Kernels', '1', 'processes that work together')}
            {select('clusterMode', 'Their places', CLUSTER_MODES)}
          </div>
        </details>
        <details className="new-session-more" open={isAnySet(draft, AGENT_INPUTS)}>
          <summary>Which agents</summary>
          <div className="fields">
            {agents('allowAgents', 'Only on these agents')}
            {agents('avoidAgents', 'Not on these, if others fit')}
            {agents('excludeAgents', 'Never on these')}
            {lines('agentLabels', 'Labels that the agent must have', 'zone=a')}
            {lines('executorOptions', 'Options of the executor', 'partition=gpu')}
          </div>
        </details>
        <MountInputs draft={draft} faults={faults} volumes={volumes} onChange={onChange} />
        <details className="new-session-more" open={isAnySet(draft, FILE_INPUTS)}>
          <summary>Files that it leaves{!isRepeated && ', and gets'}</summary>
          <div className="fields">
            <LinesField
              {...typed('outputs')}
              label="Files to collect"
              hint="patterns, one a line; ! excludes"
              wide
              rows={2}
              placeholder="results/**"
            />
            {select('outputsWhen', 'From attempts', OUTPUTS_WHEN)}
            {line('outputsKeepDays', 'Days to keep them', 'as the server is set')}
            {select('outputsInPlace', 'Where they are kept', OUTPUTS_PLACE)}
            {!isRepeated && (
              <LinesField
                {...typed('inputs')}
                label="Files of these sessions"
                hint="ids, or addresses of their chains, one a line; a directory may follow"
                wide
                rows={2}
              />
            )}
          </div>
        </details>
        <details className="new-session-more" open={isAnySet(draft, ['onHang', 'neverRunTwice'])}>
          <summary>If it hangs, or must not run twice</summary>
          <div className="fields">
            {line('onHang', 'Runs before a stop without progress', 'nothing', 'like pkill -QUIT java')}
            {select('neverRunTwice', 'If its agent is lost, or it fails', NEVER_RUN_TWICE)}
          </div>
        </details>
        <details className="new-session-more" open={draft['concurrencyKey'] !== undefined || undefined}>
          <summary>One at a time</summary>
          <div className="fields">
            {line('concurrencyKey', 'Concurrency key', 'customer-17', 'limits how many with this key run at once')}
            {line('concurrencyLimit', 'How many at once', '1')}
          </div>
        </details>
        {!isRepeated && (
          <details className="new-session-more" open={isAnySet(draft, ['startsAt', 'dependsOn', 'creationId'])}>
            <summary>Later, or after others</summary>
            <div className="fields">
              <TextField
                {...typed('startsAt')}
                label="Not before"
                hint="in the zone of this browser"
                wide
                type="datetime-local"
              />
              <LinesField
                {...typed('dependsOn')}
                label="After these succeed"
                hint="ids of sessions, or addresses of their chains, one a line"
                wide
                rows={2}
              />
              {line('creationId', 'Idempotency key', 'a random one', 'repeating it makes no second session')}
            </div>
          </details>
        )}
      </fieldset>
    </>
  )
}

const KINDS = { '': 'batch: it ends by itself', INTERACTIVE: 'interactive', INFERENCE: 'inference' }
const CLUSTER_MODES = { '': 'all on one agent', MULTI_NODE: 'on as many agents as needed' }
const OUTPUTS_WHEN = { '': 'that end in any way', SUCCESS: 'that succeed', FAILURE: 'that fail' }
const NEVER_RUN_TWICE = { '': 'it may run again', yes: 'never run it twice' }
const OUTPUTS_PLACE = { '': 'on the servers', yes: 'in place, on the disk of the agent' }
const FILE_INPUTS = ['outputs', 'outputsWhen', 'outputsKeepDays', 'outputsInPlace', 'inputs']
const AGENT_INPUTS = [...AGENT_FIELDS, 'agentLabels', 'executorOptions']

/** For `<details>`: open if one of its fields has a value; otherwise the user decides. */
function isAnySet(draft: Draft, fields: readonly string[]): true | undefined {
  return fields.some((field) => draft[field] !== undefined) || undefined
}

interface SecretProps {
  index: number
  typed: (field: string) => { value: string; onType: (text: string) => void }
  fault: string | undefined
}

function Secret({ index, typed, fault }: SecretProps) {
  const number = index === 0 ? '' : ` ${index + 1}`
  return (
    <>
      <TextField
        {...typed(secretField(index, 'name'))}
        label={`Name of the secret${number}`}
        fault={fault}
        type="text"
      />
      <TextField
        {...typed(secretField(index, 'value'))}
        label={`Its value${number}`}
        fault={undefined}
        type="password"
        autoComplete="new-password"
      />
    </>
  )
}

interface KnownVolume {
  name: string
  readOnly: boolean
}

interface MountInputsProps {
  draft: Draft
  faults: Readonly<Record<string, string>>
  volumes: readonly KnownVolume[]
  onChange: (name: string, text: string) => void
}

/** The fields for volumes and their paths. */
function MountInputs({ draft, faults, volumes, onChange }: MountInputsProps) {
  const rows = mountRows(draft)
  if (volumes.length === 0 && rows === 1) return null
  return (
    <details className="new-session-more" open={rows > 1 || undefined}>
      <summary>Volumes</summary>
      <p className="new-session-hint">It goes to agents that have all of them. For sessions in containers.</p>
      <div className="fields">
        {Array.from({ length: rows }, (_, index) => (
          <Mount key={index} index={index} draft={draft} faults={faults} volumes={volumes} onChange={onChange} />
        ))}
      </div>
    </details>
  )
}

function Mount({ index, draft, faults, volumes, onChange }: MountInputsProps & { index: number }) {
  const number = index === 0 ? '' : ` ${index + 1}`
  const [volume, path, readOnly] = (['volume', 'path', 'readOnly'] as const).map((part) => mountField(index, part))
  const chosen = draft[volume!] ?? ''
  const isFixed = volumes.find(({ name }) => name === chosen)?.readOnly ?? false
  const choose = (name: string) => {
    onChange(volume!, name)
    // The rows end with the last one that is filled.
    if (name === '') onChange(path!, '')
    const may = volumes.find((each) => each.name === name)
    onChange(readOnly!, name !== '' && (may?.readOnly || draft[readOnly!]) ? 'true' : '')
  }
  return (
    <>
      <SelectField
        label={`Volume${number}`}
        fault={faults[volume!]}
        names={[...new Set(['', chosen, ...volumes.map(({ name }) => name)])]}
        value={chosen}
        onChoose={choose}
      />
      <TextField
        label={`Where${number}`}
        fault={faults[path!]}
        type="text"
        value={draft[path!] ?? ''}
        disabled={chosen === ''}
        maxLength={512}
        placeholder={chosen === '' ? '/mnt/data' : usualPath(chosen)}
        onType={(text) => onChange(path!, text)}
      />
      {chosen !== '' && (
        <label className="field-switch">
          <input
            type="checkbox"
            checked={draft[readOnly!] !== undefined}
            disabled={isFixed}
            onChange={({ target }) => onChange(readOnly!, target.checked ? 'true' : '')}
          />
          <span>
            Read only{number}
            {isFixed && ': no agent lets sessions change it'}
          </span>
        </label>
      )}
    </>
  )
}
