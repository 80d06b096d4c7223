import { Link } from '@tanstack/react-router'
import type { SessionGroupState } from '../../../client/schema-types.generated.ts'
import type { StateTab } from '../../app/list/search.ts'
import { CancelledIcon, FailedIcon, HeldIcon, QueuedIcon, RunningIcon, SucceededIcon } from '../../design/icons.tsx'
import { count, percentage } from '../../words/numbers.ts'
import type { UiGroupCountsFragment, UiGroupRowFragment } from './groups.generated.ts'

export type Counts = UiGroupCountsFragment

const GROUP_STATES = {
  OPEN: { icon: QueuedIcon, words: 'open', tone: 'running' },
  RUNNING: { icon: RunningIcon, words: 'running', tone: 'running' },
  ENDING: { icon: HeldIcon, words: 'ending', tone: 'held' },
  SUCCEEDED: { icon: SucceededIcon, words: 'succeeded', tone: 'succeeded' },
  FAILED: { icon: FailedIcon, words: 'failed', tone: 'exit' },
  CANCELLED: { icon: CancelledIcon, words: 'cancelled', tone: 'unknown' },
} as const satisfies Record<SessionGroupState, object>

/** `running`, `ending: failed` */
export function stateWords({ state, outcome }: Pick<UiGroupRowFragment, 'state' | 'outcome'>): string {
  const { words } = GROUP_STATES[state]
  return state === 'ENDING' && outcome !== null ? `${words}: ${GROUP_STATES[outcome].words}` : words
}

export function GroupMark({ group }: { group: Pick<UiGroupRowFragment, 'state' | 'outcome'> }) {
  const { icon: Icon, tone } = GROUP_STATES[group.state]
  return (
    <span className="with-mark">
      <Icon className={`tone-${tone}`} />
      {stateWords(group)}
    </span>
  )
}

/** The states of members: their letter in the API, their look, and the filter of the chains with that state. */
export const MEMBER_STATES = [
  { letter: 'S', name: 'succeeded', tab: 'succeeded', of: ({ succeeded }: Counts) => succeeded },
  { letter: 'F', name: 'failed', tab: 'failed', of: ({ failed }: Counts) => failed },
  { letter: 'C', name: 'cancelled', tab: 'cancelled', of: ({ cancelled }: Counts) => cancelled },
  { letter: 'R', name: 'running', tab: 'running', of: ({ running }: Counts) => running },
  { letter: 'W', name: 'waiting for a retry', tab: 'waiting', of: ({ waiting }: Counts) => waiting },
  { letter: 'Q', name: 'queued', tab: 'queued', of: ({ queued }: Counts) => queued },
] as const satisfies readonly { letter: string; name: string; tab: StateTab; of: (counts: Counts) => number }[]

const NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(MEMBER_STATES.map(({ letter, name }) => [letter, name])),
  H: 'retry held',
}

export function memberStateName(letter: string): string {
  return NAMES[letter] ?? 'unknown'
}

export function endedOf({ succeeded, failed, cancelled }: Counts): number {
  return succeeded + failed + cancelled
}

/** `12 succeeded, 3 failed` */
export function countsWords(counts: Counts): string {
  const some = MEMBER_STATES.filter(({ of }) => of(counts) > 0)
  return some.map(({ name, of }) => `${count(of(counts))} ${name}`).join(', ') || 'no members'
}

/** The members by state as a bar. */
export function GroupBar({ counts, label }: { counts: Counts; label: string }) {
  const { total } = counts
  const ended = endedOf(counts)
  return (
    <div
      className="member-bar"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={ended}
      aria-valuetext={`${percentage(ended, total)} ended: ${countsWords(counts)}`}
      title={countsWords(counts)}
    >
      {MEMBER_STATES.map(({ letter, of }) => {
        const value = of(counts)
        return (
          value > 0 && <span key={letter} className="member-fill" data-state={letter} style={{ flexGrow: value }} />
        )
      })}
    </div>
  )
}

/** The number of members in each state, with the sign of that state, as links to those chains. */
export function StateFigures({ groupId, counts }: { groupId: string; counts: Counts }) {
  return (
    <ul className="member-figures" aria-label="Members by state">
      {MEMBER_STATES.map(({ letter, name, tab, of }) => (
        <li key={letter} data-none={of(counts) === 0 || undefined}>
          <Link to="/chains" search={{ group: groupId, state: tab }}>
            <b>{count(of(counts))}</b>{' '}
            <span className="member-figure-name">
              <i className="member-sign" data-state={letter} />
              {name}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  )
}
