import { Link } from '@tanstack/react-router'
import type { ChainState, ScheduleRunOutcome } from '../../../client/schema-types.generated.ts'
import { useServerNow } from '../../api/clock.ts'
import type { Place } from '../../app/list/list-panel.tsx'
import { useMoments } from '../../app/moments.tsx'
import { AttemptStrip, type StripMark } from '../../charts/attempt-strip.tsx'
import { Button } from '../../design/controls.tsx'
import { HeldIcon, WaitingIcon } from '../../design/icons.tsx'
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

/** `in 5 m`, by the server's clock; when that is, if it is pointed at. */
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

const STATES: Readonly<Record<ChainState, { words: string; mark: StripMark }>> = {
  LIVE: { words: 'running', mark: 'running' },
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
  return session ? STATES[session.chain.state] : OUTCOMES[outcome]
}

/** The last runs as marks, oldest first, and what became of the last one. */
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

interface Props {
  runs: readonly UiScheduleRunFragment[]
  place: Place
  next: (() => void) | null
}

/** The schedule's runs, the latest first, each with its chain. */
export function RunsCard({ runs, place: { first }, next }: Props) {
  return (
    <section className="card flush" aria-label="Runs">
      <h2>Runs</h2>
      {runs.length === 0 ? (
        <p className="card-none">There was none yet.</p>
      ) : (
        <div role="table" aria-label="Runs">
          <div role="rowgroup" className="table-columns">
            <div role="row" className="table-row run-row head">
              <span role="columnheader">Planned for</span>
              <span role="columnheader">Became</span>
              <span role="columnheader">Chain</span>
              <span role="columnheader">Why</span>
            </div>
          </div>
          <div role="rowgroup">
            {runs.map((run) => (
              <RunRow key={run.runId} run={run} />
            ))}
          </div>
        </div>
      )}
      {(first ?? next) && (
        <p className="card-foot">
          {first && <Button onClick={first}>Latest ones</Button>}
          {next && <Button onClick={next}>Earlier ones</Button>}
        </p>
      )}
    </section>
  )
}

function RunRow({ run }: { run: UiScheduleRunFragment }) {
  const { plannedAt, session, chainId, reason, askedBy } = run
  const { absolute } = useMoments()
  const { words, mark } = outcomeOf(run)
  const why = reason ?? (askedBy === null ? null : `asked for by ${askedBy}`)
  return (
    <div role="row" className="table-row run-row">
      <span role="cell" className="run-planned">
        <time dateTime={plannedAt}>{absolute(Date.parse(plannedAt))}</time>
      </span>
      <span role="cell" className="schedule-runs">
        <AttemptStrip marks={[mark]} hasMore={false} />
        {words}
        {run.count > 1 && ` × ${count(run.count)}`}
      </span>
      <span role="cell" className="named">
        {session && chainId !== null && (
          <>
            <Link to="/chains/$chainId" params={{ chainId }} className="table-link" title={session.name}>
              {session.name}
            </Link>
            {session.chain.attempts > 1 && (
              <span className="table-tag">{counted(session.chain.attempts, 'attempt')}</span>
            )}
          </>
        )}
      </span>
      <span role="cell" className="run-why" title={why ?? undefined}>
        {why}
      </span>
    </div>
  )
}
