import { chainOperations, hasEnded } from './chain.ts'
import type { CallOptions, Connection } from './connection/connection.ts'
import { NotFoundError } from './errors.ts'
import {
  KernelLogPageDocument,
  KernelLogsDocument,
  type KernelLogsSubscription,
  KernelLogTailDocument,
  SessionKernelsDocument,
  type SessionKernelsQuery,
} from './operations.generated.ts'
import { allPages } from './answers.ts'
import { gone } from './session.ts'
import { closeable, picked } from './streams/closeable.ts'

export type LogChunk = KernelLogsSubscription['kernelLogs']

/** A chunk of an attempt's output. */
export interface AttemptLog extends LogChunk {
  sessionId: string
  attempt: number
  kernelId: string
  /** Name of the kernel: `main1`, `sub1`, `sub2`, … */
  kernel: string
}

export interface LogOptions extends CallOptions {
  /** Cursor of the last chunk that you have received. If missing, output from the beginning. */
  after?: string
}

export interface AttemptLogOptions extends CallOptions {
  /** Begin with this number of lines before the end of each kernel's output; if missing, at the beginning. */
  tail?: number | undefined
  /** Begin with output that arrived since this time, in ISO 8601. */
  since?: string | undefined
}

type WithKernels = Pick<NonNullable<SessionKernelsQuery['session']>, 'sessionId' | 'attempt' | 'kernels'>

/**
 * Operations for logs. All follow the output as it is written, across server restarts, and end when the kernels have
 * ended.
 */
export function logOperations(connection: Connection) {
  const { watchChain } = chainOperations(connection)

  async function withKernels(sessionId: string, call: CallOptions): Promise<WithKernels> {
    const { session } = await connection.request(SessionKernelsDocument, { id: sessionId }, call)
    return session ?? gone(sessionId)
  }

  function kernelLogs(kernelId: string, options: LogOptions = {}): AsyncIterableIterator<LogChunk> {
    const { after, ...call } = options
    const chunks = connection.stream(KernelLogsDocument, { kernelId, after }, call)
    return picked(chunks, (data) => data.kernelLogs)
  }

  /** Reads the first chunks, and the cursor from which the log continues; a null cursor is the beginning of the log. */
  async function beginning(
    kernel: { id: string; kernelId: string },
    { tail, since, ...call }: AttemptLogOptions,
  ): Promise<LogTail> {
    if (since === undefined) {
      return tail === undefined ? { chunks: [], cursor: null } : readLogTail(connection, kernel, { lines: tail }, call)
    }
    // The end is read first, so that output written meanwhile comes after it.
    const end = await readLogTail(connection, kernel, { lines: 0 }, call)
    const found =
      tail === undefined
        ? await readLogSince(connection, kernel, since, call)
        : await readLogTail(connection, kernel, { lines: tail, since }, call)
    return found.cursor === null ? end : found
  }

  async function* logsFrom(
    kernel: { id: string; kernelId: string },
    options: AttemptLogOptions,
  ): AsyncGenerator<LogChunk, void, void> {
    const { tail: _tail, since: _since, ...call } = options
    const { chunks, cursor } = await beginning(kernel, options)
    yield* chunks
    yield* kernelLogs(kernel.kernelId, { ...call, ...(cursor !== null && { after: cursor }) })
  }

  async function* ofAttempt(attempt: WithKernels, options: AttemptLogOptions): AsyncGenerator<AttemptLog, void, void> {
    const { sessionId } = attempt
    const sources = attempt.kernels.map(({ id, kernelId, role, index }) => {
      const labels = { sessionId, attempt: attempt.attempt, kernelId, kernel: `${role}${index}` }
      return closeable([options.signal], (signal) => {
        return labelled(logsFrom({ id, kernelId }, { ...options, signal }), labels)
      })
    })
    yield* merge(sources)
  }

  return {
    /** Yields the output of one kernel. @throws NotFoundError */
    kernelLogs,

    /** Yields the output of all kernels of one attempt. @throws NotFoundError */
    sessionLogs(sessionId: string, options: AttemptLogOptions = {}): AsyncIterableIterator<AttemptLog> {
      return closeable([connection.closed, options.signal], async function* (signal) {
        const { tail: _tail, since: _since, ...call } = options
        yield* ofAttempt(await withKernels(sessionId, { ...call, signal }), { ...options, signal })
      })
    },

    /** Yields the output so far of the kernels of one attempt, one kernel after the other. @throws NotFoundError */
    async *writtenLogs(sessionId: string, options: AttemptLogOptions = {}): AsyncGenerator<AttemptLog, void, void> {
      const { tail, since: _since, ...call } = options
      const attempt = await withKernels(sessionId, call)
      for (const { id, kernelId, role, index } of attempt.kernels) {
        const labels = { sessionId, attempt: attempt.attempt, kernelId, kernel: `${role}${index}` }
        const { chunks, cursor } = await beginning({ id, kernelId }, options)
        for (const chunk of chunks) yield { ...chunk, ...labels }
        if (tail !== undefined) continue
        const pages = allPages(async ({ first, after = cursor ?? undefined }) => {
          const { node } = await connection.request(KernelLogPageDocument, { id, first, after }, call)
          if (node?.__typename === 'Kernel') return node.logs
          throw new NotFoundError('KERNEL_NOT_FOUND', `There is no kernel ${kernelId}.`)
        })
        yield* labelled(pages, labels)
      }
    },

    /** Yields the output of all attempts of a chain, one after the other, to the chain's end. @throws NotFoundError */
    chainLogs(sessionId: string, options: CallOptions = {}): AsyncIterableIterator<AttemptLog> {
      return closeable([connection.closed, options.signal], async function* (signal) {
        let shown = 0
        for await (const attempts of watchChain(sessionId, { ...options, signal })) {
          for (const attempt of attempts.slice(shown)) {
            yield* ofAttempt(attempt, { ...options, signal })
            shown = attempt.attempt
          }
          if (hasEnded(attempts)) return
        }
      })
    },
  }
}

async function* labelled<Labels extends object>(source: AsyncIterable<LogChunk>, labels: Labels) {
  for await (const chunk of source) yield { ...chunk, ...labels }
}

/**
 * Yields items of all sources as they arrive, until all sources have ended. Closes all of them when it is closed or
 * when one fails.
 */
async function* merge<T>(sources: readonly AsyncIterableIterator<T>[]): AsyncGenerator<T, void, void> {
  const waiting = new Map(sources.map((source) => [source, ask(source)]))
  try {
    while (waiting.size > 0) {
      const { source, result } = await Promise.race(waiting.values())
      if (result.done) {
        waiting.delete(source)
        continue
      }
      waiting.set(source, ask(source))
      yield result.value
    }
  } finally {
    await Promise.allSettled([...waiting.values(), ...[...waiting.keys()].map((source) => source.return?.())])
  }
}

async function ask<T>(source: AsyncIterableIterator<T>) {
  return { source, result: await source.next() }
}

/** Number of chunks in the first request: a chunk is 64 KiB at most. */
const CHUNKS_AT_FIRST = 1
const CHUNKS_MAX = 16

export interface LogTail {
  /** Chunks, oldest first; the first one may be only the end of a chunk. */
  chunks: LogChunk[]
  /**
   * Cursor of the newest chunk, also if no line was requested; null if nothing has been written (since the given time).
   */
  cursor: string | null
}

interface KernelIds {
  id: string
  kernelId: string
}

/**
 * Reads the last lines of a kernel, of both streams as they arrived. It reads backwards from the end and only as far as
 * needed. A line that has not ended counts. With `since`, no line that arrived earlier. @throws NotFoundError
 */
export async function readLogTail(
  connection: Pick<Connection, 'request'>,
  { id, kernelId }: KernelIds,
  { lines, since }: { lines: number; since?: string | undefined },
  options: CallOptions,
): Promise<LogTail> {
  const tail: LogTail = { chunks: [], cursor: null }
  const cut = lastLines(lines)
  let before: string | null = null
  for (let last = CHUNKS_AT_FIRST; ; last = Math.min(2 * last, CHUNKS_MAX)) {
    const data: Awaited<ReturnType<typeof page>> = await page(last, before)
    tail.cursor ??= data.edges.at(-1)?.cursor ?? null
    for (const { node } of data.edges.toReversed()) {
      const { text, complete } = cut(node)
      if (text !== '') tail.chunks.unshift({ ...node, text })
      if (complete) return tail
    }
    if (!data.pageInfo.hasPreviousPage) return tail
    before = data.pageInfo.startCursor
  }

  async function page(last: number, end: string | null) {
    const { node } = await connection.request(KernelLogTailDocument, { id, last, before: end, since }, options)
    if (node?.__typename === 'Kernel') return node.logs
    throw noKernel(kernelId)
  }
}

/**
 * Finds the first output that arrived since a time, and the cursor after it; null if there is none yet. @throws
 * NotFoundError
 */
export async function readLogSince(
  connection: Pick<Connection, 'request'>,
  { id, kernelId }: KernelIds,
  since: string,
  options: CallOptions,
): Promise<LogTail> {
  const { node } = await connection.request(KernelLogPageDocument, { id, first: 1, since }, options)
  if (node?.__typename !== 'Kernel') throw noKernel(kernelId)
  const [edge] = node.logs.edges
  if (edge) return { chunks: [edge.node], cursor: edge.cursor }
  return { chunks: [], cursor: null }
}

function noKernel(kernelId: string): NotFoundError {
  return new NotFoundError('KERNEL_NOT_FOUND', `There is no kernel ${kernelId}.`)
}

/** Takes chunks, newest first, and returns the part of each that belongs to the last lines. */
export function lastLines(
  count: number,
): (chunk: Pick<LogChunk, 'stream' | 'text'>) => { text: string; complete: boolean } {
  const begun = new Set<string>()
  let lines = 0
  return ({ stream, text }) => {
    if (!begun.has(stream) && text !== '') {
      begun.add(stream)
      if (!text.endsWith('\n')) lines++
    }
    if (lines > count) return { text: '', complete: true }
    for (let at = text.lastIndexOf('\n'); at >= 0; at = at === 0 ? -1 : text.lastIndexOf('\n', at - 1)) {
      if (++lines > count) return { text: text.slice(at + 1), complete: true }
    }
    return { text, complete: false }
  }
}
