import { useCallback, useEffect, useRef, useState } from 'react'
import { connection } from '../../api/connection.ts'
import { LogText, type LogPiece } from '../../log/log-text.ts'
import { UiKernelLogDocument, UiKernelLogFollowDocument } from './chain.generated.ts'

/** Chunks have up to 64 KiB: the first read is what is seen, and little more. */
const FIRST_CHUNKS = 2
const EARLIER_CHUNKS = 16
const ALL_CHUNKS = 100
/** Of up to so many bytes, all is read at once: lines then have numbers. */
const WHOLE_BYTES_MAX = 2_000_000

interface State {
  text: { readonly log: LogText }
  prepended: number
  hasEarlier: boolean
  isReading: boolean
  error: string | null
}

const START: State = { text: { log: new LogText() }, prepended: 0, hasEarlier: false, isReading: true, error: null }

/** The log of a kernel from its end: earlier chunks when they are asked for, later ones while it runs. */
export function useKernelLog(id: string, kernelId: string, isLive: boolean, isWhole: boolean) {
  const log = useRef<LogText>(null)
  const [state, setState] = useState<State>(START)
  const earliest = useRef<string | null>(null)
  const isBusy = useRef(false)
  const left = useRef(new AbortController())

  const earlier = useCallback(
    async (all: boolean) => {
      if (isBusy.current) return
      isBusy.current = true
      setState((last) => ({ ...last, isReading: true }))
      const { signal } = left.current
      const read: LogPiece[][] = []
      try {
        while (earliest.current !== null) {
          const page = await readPage(id, all ? ALL_CHUNKS : EARLIER_CHUNKS, earliest.current, signal)
          earliest.current = page.before
          read.unshift(page.pieces)
          if (!all) break
        }
        const moved = log.current!.prepend(read.flat())
        setState((last) => ({
          ...last,
          text: { log: log.current! },
          prepended: last.prepended + moved,
          hasEarlier: earliest.current !== null,
        }))
      } catch (error) {
        if (!signal.aborted) setState((last) => ({ ...last, error: messageOf(error) }))
      } finally {
        isBusy.current = false
        if (!signal.aborted) setState((last) => ({ ...last, isReading: false }))
      }
    },
    [id],
  )

  useEffect(() => {
    const controller = new AbortController()
    left.current = controller
    const { signal } = controller
    const text = new LogText()
    log.current = text
    setState({ ...START, text: { log: text } })
    const add = appender(signal, (pieces) => {
      text.append(pieces)
      setState((last) => ({ ...last, text: { log: text } }))
    })
    const read = async () => {
      const page = await readPage(id, FIRST_CHUNKS, null, signal)
      earliest.current = page.before
      add(page.pieces)
      setState((last) => ({ ...last, isReading: false, hasEarlier: page.before !== null }))
      if (page.before !== null && (isWhole || page.bytes <= WHOLE_BYTES_MAX)) void earlier(true)
      if (!isLive) return
      const stream = connection.stream(UiKernelLogFollowDocument, { kernelId, after: page.after }, { signal })
      for await (const { kernelLogs } of stream) add([kernelLogs])
    }
    read().catch((error: unknown) => {
      if (!signal.aborted) setState((last) => ({ ...last, isReading: false, error: messageOf(error) }))
    })
    return () => controller.abort()
    // What it is when it is opened: that it has ended since then ends its stream.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [id, kernelId, earlier])
  return { ...state, onEarlier: (all: boolean) => void earlier(all) }
}

async function readPage(id: string, last: number, before: string | null, signal: AbortSignal) {
  const { node } = await connection.request(UiKernelLogDocument, { kernelId: id, last, before }, { signal })
  if (node?.__typename !== 'Kernel') throw new Error('This log is not there any more')
  const { edges, pageInfo } = node.logs
  return {
    pieces: edges.map((edge) => edge.node),
    before: pageInfo.hasPreviousPage ? pageInfo.startCursor : null,
    after: pageInfo.endCursor,
    bytes: node.logBytes,
  }
}

/** What comes within a frame is shown with it. */
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
