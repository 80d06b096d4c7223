import { memo, useEffect, useEffectEvent, useMemo, useState } from 'react'
import { flushSync } from 'react-dom'
import { count } from '../words/numbers.ts'
import { parseAnsi, type Span } from './ansi.ts'
import { type LogLine, type LogText, type Match, NOTE } from './log-text.ts'

interface Props {
  line: LogLine
  /** The line's number, from 1; null while it is not known. */
  number: number | null
  /** The columns of the line in this row; null for all. */
  part: { from: number; to: number } | null
  query: string
  isChosen: boolean
  onLine: (line: number) => void
}

/** A line of a log, parsed only when it becomes visible. */
export const LogLineRow = memo(
  function LogLineRow({ line, number, part, query, isChosen, onLine }: Props) {
    if (line.stream === NOTE) return <div className="log-end">{line.text}</div>
    const whole = parseAnsi(line.text)
    const spans = highlighted(part === null ? whole : sliced(whole, part.from, part.to), query)
    return (
      <div className="log-line" data-stream={line.stream} data-chosen={isChosen || undefined}>
        {number === null ? (
          <span className="log-number" />
        ) : (
          <button
            type="button"
            className="log-number"
            tabIndex={-1}
            aria-label={`Link to line ${number}`}
            data-number={number}
            onClick={() => onLine(number)}
          />
        )}
        <span className="log-text">
          {spans.map((span, index) => (
            // oxlint-disable-next-line react/no-array-index-key -- they change only together
            <Part key={index} span={span} />
          ))}
          {line.isCut && <em className="soft"> … the rest of this line is in the download</em>}
        </span>
      </div>
    )
  },
  (a, b) =>
    a.line.text === b.line.text &&
    a.line.stream === b.line.stream &&
    a.line.isCut === b.line.isCut &&
    a.number === b.number &&
    a.part?.from === b.part?.from &&
    a.part?.to === b.part?.to &&
    a.query === b.query &&
    a.isChosen === b.isChosen,
)

type Shown = Span & { isFound?: boolean }

function Part({ span }: { span: Shown }) {
  const { text, href, isFound } = span
  const classes = classesOf(span)
  if (href !== undefined)
    return (
      <a className={classes} href={href} target="_blank" rel="noreferrer">
        {text}
      </a>
    )
  if (isFound) return <mark className={classes}>{text}</mark>
  return classes === '' ? text : <span className={classes}>{text}</span>
}

function classesOf({ colour, background, bold, dim, italic, underline }: Span): string {
  return [
    colour !== undefined && `ansi-${colour}`,
    background !== undefined && `ansi-bg-${background}`,
    bold && 'ansi-bold',
    dim && 'ansi-dim',
    italic && 'ansi-italic',
    underline && 'ansi-underline',
  ]
    .filter(Boolean)
    .join(' ')
}

function sliced(spans: readonly Span[], from: number, to: number): Span[] {
  let at = 0
  return spans.flatMap((span) => {
    const begin = at
    at += span.text.length
    const text = span.text.slice(Math.max(0, from - begin), Math.max(0, to - begin))
    return text === '' ? [] : [{ ...span, text }]
  })
}

/** Marks matches within a span. A match that crosses spans is found, but not marked. */
function highlighted(spans: readonly Span[], query: string): Shown[] {
  if (query === '') return [...spans]
  const wanted = query.toLowerCase()
  return spans.flatMap((span): Shown[] => {
    const parts: Shown[] = []
    const lower = span.text.toLowerCase()
    let from = 0
    for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
      if (at > from) parts.push({ ...span, text: span.text.slice(from, at) })
      parts.push({ ...span, text: span.text.slice(at, at + wanted.length), isFound: true })
      from = at + wanted.length
    }
    if (from < span.text.length) parts.push({ ...span, text: span.text.slice(from) })
    return parts
  })
}

/** Whether the page is being printed. */
export function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false)
  useEffect(() => {
    // Drawn before the event ends, as the page is printed then.
    const begin = () => flushSync(() => setPrinting(true))
    const end = () => setPrinting(false)
    const media = matchMedia('print')
    const change = () => (media.matches ? begin() : end())
    media.addEventListener('change', change)
    addEventListener('beforeprint', begin)
    addEventListener('afterprint', end)
    return () => {
      media.removeEventListener('change', change)
      removeEventListener('beforeprint', begin)
      removeEventListener('afterprint', end)
    }
  }, [])
  return isPrinting
}

const PRINTED_LINES_MAX = 10_000

interface PrintedProps {
  log: LogText
  hasEarlier: boolean
  ends: readonly { key: string; text: string }[]
}

/** The lines for paper, which has no scroll bar; of a very long log the last ones. */
export function PrintedLog({ log, hasEarlier, ends }: PrintedProps) {
  const first = Math.max(0, log.lineCount - PRINTED_LINES_MAX)
  return (
    <div className="log-printed">
      {(hasEarlier || first > 0) && <div className="log-end">earlier lines are in the download</div>}
      {Array.from({ length: log.lineCount - first }, (_, index) => (
        <LogLineRow
          // oxlint-disable-next-line react/no-array-index-key -- the lines keep their places
          key={index}
          line={log.line(first + index)}
          number={hasEarlier ? null : first + index + 1}
          part={null}
          query=""
          isChosen={false}
          onLine={() => {}}
        />
      ))}
      {ends.map(({ key, text }) => (
        <div key={key} className="log-end">
          {text}
        </div>
      ))}
    </div>
  )
}

const MATCHES_MAX = 10_000

interface Find {
  query: string
  setQuery(query: string): void
  matches: readonly Match[]
  /** The current match. */
  current: Match | null
  /** Another object for each choice, by typing or by a button. */
  chosen: object | null
  index: number
  go(step: number): void
}

/** Sets the focus to the search field of the open log; without one, to that of the page. */
export function openFind(): void {
  const input = document.querySelector<HTMLInputElement>('#find') ?? document.querySelector<HTMLInputElement>('#search')
  input?.focus()
  input?.select()
}

/** `prepended`: the number of lines that were added at the front. */
export function useFind(text: { readonly log: LogText }, prepended: number): Find {
  const [query, setQuery] = useState('')
  // The current match stays the same while earlier lines are added, which changes its number.
  const [chosen, setChosen] = useState<Match | null>(null)
  const matches = useMemo(() => text.log.search(query, MATCHES_MAX), [text, query])
  const index = chosen === null ? -1 : matches.findIndex(({ line }) => line === chosen.line + prepended)
  const choose = (at: number) => {
    const match = matches.at(at)
    setChosen(match ? { ...match, line: match.line - prepended } : null)
  }
  const chooseFirst = useEffectEvent((isTyped: boolean) => void ((isTyped || index < 0) && choose(0)))
  useEffect(() => chooseFirst(true), [query])
  useEffect(() => chooseFirst(false), [prepended])
  return {
    query,
    setQuery,
    matches,
    current: matches[index] ?? null,
    chosen,
    index,
    go: (step) => matches.length > 0 && choose(index < 0 ? 0 : (index + step) % matches.length),
  }
}

export function FindBar({ find, hasEarlier, onAll }: { find: Find; hasEarlier: boolean; onAll: () => void }) {
  const { query, matches, index } = find
  const found = matches.length >= MATCHES_MAX ? `${count(MATCHES_MAX)}+` : count(matches.length)
  return (
    <div className="find">
      <input
        id="find"
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
