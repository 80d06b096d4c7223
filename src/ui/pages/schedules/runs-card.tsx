import { Link } from '@tanstack/react-router'
import type { Place } from '../../app/list/place.ts'
import { useMoments } from '../../app/moments.ts'
import { AttemptStrip } from '../../charts/attempt-strip.tsx'
import { Button } from '../../design/button.tsx'
import { count, counted } from '../../words/count.ts'
import { outcomeOf } from './schedule-parts.tsx'
import type { UiScheduleRunFragment } from './schedules.generated.ts'

interface Props {
  runs: readonly UiScheduleRunFragment[]
  place: Place
  next: (() => void) | null
}

/** What became of its runs, the latest first, each with the chain that it made. */
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
