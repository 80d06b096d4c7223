import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { usePolled } from '../../api/poll.ts'
import { WORK } from '../../app/list/filters.ts'
import { sinceOf } from '../../app/list/time-range.ts'
import { AlertIcon } from '../../design/icons.tsx'
import { count, counted } from '../../words/numbers.ts'
import { duration } from '../../words/time.ts'
import { UiOnCallDocument, type UiOnCallQuery } from './overview.generated.ts'
import type { Overview } from './use-overview.ts'

const EVERY_MS = 10_000
const SHOWN_MAX = 3
/** More groups than these are not added up. */
const COSTS_MAX = 20

/** What a person on call looks for first: what is new, what is broken, what waits in vain, and what it costs. */
export function OnCall({ data, project }: { data: Overview; project: string | undefined }) {
  const of = project === undefined ? {} : { project }
  const { data: read } = usePolled(
    UiOnCallDocument,
    (now: number) => ({
      filter: project === undefined ? null : { project },
      from: sinceOf('24h', now),
      impossible: { ...of, sessionType: WORK, state: ['IMPOSSIBLE' as const] },
      costs: COSTS_MAX,
    }),
    EVERY_MS,
  )
  const fresh = read?.newest.edges.map(({ node }) => node).filter(({ isNew }) => isNew)
  const broken = [...agentNotes(data), ...(read ? regressions(read) : [])]
  const impossible = read?.impossible
  return (
    <section className="on-call" aria-label="On call">
      <Card name="New failures" total={fresh?.length} none="No new kind since yesterday.">
        {fresh?.map(({ failureGroupId, title, attempts }) => (
          <FailureLine key={failureGroupId} id={failureGroupId} title={title} note={count(attempts)} />
        ))}
      </Card>
      <Card name="Broken now" total={broken.length} none="Nothing." label="Needs attention">
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
      <Cost read={read} />
    </section>
  )
}

interface CardProps {
  name: string
  /** Undefined until it is known. */
  total: number | undefined
  none: string
  label?: string
  children: readonly ReactNode[] | undefined
}

function Card({ name, total, none, label = name, children }: CardProps) {
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

/** The CPU time of attempts that failed, and of which messages. */
function Cost({ read }: { read: UiOnCallQuery | undefined }) {
  const groups = read?.costly.edges.map(({ node }) => node).filter(({ cpuSecondsLost }) => cpuSecondsLost > 0) ?? []
  const lost = groups.reduce((sum, { cpuSecondsLost }) => sum + cpuSecondsLost, 0)
  const isPart = (read?.costly.totalCount ?? 0) > COSTS_MAX
  return (
    <div className="on-call-card">
      <h2>
        Lost to failures{' '}
        {lost > 0 && <span className="on-call-count">{`${isPart ? 'over ' : ''}${duration(lost)} of CPU time`}</span>}
      </h2>
      {read && groups.length === 0 ? (
        <p>Nothing in the last 24 hours.</p>
      ) : (
        <ul aria-label="Lost to failures">
          {groups.slice(0, SHOWN_MAX).map(({ failureGroupId, title, cpuSecondsLost }) => (
            <FailureLine key={failureGroupId} id={failureGroupId} title={title} note={duration(cpuSecondsLost)} />
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
