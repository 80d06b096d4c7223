import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { FailedIcon, HeldIcon, RetryIcon, RunningIcon, SucceededIcon, WaitingIcon } from '../../design/icons.tsx'
import { RANGE_NAMES, type RangeWord } from '../../app/list/time-range.ts'
import { count, percentage } from '../../words/count.ts'
import type { Overview } from './use-overview.ts'

interface Props {
  data: Overview
  statistics: NonNullable<Overview['statistics']> | undefined
  range: RangeWord
  project: string | undefined
}

/** The figures; each leads to the list of what it counts. */
export function Tiles({ data, statistics, range, project }: Props) {
  const of = project === undefined ? {} : { project }
  const states = new Map(data.states.counts.map((each) => [each.state, each]))
  const number = (state: 'LIVE' | 'WAITING_RETRY' | 'HELD') => {
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
      <Tile name="Running" value={number('LIVE')} icon={<RunningIcon className="tone-running" />} note="chains, now">
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
