import { Link } from '@tanstack/react-router'
import { Ago } from '../../app/ago.tsx'
import { CauseMark } from '../../design/cause-mark.tsx'
import { causeInWords, lookOfCause } from '../../design/causes.ts'
import type { UiAgentQuery } from './agents.generated.ts'

/** Sessions that ran here and failed, the newest first: whether it is the agent that is ill. */
export function AgentFailures({ failed, agentId }: { failed: UiAgentQuery['failed']; agentId: string }) {
  const sessions = failed.edges.map(({ node }) => node)
  return (
    <section className="card flush" aria-label="Failed here">
      <h2>Failed here</h2>
      {sessions.length === 0 ? (
        <p className="card-none">No session that ran here has failed.</p>
      ) : (
        <div role="table" aria-label="Failed sessions">
          <div role="rowgroup" className="table-columns">
            <div role="row" className="table-row failure-row head">
              <span role="columnheader">Session</span>
              <span role="columnheader">Attempt</span>
              <span role="columnheader">Failed by</span>
              <span role="columnheader">In words</span>
              <span role="columnheader">Ended</span>
            </div>
          </div>
          <div role="rowgroup">
            {sessions.map(({ id, chainId, attempt, name, failureCause, exitCode, statusReason, terminatedAt }) => (
              <div key={id} role="row" className="table-row failure-row">
                <span role="cell" className="agent-name named">
                  <Link
                    to="/chains/$chainId"
                    params={{ chainId }}
                    search={{ attempt }}
                    className="table-link"
                    title={name}
                  >
                    {name}
                  </Link>
                </span>
                <span role="cell">{attempt}</span>
                <span role="cell" className="with-mark">
                  <CauseMark {...lookOfCause(failureCause, exitCode)} />
                  <span className="cut">{causeInWords(failureCause, exitCode)}</span>
                </span>
                <span role="cell" className="failure-why" title={statusReason ?? undefined}>
                  {statusReason}
                </span>
                <span role="cell">{terminatedAt !== null && <Ago at={terminatedAt} />}</span>
              </div>
            ))}
          </div>
        </div>
      )}
      {failed.pageInfo.hasNextPage && (
        <p className="card-foot">
          <Link to="/sessions" search={{ agent: agentId, status: 'failed' }} className="text-link">
            All that failed here
          </Link>
        </p>
      )}
    </section>
  )
}
