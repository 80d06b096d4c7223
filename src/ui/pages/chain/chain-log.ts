import { connection } from '../../api/connection.ts'
import { lastingStream } from '../../api/live.ts'
import { type LogPiece, NOTE } from '../../log/log-text.ts'
import type { LogSource } from '../../log/use-log.ts'
import { UiAttemptKernelsDocument, UiKernelLogDocument, UiKernelLogFollowDocument } from './chain.generated.ts'

export interface LoggedAttempt {
  attempt: number
  sessionId: string
  /** How the attempt ended and what followed, for the note between its log and the next one. */
  end: string
}

const LOOKED_FOR_EVERY_MS = 1_000
const ALL_CHUNKS = 100

/** The log of an attempt that never ran. */
const NOTHING: LogSource = {
  hasEarlier: () => false,
  earlier: async () => [],
  isShort: () => true,
  async *later() {},
}

/**
 * The logs of all attempts as one, each of the main kernel, with a note about the end of each attempt before the next
 * one. Attempts that begin meanwhile are added. `attempts`: the present ones, oldest first.
 */
export function chainLog(attempts: () => readonly LoggedAttempt[]): LogSource {
  const newest = attempts().at(-1)!
  let current: LoggedAttempt | undefined = newest
  let log: LogSource | undefined
  let last: LogSource = NOTHING
  return {
    hasEarlier: () => current !== undefined,
    async earlier(chunks, signal) {
      const read: LogPiece[] = []
      while (current !== undefined && read.length === 0) {
        if (log === undefined) {
          log = (await openedLog(current, signal)).log ?? NOTHING
          if (current === newest) last = log
        }
        if (log.hasEarlier()) read.unshift(...(await log.earlier(chunks, signal)))
        if (log.hasEarlier()) continue
        const { attempt }: LoggedAttempt = current
        current = attempts().findLast((each) => each.attempt < attempt)
        log = undefined
        if (current !== undefined) read.unshift(noteOf(current))
      }
      return read
    },
    isShort: () => last.isShort(),
    async *later(signal) {
      let from = newest
      if (last === NOTHING) yield* whole(await startedLog(from, signal), signal)
      else yield* last.later(signal)
      for (;;) {
        const { attempt } = from
        const next = await until(() => attempts().find((each) => each.attempt > attempt), signal)
        yield [noteOf(attempts().find((each) => each.attempt === attempt) ?? from)]
        yield* whole(await startedLog(next, signal), signal)
        from = next
      }
    },
  }
}

function noteOf({ end }: LoggedAttempt): LogPiece {
  return { stream: NOTE, text: `${end}\n` }
}

/** Reads a log from its beginning, then follows it. */
async function* whole(log: LogSource, signal: AbortSignal): AsyncGenerator<readonly LogPiece[], void, void> {
  const read: (readonly LogPiece[])[] = []
  while (log.hasEarlier()) read.unshift(await log.earlier(ALL_CHUNKS, signal))
  yield read.flat()
  yield* log.later(signal)
}

/** Waits for the attempt's kernel, as long as it can get one. */
async function startedLog(attempt: LoggedAttempt, signal: AbortSignal): Promise<LogSource> {
  return until(async () => {
    const { log, isOver } = await openedLog(attempt, signal)
    return log ?? (isOver ? NOTHING : undefined)
  }, signal)
}

async function openedLog(
  { sessionId }: LoggedAttempt,
  signal: AbortSignal,
): Promise<{ log: LogSource | undefined; isOver: boolean }> {
  const { session } = await connection.request(UiAttemptKernelsDocument, { sessionId }, { signal })
  const kernel = session?.kernels[0]
  const log = kernel && kernelLog({ ...kernel, isLive: kernel.terminatedAt === null })
  return { log, isOver: session === null || session.terminatedAt !== null }
}

/** @throws the reason of the signal */
async function until<T>(look: () => T | undefined | Promise<T | undefined>, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted()
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, LOOKED_FOR_EVERY_MS))
  }
}

/** Logs of up to this size are read whole. */
const WHOLE_BYTES_MAX = 2_000_000

/** The log of a kernel; a live one is followed. */
export function kernelLog({ id, kernelId, isLive }: { id: string; kernelId: string; isLive: boolean }): LogSource {
  let before: string | null | undefined
  let after: string | null = null
  let bytes = 0
  return {
    hasEarlier: () => before !== null,
    async earlier(chunks, signal) {
      const page = await readPage(id, chunks, before ?? null, signal)
      if (before === undefined) [after, bytes] = [page.after, page.bytes]
      before = page.before
      return page.pieces
    },
    isShort: () => bytes <= WHOLE_BYTES_MAX,
    async *later(signal) {
      if (!isLive) return
      const stream = lastingStream(UiKernelLogFollowDocument, { kernelId, after }, { signal })
      for await (const { kernelLogs } of stream) yield [kernelLogs]
    },
  }
}

async function readPage(id: string, last: number, before: string | null, signal: AbortSignal) {
  const { node } = await connection.request(UiKernelLogDocument, { kernelId: id, last, before }, { signal })
  if (node?.__typename !== 'Kernel') throw new Error('This log no longer exists')
  const { edges, pageInfo } = node.logs
  return {
    pieces: edges.map((edge) => edge.node),
    before: pageInfo.hasPreviousPage ? pageInfo.startCursor : null,
    after: pageInfo.endCursor,
    bytes: node.logBytes,
  }
}
