import { Link } from '@tanstack/react-router'
import { Ago } from '../../app/moments.tsx'
import { causeInWords, lookOfCause } from '../../design/causes.ts'
import { Button } from '../../design/controls.tsx'
import { CauseMark } from '../../design/panel.tsx'
import { amountWords, counted } from '../../words/numbers.ts'
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

/** The kernels that hold the agent's resources, each with its chain. */
export function AgentKernels({ agent, onMore }: { agent: Agent; onMore: (() => void) | null }) {
  const kernels = agent.running.edges.map(({ node }) => node)
  const all = agent.kernels.totalCount
  return (
    <section className="card flush" aria-label="Runs here">
      <h2>
        Runs here <span className="card-count">{counted(all, 'kernel')}</span>
      </h2>
      {kernels.length === 0 ? (
        <p className="card-none">Nothing at present.</p>
      ) : (
        <div role="table" aria-label="Kernels" aria-rowcount={all + 1}>
          <div role="rowgroup" className="table-columns">
            <div role="row" aria-rowindex={1} className="table-row kernel-row head">
              <span role="columnheader">Session</span>
              <span role="columnheader">Kernel</span>
              <span role="columnheader">Status</span>
              <span role="columnheader">Holds</span>
              <span role="columnheader">Started</span>
            </div>
          </div>
          <div role="rowgroup">
            {kernels.map(({ id, role, index, status, startedAt, session }, row) => (
              <div key={id} role="row" aria-rowindex={row + 2} className="table-row kernel-row">
                <span role="cell" className="agent-name named">
                  <Link
                    to="/chains/$chainId"
                    params={{ chainId: session.chainId }}
                    search={{ attempt: session.attempt }}
                    className="table-link"
                    title={session.name}
                  >
                    {session.name}
                  </Link>
                  <span className="table-tag">{session.project.name}</span>
                </span>
                <span role="cell">
                  {role} {index}
                </span>
                <span role="cell">{status.toLowerCase()}</span>
                <span role="cell" className="kernel-holds">
                  {session.resourceSlots.map(({ slot, amount }) => `${slot} ${amountWords(slot, amount)}`).join(', ')}
                </span>
                <span role="cell">{startedAt === null ? 'not yet' : <Ago at={startedAt} />}</span>
              </div>
            ))}
          </div>
        </div>
      )}
      {all > kernels.length && (
        <p className="card-foot">
          {counted(kernels.length, 'kernel')} of {all}, the newest.
          {onMore && <Button onClick={onMore}>Show more</Button>}
        </p>
      )}
    </section>
  )
}

/** The agent, as its page reads it. */
export type Agent = Extract<NonNullable<UiAgentQuery['node']>, { __typename: 'Agent' }>
