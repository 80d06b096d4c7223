import { useMemo, useRef, useState } from 'react'
import { count } from '../words/count.ts'
import type { LogText, Match } from './log-text.ts'

const MATCHES_MAX = 10_000

export interface Find {
  query: string
  setQuery(query: string): void
  matches: readonly Match[]
  /** The one that is gone to. */
  current: Match | null
  index: number
  go(step: number): void
  open(): void
  input: React.RefObject<HTMLInputElement | null>
}

export function useFind(text: { readonly log: LogText }): Find {
  const input = useRef<HTMLInputElement>(null)
  const [query, setWords] = useState('')
  const [index, setIndex] = useState(-1)
  const matches = useMemo(() => text.log.search(query, MATCHES_MAX), [text, query])
  const at = Math.min(index, matches.length - 1)
  return {
    query,
    setQuery(words) {
      setWords(words)
      setIndex(-1)
    },
    matches,
    current: at < 0 ? null : matches[at]!,
    index: at,
    go: (step) => matches.length > 0 && setIndex((at + step + matches.length) % matches.length),
    open: () => input.current?.focus(),
    input,
  }
}

export function FindBar({ find, hasEarlier, onAll }: { find: Find; hasEarlier: boolean; onAll: () => void }) {
  const { query, matches, index, input } = find
  const found = matches.length >= MATCHES_MAX ? `${count(MATCHES_MAX)}+` : count(matches.length)
  return (
    <div className="find">
      <input
        ref={input}
        type="search"
        value={query}
        placeholder="find  /"
        aria-label="Find in the log"
        spellCheck={false}
        onChange={(event) => find.setQuery(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') find.go(event.shiftKey ? -1 : 1)
          if (event.key === 'Escape') {
            find.setQuery('')
            event.currentTarget.blur()
          }
        }}
      />
      {query !== '' && (
        <>
          <span className="find-count" aria-live="polite">
            {matches.length === 0 ? 'none' : index < 0 ? found : `${count(index + 1)} of ${found}`}
          </span>
          <button type="button" className="tool" aria-label="Previous match" onClick={() => find.go(-1)}>
            ‹
          </button>
          <button type="button" className="tool" aria-label="Next match" onClick={() => find.go(1)}>
            ›
          </button>
          {hasEarlier && (
            <button type="button" className="tool" onClick={onAll}>
              Load all to search all
            </button>
          )}
        </>
      )}
    </div>
  )
}
