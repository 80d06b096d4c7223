import { memo } from 'react'
import { parseAnsi, type Span } from './ansi.ts'
import { NOTE, type LogLine } from './log-text.ts'

interface Props {
  line: LogLine
  /** From 1; null while that is not known. */
  number: number | null
  /** The columns of it that this row has; null for all. */
  part: { from: number; to: number } | null
  query: string
  isChosen: boolean
  onLine: (line: number) => void
}

/** Parsed when it is seen, and not before. */
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
            // oxlint-disable-next-line react/no-array-index-key -- they are only ever made anew together
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

/** Marks within spans; what begins in one and ends in another is found, but not marked. */
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
