import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { usePolled } from '../../api/poll.ts'
import { problemOf } from '../../api/problem.ts'
import { AttemptLink } from '../../app/list/row-link.tsx'
import { useMoments } from '../../app/moments.tsx'
import { ProblemPanel, useTitle } from '../../app/page.tsx'
import { causeInWords, kindOf, lookOfCause } from '../../design/causes.ts'
import { CauseMark, Skeleton } from '../../design/panel.tsx'
import { type Column, TableCard } from '../../design/table.tsx'
import { amountWords, count, memoryWords } from '../../words/numbers.ts'
import { duration, limitInWords, type Moments } from '../../words/time.ts'
import { UiComparisonDocument, type UiComparedFragment, type UiComparisonQuery } from './compare.generated.ts'
import '../../design/detail.css'
import './compare.css'

const route = getRouteApi('/frame/compare/$leftId/$rightId')

type Comparison = UiComparisonQuery['compareSessions']

/** Two sessions side by side: how they ran, what differs in their specifications, and where their logs part. */
export function ComparePage() {
  const { leftId, rightId } = route.useParams()
  const { data, error, again } = usePolled(UiComparisonDocument, { left: leftId, right: rightId })
  const moments = useMoments()
  const found = data?.compareSessions
  useTitle(found ? `Compare ${found.left.name}` : 'Compare')
  if (!found && error) return <Failure error={error} onAgain={again} />
  if (!found) return <Skeleton />
  const { left, right, differences, logDifference } = found
  return (
    <div className="detail-page">
      <header className="page-head">
        <h1 tabIndex={-1}>Compare {left.name === right.name ? left.name : `${left.name} with ${right.name}`}</h1>
      </header>
      <TableCard
        title="How they ran"
        none=""
        label="How they ran"
        rowClass="compare-row"
        columns={COLUMNS}
        rows={runRows(left, right, moments)}
      />
      <TableCard
        title="What differs"
        count={count(differences.length)}
        none="Nothing: their specifications, environments, code and images are the same."
        label="What differs"
        rowClass="compare-row"
        columns={COLUMNS}
        rows={differences.map(({ field, before, after }) => ({
          id: field,
          name: <code>{field}</code>,
          left: <Value field={field} value={before} />,
          right: <Value field={field} value={after} />,
        }))}
      />
      <Logs difference={logDifference} />
    </div>
  )
}

function Failure({ error, onAgain }: { error: Error; onAgain: () => void }) {
  const { code, message } = problemOf(error)
  if (code !== 'SESSION_NOT_FOUND') return <ProblemPanel error={error} onAgain={onAgain} />
  return (
    <div className="empty">
      <h1 tabIndex={-1}>There is no such session</h1>
      <p>{message}: it does not exist, or it is in a project that you do not see.</p>
      <Link to="/sessions" className="button">
        To the sessions
      </Link>
    </div>
  )
}

interface Row {
  id: string
  name: ReactNode
  left: ReactNode
  right: ReactNode
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Field', isHidden: true, className: 'compare-name', cell: ({ name }) => name },
  { title: 'Left', className: 'compare-value', isNamed: true, cell: ({ left }) => left },
  { title: 'Right', className: 'compare-value', isNamed: true, cell: ({ right }) => right },
]

function runRows(left: UiComparedFragment, right: UiComparedFragment, moments: Moments): readonly Row[] {
  const both = (name: string, of: (session: UiComparedFragment) => ReactNode): Row => ({
    id: name,
    name,
    left: of(left),
    right: of(right),
  })
  return [
    both('attempt', (session) => (
      <>
        <AttemptLink session={session} />
        <span className="table-tag">attempt {session.attempt}</span>
      </>
    )),
    both('outcome', (session) => <Outcome session={session} />),
    both('created', ({ createdAt }) => <time dateTime={createdAt}>{moments.absolute(Date.parse(createdAt))}</time>),
    both('agent', ({ kernels }) => {
      return [...new Set(kernels.flatMap(({ agent }) => agent?.name ?? []))].join(', ') || '–'
    }),
    both('waited', ({ durations }) => duration(durations.queued)),
    both('ran', ({ usage, durations }) => {
      const seconds = usage?.wallSeconds ?? durations.running
      return seconds === 0 ? '–' : duration(seconds)
    }),
    both('peak memory', ({ usage }) => (usage?.peakMemoryBytes == null ? '–' : memoryWords(usage.peakMemoryBytes))),
  ]
}

function Outcome({ session }: { session: UiComparedFragment }) {
  const { status, result, exitCode, batchTimeout } = session
  if (result === 'SUCCESS') return 'succeeded'
  if (result !== 'FAILURE') return status.toLowerCase()
  const kind = kindOf(session)
  return (
    <span className="with-mark">
      <CauseMark {...lookOfCause(kind, exitCode)} />
      {causeInWords(kind, exitCode, limitInWords(batchTimeout))}
    </span>
  )
}

const SLOTS = 'resourceSlots.'

function Value({ field, value }: { field: string; value: string | null }) {
  if (value === null) return <span className="compare-none">none</span>
  const slot = field.startsWith(SLOTS) ? field.slice(SLOTS.length) : ''
  return <code>{amountWords(slot, value)}</code>
}

/** The first line where the logs say different things, with some lines around. */
function Logs({ difference }: { difference: Comparison['logDifference'] }) {
  return (
    <section className="card" aria-label="Logs">
      <h2>Logs</h2>
      {difference === null ? (
        <p>They say the same, apart from numbers, times, paths and ids.</p>
      ) : (
        <>
          <p className="compare-note">
            The first line where they say different things, apart from numbers, times, paths and ids.
          </p>
          <div className="compare-logs">
            <Log
              side="Left"
              number={difference.leftNumber}
              before={difference.linesBefore}
              line={difference.leftLine}
              after={difference.leftLinesAfter}
            />
            <Log
              side="Right"
              number={difference.rightNumber}
              before={difference.linesBefore}
              line={difference.rightLine}
              after={difference.rightLinesAfter}
            />
          </div>
        </>
      )}
    </section>
  )
}

interface LogProps {
  side: string
  number: number
  before: readonly string[]
  line: string | null
  after: readonly string[]
}

function Log({ side, number, before, line, after }: LogProps) {
  const list = (lines: readonly string[], part: string) =>
    lines.map((text, at) => (
      // oxlint-disable-next-line react/no-array-index-key -- lines may be equal
      <li key={`${part}${at}`}>
        <code>{text}</code>
      </li>
    ))
  return (
    <div>
      <h3>
        {side}, line {count(number)}
      </h3>
      <ol>
        {list(before, 'before')}
        <li className="compare-line" aria-current="true">
          {line === null ? <i>the log ends here</i> : <code>{line}</code>}
        </li>
        {list(after, 'after')}
      </ol>
    </div>
  )
}
