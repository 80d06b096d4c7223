import { Link } from '@tanstack/react-router'
import { Fragment, type ReactNode } from 'react'
import { usePolled } from '../../api/poll.ts'
import { WORK } from '../../app/list/filters.ts'
import { sinceOf } from '../../app/list/time-range.ts'
import { HOLDS } from '../../design/causes.ts'
import { AlertIcon } from '../../design/icons.tsx'
import { count, counted } from '../../words/numbers.ts'
import { duration } from '../../words/time.ts'
import { UiOnCallCostDocument, UiOnCallDocument, type UiOnCallQuery } from './overview.generated.ts'
import type { Overview } from './use-overview.ts'

const EVERY_MS = 10_000
const COST_EVERY_MS = 30_000
const SHOWN_MAX = 3

/** What a person on call looks for first: what is new, what is broken, what waits in vain, and what it costs. */
export function OnCall({ data, project }: { data: Overview; project: string | undefined }) {
  const of = project === undefined ? {} : { project }
  const { data: read } = usePolled(
    UiOnCallDocument,
    (now: number) => ({
      filter: project === undefined ? null : { project },
      from: sinceOf('24h', now),
      impossible: { ...of, sessionType: WORK, state: ['IMPOSSIBLE' as const] },
      held: { ...of, phase: ['HELD' as const], holdReason: ['BREAKER' as const] },
    }),
    EVERY_MS,
  )
  const fresh = read?.newest.edges.map(({ node }) => node).filter(({ isNew }) => isNew)
  const broken = [
    ...agentNotes(data),
    ...(read ? [...gpuNotes(read), ...breakerNotes(read, of), ...regressions(read)] : []),
  ]
  const impossible = read?.impossible
  return (
    <section className="on-call" aria-label="On call">
      <Card name="New failures" total={fresh?.length} none="No new kind since yesterday.">
        {fresh?.map(({ failureGroupId, title, attempts }) => (
          <FailureLine key={failureGroupId} id={failureGroupId} title={title} note={count(attempts)} />
        ))}
      </Card>
      <Card
        name="Broken now"
        total={broken.length}
        none="Nothing."
        label="Needs attention"
        foot={read && <Warned read={read} />}
      >
        {broken.map(({ key, words }) => (
          <li key={key} className="on-call-broken">
            <AlertIcon className="tone-held" />
            <span>{words}</span>
          </li>
        ))}
      </Card>
      <Card name="Can never start" total={impossible?.totalCount} none="Everything can.">
        {impossible?.edges.map(({ node: { chainId, name, newestAttempt } }) => (
          <li key={chainId}>
            <Link
              to="/chains/$chainId"
              params={{ chainId }}
              className="on-call-line"
              title={newestAttempt.pendingReason ?? undefined}
            >
              <span className="line-cut">{name}</span>
            </Link>
          </li>
        ))}
      </Card>
      <Cost project={project} />
    </section>
  )
}

interface CardProps {
  name: string
  /** Undefined until it is known. */
  total: number | undefined
  none: string
  label?: string
  foot?: ReactNode
  children: readonly ReactNode[] | undefined
}

function Card({ name, total, none, label = name, foot, children }: CardProps) {
  const shown = children?.slice(0, SHOWN_MAX) ?? []
  const more = (total ?? 0) - shown.length
  return (
    <div className="on-call-card" data-some={(total ?? 0) > 0 || undefined}>
      <h2>
        {name} {total !== undefined && total > 0 && <span className="on-call-count">{count(total)}</span>}
      </h2>
      {total === 0 ? (
        <p>{none}</p>
      ) : (
        <ul aria-label={label}>
          {shown}
          {more > 0 && <li className="on-call-more">and {count(more)} more</li>}
        </ul>
      )}
      {foot}
    </div>
  )
}

function FailureLine({ id, title, note }: { id: string; title: string; note: string }) {
  return (
    <li>
      <Link
        to="/failures/$failureGroupId"
        params={{ failureGroupId: id }}
        search={{ range: '24h' }}
        className="on-call-line"
        title={title}
      >
        <code className="line-cut">{title}</code>
        <span>{note}</span>
      </Link>
    </li>
  )
}

/** Agents that cannot do all that they should, though they run kernels. */
function Warned({ read }: { read: UiOnCallQuery }) {
  const warned = agentsOf(read).filter(({ warnings }) => warnings.length > 0)
  if (warned.length === 0) return null
  const more = warned.length - NAMED_MAX
  return (
    <p className="on-call-warned">
      {warned.length === 1 ? 'An agent warns: ' : `${count(warned.length)} agents warn: `}
      {warned.slice(0, NAMED_MAX).map(({ id, agentId, name, warnings }, index) => (
        <Fragment key={id}>
          {index > 0 && ', '}
          <Link to="/agents/$agentId" params={{ agentId }} title={warnings.join('\n')}>
            {name}
          </Link>
        </Fragment>
      ))}
      {more > 0 && ` and ${count(more)} more`}
    </p>
  )
}

/** The CPU time of attempts that failed, and the messages that cost most. */
function Cost({ project }: { project: string | undefined }) {
  const { data } = usePolled(
    UiOnCallCostDocument,
    (now: number) => ({
      filter: project === undefined ? null : { project },
      window: { from: sinceOf('24h', now) },
    }),
    COST_EVERY_MS,
  )
  const lost = data?.all.reduce((sum, { slotSecondsLost }) => sum + slotSecondsLost.cpu, 0) ?? 0
  const messages = data?.messages.filter(({ key, slotSecondsLost }) => key !== null && slotSecondsLost.cpu > 0) ?? []
  return (
    <div className="on-call-card">
      <h2>Lost to failures {lost > 0 && <span className="on-call-count">{`${duration(lost)} of CPU time`}</span>}</h2>
      {data && lost === 0 ? (
        <p>Nothing in the last 24 hours.</p>
      ) : (
        <ul aria-label="Lost to failures">
          {messages.slice(0, SHOWN_MAX).map(({ key, title, slotSecondsLost }) => (
            <FailureLine key={key} id={key!} title={title ?? ''} note={duration(slotSecondsLost.cpu)} />
          ))}
        </ul>
      )}
    </div>
  )
}

interface Note {
  key: string
  words: ReactNode
}

/** Failures that came back after they were resolved. */
function regressions({ now, latest }: UiOnCallQuery): Note[] {
  const since = Date.parse(now) - 86_400_000
  return latest.edges.flatMap(({ node: { failureGroupId, title, regressedAt } }) => {
    if (regressedAt === null || Date.parse(regressedAt) < since) return []
    const link = (
      <Link
        to="/failures/$failureGroupId"
        params={{ failureGroupId }}
        search={{ range: '24h' }}
        className="on-call-line"
        title={title}
      >
        <code className="line-cut">{title}</code>
        <span>came back</span>
      </Link>
    )
    return [{ key: failureGroupId, words: link }]
  })
}

const NAMED_MAX = 3

function agentsOf({ agents }: UiOnCallQuery) {
  return agents.edges.map(({ node }) => node)
}

/** GPUs that no session gets, although their agents run. */
function gpuNotes(read: UiOnCallQuery): Note[] {
  return agentsOf(read).flatMap(({ id, name, gpuFault, gpus }) => {
    const faulty = gpus.filter(({ fault }) => fault !== null)
    if (gpuFault !== null) return [{ key: `${id} GPUs`, words: `Agent ${name} cannot see its GPUs: ${gpuFault}.` }]
    if (faulty.length === 0) return []
    const words = `${counted(faulty.length, 'GPU')} of ${name} ${faulty.length === 1 ? 'is' : 'are'} out of service: ${faulty[0]!.fault}.`
    return [{ key: `${id} GPUs`, words }]
  })
}

/** Retries that wait because many chains fail in the same way. */
function breakerNotes({ held }: UiOnCallQuery, of: { project?: string }): Note[] {
  if (held.totalCount === 0) return []
  const words = (
    <Link to="/retries" search={{ ...of, phase: 'held', reason: 'breaker' }} className="text-link">
      {`${counted(held.totalCount, 'retry', 'retries')} ${held.totalCount === 1 ? 'is' : 'are'} held: ${HOLDS.BREAKER}.`}
    </Link>
  )
  return [{ key: 'breaker', words }]
}

function agentNotes({ resourceGroups, states }: Overview): Note[] {
  const agents = resourceGroups.flatMap(({ agents: { edges } }) => edges.map(({ node }) => node))
  const drained = resourceGroups
    .filter(({ draining }) => draining)
    .map(({ id, name }) => ({ key: id, words: `Resource group ${name} is drained: nothing new is started there.` }))
  const goesOn: readonly string[] = ['QUEUED', 'RUNNING']
  const running = states.counts.reduce((sum, { state, count: of }) => sum + (goesOn.includes(state) ? of : 0), 0)
  const waits = running > 0 ? ` ${counted(running, 'chain')} cannot go on.` : ''
  if (!agents.some(({ status }) => status === 'ALIVE' || status === 'SUSPECT')) {
    return [{ key: 'none', words: `No agent takes work: nothing new is started.${waits}` }, ...drained]
  }
  const missing = (['LOST', 'SUSPECT'] as const).flatMap((status) => {
    const those = agents.filter((agent) => agent.status === status)
    if (those.length === 0) return []
    const names = those.slice(0, NAMED_MAX).map(({ name }) => name)
    const more = those.length > NAMED_MAX ? ` and ${count(those.length - NAMED_MAX)} more` : ''
    const what = status === 'LOST' ? 'lost: what ran there is retried elsewhere' : 'silent, and given no new work'
    const are = those.length === 1 ? 'agent is' : 'agents are'
    return [{ key: status, words: `${count(those.length)} ${are} ${what}: ${names.join(', ')}${more}.` }]
  })
  const refusing = agents
    .filter(({ status, refuses }) => status === 'ALIVE' && refuses !== null)
    .map(({ id, name, refuses }) => ({ key: id, words: `Agent ${name} takes no work: ${refuses}.` }))
  return [...missing, ...refusing, ...drained]
}
