import { Link } from '@tanstack/react-router'
import { useServerNow } from '../../api/clock.ts'
import { useMoments } from '../../app/moments.ts'
import { CauseMark } from '../../design/cause-mark.tsx'
import { causeInWords, lookOfCause } from '../../design/causes.ts'
import { Panel } from '../../design/panel.tsx'
import { count } from '../../words/count.ts'
import { countdown } from '../../words/duration.ts'
import { DueSoon } from './due-soon.tsx'
import type { UiOverviewRetryFragment } from './overview.generated.ts'
import type { Overview } from './use-overview.ts'

/** The head of the queue, with countdowns. */
export function NextRetries({ data, project }: { data: Overview; project: string | undefined }) {
  const { next, soon } = data
  const within = `${count(soon.totalCount)}${soon.totalCountIsExact ? '' : '+'} within the hour`
  return (
    <Panel
      title="Next retries"
      aside={
        <>
          {next.edges.length > 0 && <span>{within}</span>}
          <Link to="/retries" search={project === undefined ? {} : { project }}>
            See all
          </Link>
        </>
      }
    >
      {next.edges.length === 0 ? (
        <p className="panel-empty">No retry waits.</p>
      ) : (
        <>
          <ol className="lines">
            {next.edges.map(({ node }) => (
              <li key={node.id}>
                <Retry retry={node} />
              </li>
            ))}
          </ol>
          {soon.totalCount > 0 && <DueSoon project={project} />}
        </>
      )}
    </Panel>
  )
}

function Retry({ retry: { chainId, cause, dueAt, session } }: { retry: UiOverviewRetryFragment }) {
  const { attempt, maxAttempts } = session.retryState
  return (
    <Link to="/chains/$chainId" params={{ chainId }} className="line next-retry">
      <Countdown dueAt={dueAt!} />
      <span className="line-name" title={session.name}>
        {session.name}
      </span>
      <span className="next-attempt">
        {attempt + 1} of {maxAttempts}
      </span>
      <span className="next-why">
        <CauseMark {...lookOfCause(cause)} />
        <span className="line-cut">{causeInWords(cause, session.exitCode)}</span>
      </span>
    </Link>
  )
}

function Countdown({ dueAt }: { dueAt: string }) {
  const { absolute } = useMoments()
  const at = Date.parse(dueAt)
  const seconds = (at - useServerNow()) / 1000
  return (
    <time className="next-due" dateTime={dueAt} title={absolute(at)}>
      {seconds > 0 ? countdown(seconds) : 'due'}
    </time>
  )
}
