import { Link } from '@tanstack/react-router'
import type { ScheduleRunOutcome } from '../../../client/schema-types.generated.ts'
import { useServerNow } from '../../api/clock.ts'
import type { ShownState } from '../../app/chain-parts.tsx'
import type { List } from '../../app/list/list-page.tsx'
import { useMoments } from '../../app/moments.tsx'
import { AttemptStrip, type StripMark } from '../../charts/attempt-strip.tsx'
import { Button } from '../../design/controls.tsx'
import { HeldIcon, WaitingIcon } from '../../design/icons.tsx'
import { type Column, TableCard } from '../../design/table.tsx'
import { count, counted } from '../../words/numbers.ts'
import { duration, relativeMoment } from '../../words/time.ts'
import type { UiScheduleRowFragment, UiScheduleRunFragment } from './schedules.generated.ts'

type Schedule = UiScheduleRowFragment
type Run = UiScheduleRunFragment

/** `30 2 * * *` and its zone, or `every 15 m`. */
export function Timing({ schedule: { cron, every, timeZone } }: { schedule: Schedule }) {
  if (cron === null) return <span className="schedule-timing">every {duration(every!)}</span>
  return (
    <span className="schedule-timing">
      <code>{cron}</code> <span className="schedule-zone">{timeZone}</span>
    </span>
  )
}

export function ScheduleMark({ schedule: { paused } }: { schedule: Pick<Schedule, 'paused'> }) {
  return (
    <span className="with-mark">
      {paused ? <HeldIcon className="tone-held" /> : <WaitingIcon className="tone-running" />}
      {paused ? 'paused' : 'active'}
    </span>
  )
}

/** `in 5 m`, by the server's clock; its tooltip has the exact time. */
export function Until({ at }: { at: string }) {
  const then = Date.parse(at)
  const now = useServerNow()
  const { absolute } = useMoments()
  return (
    <time dateTime={at} title={absolute(then)}>
      {then > now ? relativeMoment(then, now) : 'due'}
    </time>
  )
}

const STATES: Readonly<Record<ShownState, { words: string; mark: StripMark }>> = {
  QUEUED: { words: 'queued', mark: 'queued' },
  IMPOSSIBLE: { words: 'impossible', mark: 'queued' },
  RUNNING: { words: 'running', mark: 'running' },
  WAITING_RETRY: { words: 'waiting for a retry', mark: 'planned' },
  HELD: { words: 'held', mark: 'planned' },
  SUCCEEDED: { words: 'succeeded', mark: 'succeeded' },
  FAILED: { words: 'failed', mark: 'exit' },
  CANCELLED: { words: 'cancelled', mark: 'unknown' },
}

const OUTCOMES: Readonly<Record<ScheduleRunOutcome, { words: string; mark: StripMark }>> = {
  STARTED: { words: 'started', mark: 'unknown' },
  QUEUED: { words: 'waits for an earlier run', mark: 'queued' },
  SKIPPED: { words: 'skipped', mark: 'unknown' },
  MISSED: { words: 'missed', mark: 'unknown' },
  REFUSED: { words: 'refused', mark: 'exit' },
}

/** The outcome of a run: its chain's state, or why it made no chain. */
export function outcomeOf({ session, outcome }: Run): { words: string; mark: StripMark } {
  return session ? STATES[session.chain.state as ShownState] : OUTCOMES[outcome]
}

/** The last runs as marks, oldest first, and the outcome of the last one. */
export function LastRuns({ runs }: { runs: readonly Run[] }) {
  const [last] = runs
  if (last === undefined) return <span className="schedule-none">none yet</span>
  return (
    <>
      <AttemptStrip marks={runs.toReversed().map((run) => outcomeOf(run).mark)} hasMore={false} />
      <span className="schedule-last">{outcomeOf(last).words}</span>
    </>
  )
}

/** The schedule's runs, the latest first, each with its chain. */
export function RunsCard({ runs: { rows, first, next } }: { runs: List<Run> }) {
  return (
    <TableCard
      title="Runs"
      none="There was none yet."
      label="Runs"
      rowClass="run-row"
      columns={COLUMNS}
      rows={rows.map((run) => ({ ...run, id: run.runId }))}
      foot={
        (first ?? next) && (
          <>
            {first && <Button onClick={first}>Latest ones</Button>}
            {next && <Button onClick={next}>Earlier ones</Button>}
          </>
        )
      }
    />
  )
}

const COLUMNS: readonly Column<Run>[] = [
  { title: 'Planned for', className: 'run-planned', cell: ({ plannedAt }) => <At at={plannedAt} /> },
  {
    title: 'Became',
    className: 'schedule-runs',
    cell: (run) => {
      const { words, mark } = outcomeOf(run)
      return (
        <>
          <AttemptStrip marks={[mark]} hasMore={false} />
          {words}
          {run.count > 1 && ` × ${count(run.count)}`}
        </>
      )
    },
  },
  {
    title: 'Chain',
    className: 'named',
    cell: ({ session, chainId }) =>
      session &&
      chainId !== null && (
        <>
          <Link to="/chains/$chainId" params={{ chainId }} className="table-link" title={session.name}>
            {session.name}
          </Link>
          {session.chain.attempts > 1 && (
            <span className="table-tag">{counted(session.chain.attempts, 'attempt')}</span>
          )}
        </>
      ),
  },
  { title: 'Why', className: 'run-why', hint: whyOf, cell: whyOf },
]

function At({ at }: { at: string }) {
  const { absolute } = useMoments()
  return <time dateTime={at}>{absolute(Date.parse(at))}</time>
}

function whyOf({ reason, askedBy }: Run): string | null {
  return reason ?? (askedBy === null ? null : `asked for by ${askedBy}`)
}
