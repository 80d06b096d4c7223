import { useCallback, useEffect, useRef, useState } from 'react'
import { type LogPiece, LogText } from './log-text.ts'

/** The source of a log that is read from its end. */
export interface LogSource {
  /** Whether there is earlier text. True before the first read. */
  hasEarlier: () => boolean
  /** Reads the part before the text that was read; at first, the end of the log. */
  earlier: (chunks: number, signal: AbortSignal) => Promise<readonly LogPiece[]>
  /** Whether the log is short enough to be read whole, so that lines have numbers. Known after the first read. */
  isShort: () => boolean
  /** The lines after the first read, as long as more can come. */
  later: (signal: AbortSignal) => AsyncIterable<readonly LogPiece[]>
}

/** A chunk has up to 64 KiB: the first read covers a screen and little more. */
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

/** Reads a log from its end: earlier text on request, later text as it comes. Another `of` is another log. */
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
      const end = await opened.earlier(FIRST_CHUNKS, signal)
      if (signal.aborted) return
      text.append(end)
      setState((last) => ({ ...last, text: { log: text }, isReading: false, hasEarlier: opened.hasEarlier() }))
      if (opened.hasEarlier() && (isWhole || opened.isShort())) void earlier(true)
      for await (const pieces of opened.later(signal)) add(pieces)
    }
    read().catch((error: unknown) => {
      if (!signal.aborted) setState((last) => ({ ...last, isReading: false, error: messageOf(error) }))
    })
    return () => controller.abort()
    // The state when the log is opened: the stream ends by itself when the kernel does.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [of, earlier])
  return { ...state, onEarlier: (all: boolean) => void earlier(all) }
}

/** Collects lines, and shows those of one frame together. */
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
