import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, memo, type MouseEvent, useState } from 'react'
import { useChangeSearch } from '../../app/list/list-page.tsx'
import { Button } from '../../design/controls.tsx'
import { count } from '../../words/numbers.ts'
import { type Counts, countsWords, endedOf, MEMBER_STATES, memberStateName } from './group-parts.tsx'
import type { UiGroupQuery, UiGroupMembersQuery } from './groups.generated.ts'

/** Cells that are drawn at once. Larger groups are cut into ranges, of which one is shown. */
export const CELLS_MAX = 500
/** Ranges of the overview, roughly; those of very large groups have more members instead. */
const RANGES_WANTED = 200

/** The number of members of a range. */
export function rangeSize(total: number): number {
  return CELLS_MAX * Math.max(1, Math.ceil(total / RANGES_WANTED / CELLS_MAX))
}

/** `1-3,7` → 1, 2, 3, 7 */
function indexesIn(text: string): number[] {
  return text.split(',').flatMap((part) => {
    const [first, last = first] = part.split('-').map(Number)
    return part === '' ? [] : Array.from({ length: last! - first! + 1 }, (_, at) => first! + at)
  })
}

interface MembersProps {
  group: NonNullable<UiGroupQuery['sessionGroup']>
  from: number | undefined
  ranges: NonNullable<UiGroupMembersQuery['sessionGroup']>['memberRanges'] | null
}

/** The members of a group: for a large one its ranges, and the cells of one part. */
export function Members({ group, from, ranges }: MembersProps) {
  const { groupId, counts, memberStates } = group
  const change = useChangeSearch<'group'>()
  const go = (index: number | undefined) => change({ from: index === undefined || index <= 0 ? undefined : index })
  return (
    <section className="card members-card" aria-label="Members by index">
      <h2>Members</h2>
      {counts.total > CELLS_MAX && ranges && (
        <RangeGrid ranges={ranges} shown={from ?? ranges[0]?.first} onChoose={go} />
      )}
      <GridPlace members={memberStates} total={counts.total} hasEarlier={from !== undefined} onGo={go} />
      {memberStates.states === '' ? (
        <p className="card-none">There is none {from === undefined ? 'yet' : 'from this index on'}.</p>
      ) : (
        <MemberGrid groupId={groupId} members={memberStates} />
      )}
    </section>
  )
}

interface GridProps {
  groupId: string
  members: NonNullable<UiGroupQuery['sessionGroup']>['memberStates']
}

/**
 * A cell for each member, in the order of their indexes. One of them is a stop of the tab key; arrows move between them.
 */
function MemberGrid({ groupId, members: { states, indexes: text } }: GridProps) {
  const navigate = useNavigate()
  const indexes = indexesIn(text)
  const [current, setCurrent] = useState<number>()
  const stop = current !== undefined && indexes.includes(current) ? current : indexes[0]
  const open = (event: MouseEvent) => {
    const index = (event.target as HTMLElement).closest<HTMLElement>('.member')?.dataset['index']
    if (index === undefined || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void navigate({ to: '/groups/$groupId/$index', params: { groupId, index } })
  }
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- enter clicks the link that has the focus
    <ul
      className="member-grid"
      aria-label="Members"
      onClick={open}
      onKeyDown={moveFocus}
      onFocus={(event) => setCurrent(Number((event.target as HTMLElement).dataset['index']))}
    >
      {indexes.map((index, at) => (
        <Cell key={index} groupId={groupId} index={index} state={states[at]!} isStop={index === stop} />
      ))}
    </ul>
  )
}

interface CellProps {
  groupId: string
  index: number
  state: string
  isStop: boolean
}

const Cell = memo(function Cell({ groupId, index, state, isStop }: CellProps) {
  const words = `${index}: ${memberStateName(state)}`
  return (
    <li>
      <a
        className="member member-sign"
        href={`/groups/${groupId}/${index}`}
        data-index={index}
        data-state={state}
        aria-label={words}
        title={words}
        tabIndex={isStop ? 0 : -1}
      />
    </li>
  )
})

/** Moves the focus between cells, which are in rows: by one, by a row, to the first or last one. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const cells = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-index]')]
  const at = cells.indexOf(document.activeElement as HTMLElement)
  if (at < 0) return
  const { offsetTop } = cells[0]!
  const end = cells.findIndex((cell) => cell.offsetTop > offsetTop)
  const columns = end < 0 ? cells.length : end
  const to: Readonly<Record<string, number>> = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    ArrowUp: at - columns,
    ArrowDown: at + columns,
    Home: 0,
    End: cells.length - 1,
  }
  const next = to[event.key]
  if (next === undefined) return
  event.preventDefault()
  cells[next]?.focus()
}

interface RangesProps {
  ranges: NonNullable<NonNullable<UiGroupMembersQuery['sessionGroup']>['memberRanges']>
  /** The index of the first cell that is shown. */
  shown: number | undefined
  onChoose: (first: number) => void
}

/** The ranges of a large group, each filled by the states of its members; a chosen one is shown below. */
function RangeGrid({ ranges, shown, onChoose }: RangesProps) {
  const chosen = ranges.findLastIndex(({ first }) => shown !== undefined && first <= shown)
  const [focused, setFocused] = useState<number>()
  const stop = focused !== undefined && focused < ranges.length ? focused : Math.max(0, chosen)
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- its buttons have the focus
    <ul
      className="range-grid"
      aria-label="Ranges of members"
      onKeyDown={moveFocus}
      onFocus={(event) => setFocused(Number((event.target as HTMLElement).dataset['index']))}
    >
      {ranges.map(({ first, last, counts }, at) => {
        const words = `${count(first)} to ${count(last)}: ${countsWords(counts)}`
        return (
          <li key={first}>
            <button
              type="button"
              className="range"
              data-index={at}
              aria-label={words}
              aria-current={at === chosen ? 'true' : undefined}
              title={words}
              tabIndex={at === stop ? 0 : -1}
              onClick={() => onChoose(first)}
            >
              <RangeFill counts={counts} />
            </button>
          </li>
        )
      })}
    </ul>
  )
}

/** The states of a range as layers, the ended ones at the bottom; a range with failed members has a mark. */
function RangeFill({ counts }: { counts: Counts }) {
  return (
    <span className="range-fill" data-failed={counts.failed > 0 || undefined} data-over={isOver(counts) || undefined}>
      {MEMBER_STATES.map(
        ({ letter, of }) =>
          of(counts) > 0 && (
            <span key={letter} className="member-fill" data-state={letter} style={{ flexGrow: of(counts) }} />
          ),
      )}
    </span>
  )
}

function isOver(counts: Counts): boolean {
  return endedOf(counts) === counts.total
}

interface PlaceProps {
  members: GridProps['members']
  total: number
  onGo: (from: number | undefined) => void
  /** Whether cells before these exist. */
  hasEarlier: boolean
}

/** Which members the cells show, and buttons to others. */
function GridPlace({ members: { indexes: text, lastIndex, hasNextPage }, total, hasEarlier, onGo }: PlaceProps) {
  const indexes = indexesIn(text)
  if (!hasNextPage && !hasEarlier) return null
  const first = indexes[0]
  return (
    <div className="grid-place">
      <span>
        {first === undefined ? 'no members' : `members ${count(first)} to ${count(lastIndex!)}`} of {count(total)}
      </span>
      {hasEarlier && <Button onClick={() => onGo(undefined)}>First ones</Button>}
      {hasNextPage && <Button onClick={() => onGo(lastIndex! + 1)}>Next ones</Button>}
    </div>
  )
}
