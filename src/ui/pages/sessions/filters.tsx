import { NameFilter } from '../../app/list/name-filter.tsx'
import { Button } from '../../design/button.tsx'
import { Choice } from '../../design/choice.tsx'
import { CrossIcon } from '../../design/icons.tsx'
import type { SessionsSearch, StatusWord } from './sessions-search.ts'

const STATUS_NAMES = {
  waiting: 'waiting',
  starting: 'starting',
  running: 'running',
  ending: 'ending',
  succeeded: 'succeeded',
  failed: 'failed',
  terminated: 'terminated',
} satisfies Record<StatusWord, string>

interface Props {
  search: SessionsSearch
  onChange: (part: Partial<SessionsSearch>) => void
}

/** What narrows the list, each to be taken away by itself. */
export function Filters({ search, onChange }: Props) {
  const { status, q, agent, group } = search
  return (
    <div className="filters">
      <Choice
        label="Status"
        value={status ?? ''}
        any="Any status"
        names={STATUS_NAMES}
        onChange={(chosen) => onChange({ status: chosen })}
      />
      <NameFilter value={q} onChange={(words) => onChange({ q: words })} />
      {group !== undefined && <Chip name="group" value={group} onRemove={() => onChange({ group: undefined })} />}
      {agent !== undefined && (
        <Chip name="agent" value={`${agent.slice(0, 8)}…`} onRemove={() => onChange({ agent: undefined })} />
      )}
    </div>
  )
}

function Chip({ name, value, onRemove }: { name: string; value: string; onRemove: () => void }) {
  return (
    <Button className="chip" aria-label={`Remove the ${name} ${value}`} onClick={onRemove}>
      <span>
        {name} {value}
      </span>
      <CrossIcon />
    </Button>
  )
}
