import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { count, counted } from '../words/numbers.ts'
import { plainText } from './ansi.ts'
import { FindBar, LogLineRow, PrintedLog, useFind, usePrinting } from './log-parts.tsx'
import type { LogText } from './log-text.ts'
import { scrollHeight, scrollTopOf, windowAt } from './window.ts'
import './log.css'

export interface LogViewerProps {
  /** A new object each time lines were added. */
  text: { readonly log: LogText }
  /** The total number of lines that were added at the front, so that the view stays in place. */
  prepended: number
  /** Earlier text was not read yet, so lines have no numbers. */
  hasEarlier: boolean
  onEarlier: (all: boolean) => void
  isReading: boolean
  /** Notes after the last line. */
  ends: readonly { key: string; text: string }[]
  isLive: boolean
  /** A whole number from 1. */
  line: number | undefined
  onLine: (line: number) => void
  tools?: ReactNode
}

const ROW_PX = 20
const CHARACTER_PX = 7.2
/** New lines are announced to screen readers if they come no faster than this. */
const ANNOUNCED_MS_MIN = 1000

export function LogViewer(props: LogViewerProps) {
  const { text, hasEarlier, ends, isLive, line, onLine } = props
  const isPrinting = usePrinting()
  const { log } = text
  const scroller = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ scrollTop: 0, height: 0, width: 0 })
  const [isFollowing, setIsFollowing] = useState(line === undefined)
  const [seenLines, setSeenLines] = useState(0)
  const [isWrapped, setIsWrapped] = useState(false)
  const find = useFind(text, props.prepended)
  const columns = Math.max(20, Math.floor((view.width - 88) / CHARACTER_PX))
  const layout = useMemo(() => layoutOf(text.log, isWrapped ? columns : null), [text, isWrapped, columns])
  const rows = { count: layout.rows + ends.length, height: ROW_PX, viewHeight: view.height }
  const { first, end, top } = windowAt(rows, view.scrollTop)

  const goTo = (target: number, at = 0.4) => {
    setIsFollowing(false)
    if (scroller.current) scroller.current.scrollTop = scrollTopOf(rows, layout.rowOf(target), at)
  }
  useSize(scroller, setView)
  const lastPrepended = useRef(props.prepended)
  const keepPlace = useEffectEvent(() => {
    const element = scroller.current!
    const moved = props.prepended - lastPrepended.current
    lastPrepended.current = props.prepended
    if (isFollowing) element.scrollTop = element.scrollHeight
    else if (moved > 0) element.scrollTop = scrollTopOf(rows, first + layout.rowOf(moved))
    // Before the browser paints. The event of the scrolling comes later, and a frame would show other lines.
    const { scrollTop } = element
    setView((last) => (last.scrollTop === scrollTop ? last : { ...last, scrollTop }))
    if (isFollowing) setSeenLines(log.lineCount)
  })
  useLayoutEffect(() => keepPlace(), [text, view.height, isWrapped, ends.length, isFollowing])
  const isThere = line !== undefined && !hasEarlier && line <= log.lineCount && view.height > 0
  const goToEvent = useEffectEvent(goTo)
  useEffect(() => {
    if (isThere) goToEvent(line - 1)
  }, [isThere, line])
  const { chosen } = find
  const goToMatch = useEffectEvent(() => void (find.current && goTo(find.current.line)))
  useEffect(() => goToMatch(), [chosen])

  const onScroll = () => {
    const { scrollTop, scrollHeight: whole, clientHeight } = scroller.current!
    const isAtEnd = scrollTop + clientHeight >= whole - 2
    setView((last) => ({ ...last, scrollTop }))
    setIsFollowing((last) => isAtEnd || (last && scrollTop >= view.scrollTop))
    if (scrollTop < ROW_PX * 10 && hasEarlier && !props.isReading && !isFollowing) props.onEarlier(false)
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'End' && !(event.target as HTMLElement).matches('input')) setIsFollowing(true)
  }
  const unseen = log.lineCount - seenLines
  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- it handles the keys of its content
    <div className="log" onKeyDown={onKey}>
      <div className="log-tools">
        <FindBar find={find} hasEarlier={hasEarlier} onAll={() => props.onEarlier(true)} />
        <button type="button" className="tool" aria-pressed={isFollowing} onClick={() => setIsFollowing(!isFollowing)}>
          <span className="dot" data-on={isFollowing && isLive} aria-hidden="true" />
          Follow
        </button>
        <button type="button" className="tool" aria-pressed={isWrapped} onClick={() => setIsWrapped(!isWrapped)}>
          Wrap
        </button>
        {props.tools}
      </div>
      <div
        ref={scroller}
        className="log-scroller"
        role="log"
        aria-live="off"
        aria-label="Log"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls it
        tabIndex={0}
        onScroll={onScroll}
      >
        <div className="log-space" style={{ height: scrollHeight(rows) }}>
          <div className="log-window" style={{ transform: `translateY(${top}px)` }}>
            {Array.from({ length: end - first }, (_, index) => {
              const row = first + index
              if (row >= layout.rows) {
                const separator = ends[row - layout.rows]!
                return (
                  <div key={separator.key} className="log-end">
                    {separator.text}
                  </div>
                )
              }
              const { line: at, part } = layout.at(row)
              return (
                <LogLineRow
                  key={`${at} ${part}`}
                  line={log.line(at)}
                  number={hasEarlier || part > 0 ? null : at + 1}
                  part={isWrapped ? { from: part * columns, to: (part + 1) * columns } : null}
                  query={find.query}
                  isChosen={at + 1 === line || at === find.current?.line}
                  onLine={onLine}
                />
              )
            })}
          </div>
        </div>
        {hasEarlier && first === 0 && (
          <div className="log-earlier">
            {props.isReading ? (
              'reading earlier lines…'
            ) : (
              <button type="button" className="tool" onClick={() => props.onEarlier(true)}>
                Read all earlier lines
              </button>
            )}
          </div>
        )}
      </div>
      {isPrinting && <PrintedLog log={log} hasEarlier={hasEarlier} ends={ends} />}
      {!isFollowing && unseen > 0 && isLive && (
        <button type="button" className="log-new" onClick={() => setIsFollowing(true)}>
          {counted(unseen, 'new line')}
        </button>
      )}
      <p className="log-foot">
        {hasEarlier
          ? `the last ${counted(log.lineCount, 'line')}`
          : log.lineCount === 0
            ? props.isReading
              ? 'reading…'
              : 'no lines'
            : `${count(log.lineCount)} ${log.lineCount === 1 ? 'line' : 'lines'}`}
        {isLive && !(props.isReading && log.lineCount === 0) && ' so far'}
      </p>
      <Announcer text={text} isOn={isFollowing && isLive} />
    </div>
  )
}

/** Announces the last line to screen readers; nothing while lines come too fast. */
function Announcer({ text, isOn }: { text: { readonly log: LogText }; isOn: boolean }) {
  const last = useRef(0)
  const [announced, setAnnounced] = useState('')
  useEffect(() => {
    const { log } = text
    const now = performance.now()
    const isSlow = now - last.current >= ANNOUNCED_MS_MIN
    last.current = now
    if (isOn && isSlow && log.lineCount > 0) setAnnounced(plainText(log.line(log.lineCount - 1).text).slice(0, 300))
  }, [text, isOn])
  return (
    <p className="visually-hidden" aria-live={isOn ? 'polite' : 'off'}>
      {announced}
    </p>
  )
}

interface Layout {
  rows: number
  rowOf(line: number): number
  at(row: number): { line: number; part: number }
}

/** The rows of lines: one each, or several where lines are wrapped. */
function layoutOf(log: LogText, columns: number | null): Layout {
  const lines = log.lineCount
  if (columns === null) return { rows: lines, rowOf: (line) => line, at: (row) => ({ line: row, part: 0 }) }
  const ends = new Uint32Array(lines)
  let rows = 0
  for (let line = 0; line < lines; line++) {
    rows += Math.max(1, Math.ceil(log.lengthOf(line) / columns))
    ends[line] = rows
  }
  return {
    rows,
    rowOf: (line) => (line === 0 ? 0 : ends[Math.min(line, lines) - 1]!),
    at(row) {
      let [low, high] = [0, lines]
      while (low < high) {
        const middle = (low + high) >> 1
        if (ends[middle]! <= row) low = middle + 1
        else high = middle
      }
      return { line: low, part: row - (low === 0 ? 0 : ends[low - 1]!) }
    },
  }
}

interface ViewSize {
  scrollTop: number
  height: number
  width: number
}

function useSize(ref: React.RefObject<HTMLElement | null>, set: (update: (last: ViewSize) => ViewSize) => void) {
  useLayoutEffect(() => {
    const element = ref.current!
    const observer = new ResizeObserver(() => {
      const { clientHeight: height, clientWidth: width, scrollTop } = element
      set(() => ({ scrollTop, height, width }))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref, set])
}
