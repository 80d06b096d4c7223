import { type CSSProperties, memo } from 'react'
import { Latest, marksOf, Outlook, retryWords, StateIcon } from '../../app/chain-parts.tsx'
import { RowLink } from '../../app/list/row-link.tsx'
import { AttemptStrip, STRIP_ATTEMPTS_MAX } from '../../charts/attempt-strip.tsx'
import { shortDuration } from '../../words/time.ts'
import type { ChainRow as Row } from './read-chains.ts'

interface ChainRowProps {
  chain: Row
  /** The row's number, from 1. */
  rowIndex: number
  isChosen: boolean
  isCurrent: boolean
  showsProject: boolean
  style: CSSProperties
  onChoose: (chain: Row) => void
  onFocus: (chainId: string) => void
}

export const ChainRow = memo(function ChainRow(props: ChainRowProps) {
  const { chain, rowIndex, isChosen, isCurrent, showsProject, style, onChoose, onFocus } = props
  const { chainId, name, state, attempts, labels, newestAttempt, group, groupIndex } = chain
  const marks = marksOf(chain)
  return (
    <div
      role="row"
      aria-rowindex={rowIndex}
      aria-selected={isChosen}
      className="table-row chain-row"
      data-current={isCurrent || undefined}
      style={style}
    >
      <span role="cell" className="chain-choice">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select ${name}`}
          checked={isChosen}
          onChange={() => onChoose(chain)}
        />
      </span>
      <span role="cell" className="chain-name">
        <StateIcon chain={chain} />
        <RowLink
          to={{ to: '/chains/$chainId', params: { chainId } }}
          className="table-link"
          data-chain={chainId}
          tabIndex={isCurrent ? 0 : -1}
          title={name}
          onFocus={() => onFocus(chainId)}
        >
          {name}
        </RowLink>
        {group && (
          <RowLink
            to={{ to: '/groups/$groupId', params: { groupId: group.groupId } }}
            className="table-tag chain-group"
            tabIndex={-1}
            title={`member ${groupIndex} of the group ${group.name}`}
          >
            {group.name} <b>{groupIndex}</b>
          </RowLink>
        )}
        <span className="chain-labels">
          {showsProject && <span className="table-tag">{chain.project.name}</span>}
          {labels.slice(0, 3).map(({ key, value }) => (
            <span key={key} className="table-tag chain-label" title={`${key}=${value}`}>
              {key}={value}
            </span>
          ))}
        </span>
      </span>
      <span role="cell" className="chain-attempts">
        {attempts > 1 || state === 'WAITING_RETRY' || state === 'HELD' ? (
          <>
            <AttemptStrip marks={marks} hasMore={attempts > STRIP_ATTEMPTS_MAX} />
            <span className="chain-of">{retryWords(newestAttempt.retryState)}</span>
          </>
        ) : (
          <span className="chain-of quiet">{retryWords(newestAttempt.retryState)}</span>
        )}
      </span>
      <span role="cell" className="chain-outlook">
        <Outlook chain={chain} />
      </span>
      <span role="cell" className="chain-ran">
        {chain.runningSeconds > 0 ? shortDuration(chain.runningSeconds) : '–'}
      </span>
      <span role="cell" className="chain-latest">
        <Latest at={chain.newestActivityAt} />
      </span>
    </div>
  )
})
