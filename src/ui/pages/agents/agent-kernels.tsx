import { Link } from '@tanstack/react-router'
import { Ago } from '../../app/ago.tsx'
import { Button } from '../../design/button.tsx'
import { amountWords } from '../../words/amount.ts'
import { counted } from '../../words/count.ts'
import type { Agent } from './agent.ts'

/** What holds its resources now, each with the chain that it belongs to. */
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
