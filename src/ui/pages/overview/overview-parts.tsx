import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { UiChainRowFragment } from '../../app/app.generated.ts'
import { Latest, marksOf, Outlook, StateIcon } from '../../app/chain-parts.tsx'
import { RANGE_NAMES, type RangeWord } from '../../app/list/time-range.ts'
import { AttemptStrip, STRIP_ATTEMPTS_MAX } from '../../charts/attempt-strip.tsx'
import { Meter } from '../../charts/meter.tsx'
import {
  FailedIcon,
  HeldIcon,
  QueuedIcon,
  RetryIcon,
  RunningIcon,
  SucceededIcon,
  WaitingIcon,
} from '../../design/icons.tsx'
import { Panel } from '../../design/panel.tsx'
import { count, percentage } from '../../words/numbers.ts'
import type { Overview } from './use-overview.ts'

interface Props {
  data: Overview
  statistics: NonNullable<Overview['statistics']> | undefined
  range: RangeWord
  project: string | undefined
}

/** The figures, each with a link to the list that it counts. */
export function Tiles({ data, statistics, range, project }: Props) {
  const of = project === undefined ? {} : { project }
  const states = new Map(data.states.counts.map((each) => [each.state, each]))
  const number = (state: 'QUEUED' | 'IMPOSSIBLE' | 'RUNNING' | 'WAITING_RETRY' | 'HELD') => {
    const { count: value, isExact } = states.get(state)!
    return isExact ? count(value) : `${count(value)}+`
  }
  const { failed, failedBefore, saved } = data
  const total = ({ totalCount, totalCountIsExact }: typeof failedBefore) =>
    totalCountIsExact ? count(totalCount) : `${count(totalCount)}+`
  const change = failed.totalCount - failedBefore.totalCount
  const isCompared = failed.totalCountIsExact && failedBefore.totalCountIsExact && change !== 0
  const retries = statistics?.total
  return (
    <ul className="tiles">
      <Tile name="Queued" value={number('QUEUED')} icon={<QueuedIcon className="tone-queued" />} note="chains, now">
        {(rest) => <Link to="/chains" search={{ ...of, state: 'queued' }} {...rest} />}
      </Tile>
      <Tile
        name="Impossible"
        value={number('IMPOSSIBLE')}
        icon={<HeldIcon className="tone-held" />}
        note="can never start"
      >
        {(rest) => <Link to="/chains" search={{ ...of, state: 'impossible' }} {...rest} />}
      </Tile>
      <Tile name="Running" value={number('RUNNING')} icon={<RunningIcon className="tone-running" />} note="chains, now">
        {(rest) => <Link to="/chains" search={{ ...of, state: 'running' }} {...rest} />}
      </Tile>
      <Tile
        name="Waiting"
        value={number('WAITING_RETRY')}
        icon={<WaitingIcon className="tone-queued" />}
        note="for a retry, now"
      >
        {(rest) => <Link to="/retries" search={{ ...of, phase: 'waiting' }} {...rest} />}
      </Tile>
      <Tile name="Held" value={number('HELD')} icon={<HeldIcon className="tone-held" />} note="retries, now">
        {(rest) => <Link to="/retries" search={{ ...of, phase: 'held' }} {...rest} />}
      </Tile>
      <Tile
        name="Failed for good"
        value={total(failed)}
        icon={<FailedIcon className="tone-exit" />}
        note={
          isCompared ? `${count(Math.abs(change))} ${change > 0 ? 'more' : 'fewer'} than before` : RANGE_NAMES[range]
        }
      >
        {(rest) => <Link to="/chains" search={{ ...of, state: 'failed', since: range }} {...rest} />}
      </Tile>
      <Tile
        name="Saved by retries"
        value={total(saved)}
        icon={<SucceededIcon className="tone-succeeded" />}
        note={RANGE_NAMES[range]}
      >
        {(rest) => <Link to="/chains" search={{ ...of, state: 'succeeded', attempts: 2, since: range }} {...rest} />}
      </Tile>
      <Tile
        name="Retries succeed"
        value={retries && retries.retries > 0 ? percentage(retries.retriesSucceeded, retries.retries) : '–'}
        icon={<RetryIcon className="tone-queued" />}
        note={retries && retries.retries > 0 ? `of ${count(retries.retries)}, ${RANGE_NAMES[range]}` : 'none has ended'}
      >
        {(rest) => <Link to="/failures" search={{ ...of, ...(range !== '24h' && { range }) }} {...rest} />}
      </Tile>
    </ul>
  )
}

function Tile(props: {
  name: string
  value: string
  icon: ReactNode
  note: string
  children: (rest: { className: string; children: ReactNode }) => ReactNode
}) {
  const { name, value, icon, note, children } = props
  const content = (
    <>
      <span className="tile-name">
        {icon}
        {name}
      </span>
      <span className="tile-value">{value}</span>
      <span className="tile-note">{note}</span>
    </>
  )
  return <li>{children({ className: 'tile', children: content })}</li>
}

type Group = Overview['resourceGroups'][number]

const STATUS_WORDS = {
  ALIVE: 'alive',
  SUSPECT: 'silent',
  DRAINING: 'draining',
  LOST: 'lost',
} as const

/** The use of the agents' resources, by resource group. */
export function AgentsPanel({ groups }: { groups: readonly Group[] }) {
  const shown = groups.filter(({ agents }) => agents.totalCount > 0)
  return (
    <Panel title="Agents" aside={<Link to="/agents">See all</Link>}>
      {shown.length === 0 ? (
        <p className="panel-empty">No agent has registered.</p>
      ) : (
        <div className="groups">
          {shown.map((group) => (
            <section key={group.id} className="group" aria-label={`Resource group ${group.name}`}>
              <h3>
                <span className="line-cut" title={group.name}>
                  {group.name}
                </span>
                <span className="group-agents">{agentWords(group)}</span>
              </h3>
              {group.slots.map(({ slot, utilisation }) => (
                <Meter key={slot} name={slot} share={utilisation} />
              ))}
            </section>
          ))}
        </div>
      )}
    </Panel>
  )
}

/** `12 alive, 1 silent, 1 draining`. */
function agentWords({ draining, agents: { edges } }: Group): string {
  const parts = Object.entries(STATUS_WORDS).flatMap(([status, words]) => {
    const number = edges.filter(({ node }) => node.status === status).length
    return number === 0 ? [] : [`${count(number)} ${words}`]
  })
  const words = parts.length === 0 ? 'none alive' : parts.join(', ')
  return draining ? `drained; ${words}` : words
}

/** Chains as short lines. */
export function ChainLines({ chains }: { chains: readonly { node: UiChainRowFragment }[] }) {
  return (
    <ol className="lines">
      {chains.map(({ node: chain }) => (
        <li key={chain.id}>
          <Link to="/chains/$chainId" params={{ chainId: chain.chainId }} className="line chain-line">
            <StateIcon chain={chain} />
            <span className="line-name" title={chain.name}>
              {chain.name}
            </span>
            <span className="line-strip">
              {chain.attempts > 1 && (
                <AttemptStrip marks={marksOf(chain)} hasMore={chain.attempts > STRIP_ATTEMPTS_MAX} />
              )}
            </span>
            <span className="line-outlook">
              <Outlook chain={chain} />
            </span>
            <span className="line-latest">
              <Latest at={chain.newestActivityAt} />
            </span>
          </Link>
        </li>
      ))}
    </ol>
  )
}
