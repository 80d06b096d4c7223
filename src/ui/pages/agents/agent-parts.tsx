import { Link } from '@tanstack/react-router'
import { AttemptLink } from '../../app/list/row-link.tsx'
import { Ago } from '../../app/moments.tsx'
import { causeInWords, kindOf, lookOfCause } from '../../design/causes.ts'
import { Button } from '../../design/controls.tsx'
import { CauseMark } from '../../design/panel.tsx'
import { type Column, TableCard } from '../../design/table.tsx'
import { amountWords, counted } from '../../words/numbers.ts'
import { limitInWords } from '../../words/time.ts'
import type { UiAgentQuery } from './agents.generated.ts'

/** Failed sessions of the agent, the newest first. They show whether the agent is at fault. */
export function AgentFailures({ failed, agentId }: { failed: UiAgentQuery['failed']; agentId: string }) {
  return (
    <TableCard
      title="Failed here"
      none="No session that ran here has failed."
      label="Failed sessions"
      rowClass="failure-row"
      columns={FAILURE_COLUMNS}
      rows={failed.edges.map(({ node }) => node)}
      foot={
        failed.pageInfo.hasNextPage && (
          <Link to="/sessions" search={{ agent: agentId, status: 'failed' }} className="text-link">
            All failed sessions
          </Link>
        )
      }
    />
  )
}

const FAILURE_COLUMNS: readonly Column<UiAgentQuery['failed']['edges'][number]['node']>[] = [
  { title: 'Session', className: 'agent-name named', cell: (session) => <AttemptLink session={session} /> },
  { title: 'Attempt', cell: ({ attempt }) => attempt },
  {
    title: 'Failed by',
    className: 'with-mark',
    cell: (session) => (
      <>
        <CauseMark {...lookOfCause(kindOf(session), session.exitCode)} />
        <span className="cut">
          {causeInWords(kindOf(session), session.exitCode, limitInWords(session.batchTimeout))}
        </span>
      </>
    ),
  },
  {
    title: 'In words',
    className: 'failure-why',
    hint: ({ statusReason }) => statusReason,
    cell: ({ statusReason }) => statusReason,
  },
  { title: 'Ended', cell: ({ terminatedAt }) => terminatedAt !== null && <Ago at={terminatedAt} /> },
]

/** The kernels that hold the agent's resources, each with its chain. */
export function AgentKernels({ agent, onMore }: { agent: Agent; onMore: (() => void) | null }) {
  const kernels = agent.running.edges.map(({ node }) => node)
  const all = agent.kernels.totalCount
  return (
    <TableCard
      title="Runs here"
      count={counted(all, 'kernel')}
      none="Nothing at present."
      label="Kernels"
      rowClass="kernel-row"
      columns={KERNEL_COLUMNS}
      rows={kernels}
      part={{ offset: 0, count: all }}
      foot={
        all > kernels.length && (
          <>
            {counted(kernels.length, 'kernel')} of {all}, the newest.
            {onMore && <Button onClick={onMore}>Show more</Button>}
          </>
        )
      }
    />
  )
}

const KERNEL_COLUMNS: readonly Column<Agent['running']['edges'][number]['node']>[] = [
  {
    title: 'Session',
    className: 'agent-name named',
    cell: ({ session }) => (
      <>
        <AttemptLink session={session} />
        <span className="table-tag">{session.project.name}</span>
      </>
    ),
  },
  { title: 'Kernel', cell: ({ role, index }) => `${role} ${index}` },
  { title: 'Status', cell: ({ status }) => status.toLowerCase() },
  {
    title: 'Holds',
    className: 'kernel-holds',
    cell: ({ session }) =>
      session.resourceSlots.map(({ slot, amount }) => `${slot} ${amountWords(slot, amount)}`).join(', '),
  },
  { title: 'Started', cell: ({ startedAt }) => (startedAt === null ? 'not yet' : <Ago at={startedAt} />) },
]

/** The agent in the answer to the page's query. */
export type Agent = Extract<NonNullable<UiAgentQuery['node']>, { __typename: 'Agent' }>
