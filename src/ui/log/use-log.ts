import { useCallback, useEffect, useRef, useState } from 'react'
import { type LogPiece, LogText } from './log-text.ts'

/** A log that is read from its end. */
export interface LogSource {
  /** Whether there is more before what was read. True before the first reading. */
  hasEarlier: () => boolean
  /** The part before all that was read; at first, the end of the log. */
  earlier: (chunks: number, signal: AbortSignal) => Promise<readonly LogPiece[]>
  /** Whether all of it may be read at once: lines then have numbers. Known after the first reading. */
  isShort: () => boolean
  /** The lines after the first reading, as long as more can come. */
  later: (signal: AbortSignal) => AsyncIterable<readonly LogPiece[]>
}

/** Chunks have up to 64 KiB: the first read is what is seen, and little more. */
const FIRST_CHUNKS = 2
const EARLIER_CHUNKS = 16
const ALL_CHUNKS = 100

interface State {
  text: { readonly log: LogText }
  prepended: number
  hasEarlier: boolean
  isReading: boolean
  error: string | null
}

const START: State = { text: { log: new LogText() }, prepended: 0, hasEarlier: false, isReading: true, error: null }

/** A log from its end: what came before when it is asked for, what comes later as it comes. `of`: another is another. */
export function useLog(of: string, open: () => LogSource, isWhole: boolean) {
  const log = useRef<LogText>(null)
  const [state, setState] = useState<State>(START)
  const source = useRef<LogSource>(null)
  const isBusy = useRef(false)
  const left = useRef(new AbortController())

  const earlier = useCallback(async (all: boolean) => {
    if (isBusy.current || !source.current) return
    isBusy.current = true
    setState((last) => ({ ...last, isReading: true }))
    const { signal } = left.current
    const { current } = source
    const read: (readonly LogPiece[])[] = []
    try {
      while (current.hasEarlier()) {
        read.unshift(await current.earlier(all ? ALL_CHUNKS : EARLIER_CHUNKS, signal))
        if (!all) break
      }
      if (signal.aborted) return
      const moved = log.current!.prepend(read.flat())
      setState((last) => ({
        ...last,
        text: { log: log.current! },
        prepended: last.prepended + moved,
        hasEarlier: current.hasEarlier(),
      }))
    } catch (error) {
      if (!signal.aborted) setState((last) => ({ ...last, error: messageOf(error) }))
    } finally {
      isBusy.current = false
      if (!signal.aborted) setState((last) => ({ ...last, isReading: false }))
    }
  }, [])

  useEffect(() => {
    const controller = new AbortController()
    left.current = controller
    const { signal } = controller
    const text = new LogText()
    log.current = text
    const opened = open()
    source.current = opened
    setState({ ...START, text: { log: text } })
    const add = appender(signal, (pieces) => {
      text.append(pieces)
      setState((last) => ({ ...last, text: { log: text } }))
    })
    const read = async () => {
      add(await opened.earlier(FIRST_CHUNKS, signal))
      if (signal.aborted) return
      setState((last) => ({ ...last, isReading: false, hasEarlier: opened.hasEarlier() }))
      if (opened.hasEarlier() && (isWhole || opened.isShort())) void earlier(true)
      for await (const pieces of opened.later(signal)) add(pieces)
    }
    read().catch((error: unknown) => {
      if (!signal.aborted) setState((last) => ({ ...last, isReading: false, error: messageOf(error) }))
    })
    return () => controller.abort()
    // What it is when it is opened: that it has ended since then ends what comes later.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [of, earlier])
  return { ...state, onEarlier: (all: boolean) => void earlier(all) }
}

/** All lines that arrive within a frame are shown with that frame. */
function appender(signal: AbortSignal, show: (pieces: readonly LogPiece[]) => void) {
  let waiting: LogPiece[] = []
  return (pieces: readonly LogPiece[]) => {
    if (waiting.length === 0)
      requestAnimationFrame(() => {
        const shown = waiting
        waiting = []
        if (!signal.aborted) show(shown)
      })
    waiting.push(...pieces)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
