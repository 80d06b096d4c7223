import type { TypedDocumentNode } from '@urql/core'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import type { OnProgress } from '../../client/settings.ts'
import { serverNow } from './clock.ts'
import { connection } from './connection.ts'
import { UiChangesDocument, type UiChangesSubscription } from './live.generated.ts'
import { browserKey, noteSilence, session } from './login.ts'
import { isUnauthenticated, problemOf } from './problem.ts'
import { createStore } from './store.ts'

interface Options {
  signal: AbortSignal
  onProgress?: OnProgress
  /** Called when the login has ended; the subscription continues after the next login. */
  onGone?: (error: unknown) => void
}

/** A subscription that resumes where it was after a new login. */
export async function* lastingStream<
  Data extends Record<string, { cursor: string }>,
  Variables extends { after?: string | null | undefined },
>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  { signal, onProgress, onGone }: Options,
): AsyncGenerator<Data, void, void> {
  let { after } = variables
  for (;;) {
    const key = browserKey()
    try {
      const stream = connection.stream(document, { ...variables, after }, { signal, ...(onProgress && { onProgress }) })
      for await (const data of stream) {
        after = Object.values(data)[0]!.cursor
        yield data
      }
      return
    } catch (error) {
      signal.throwIfAborted()
      if (!isUnauthenticated(error)) throw error
      // Another tab has logged in meanwhile.
      if (key !== browserKey()) continue
      session.set('gone')
      onGone?.(error)
      await loggedIn(signal)
    }
  }
}

function loggedIn(signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const leave = session.subscribe(() => session.get() === 'known' && resolve())
  signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  return promise.finally(leave)
}

export type Changes = UiChangesSubscription['changes']

/** Whether the page receives changes, and since when it does not. */
export type LiveState =
  | { kind: 'idle' | 'connecting' | 'live' }
  | { kind: 'reconnecting'; since: number }
  | { kind: 'off'; since: number; why: string }

export const liveState = createStore<LiveState>({ kind: 'idle' })

/** The number of streams that pages follow. */
let followers = 0
const IDLE_AFTER_MS = 1_000

interface Follow {
  /** The cursor that was read with the shown data; null until data has been read. */
  cursor: string | null
  project?: string | undefined
  chainIds?: readonly string[] | undefined
  /** Whether `onChanges` is called for these changes. Default: those of chains and sessions. */
  concerns?: (changes: Changes) => boolean
  /** Called with what has changed. Changes that arrive before the promise resolves are merged into the next call. */
  onChanges: (changes: Changes) => Promise<void>
  /** Called when changes were missed: the page has to read everything again. */
  onMissed: () => void
}

/**
 * Keeps a page live. The page reads with a cursor; this follows the changes after it, and asks the page at most twice
 * a second to read those that are on screen. In a hidden tab it reads nothing; when the tab is shown again,
 * everything is read.
 */
export function useLive({ cursor, project, chainIds, concerns = ofSessions, onChanges, onMissed }: Follow): void {
  // Kept when the page begins to follow from another cursor.
  const readAt = useRef(-READS_APART_MS)
  const change = useEffectEvent(async (changes: Changes, signal: AbortSignal) => {
    if (!concerns(changes)) return
    await new Promise((resolve) => setTimeout(resolve, readAt.current + READS_APART_MS - performance.now()))
    if (signal.aborted) return
    readAt.current = performance.now()
    await onChanges(changes)
    readAt.current = performance.now()
  })
  const miss = useEffectEvent(onMissed)
  const chains = chainIds?.join()
  useEffect(() => {
    if (cursor === null) return undefined
    const ended = new AbortController()
    const filter = {
      ...(project !== undefined && { project }),
      ...(chains !== undefined && { chainIds: chains.split(',') }),
    }
    followers++
    void follow(cursor, filter, ended.signal, { change, miss })
    return () => {
      ended.abort()
      followers--
      // The next page may follow changes, too.
      setTimeout(() => void (followers === 0 && liveState.set({ kind: 'idle' })), IDLE_AFTER_MS)
    }
  }, [cursor, project, chains])

  useEffect(() => {
    let wasHidden = document.hidden
    const seen = () => {
      if (wasHidden && !document.hidden) miss()
      wasHidden = document.hidden
    }
    document.addEventListener('visibilitychange', seen)
    return () => document.removeEventListener('visibilitychange', seen)
  }, [])
}

/** For `useLive`: the first cursor that was read for `about`. Changes are followed from there. */
export function useFirstCursor(about: string, cursor: string | undefined): string | null {
  const [first, setFirst] = useState<{ about: string; cursor: string } | null>(null)
  if (cursor !== undefined && first?.about !== about) setFirst({ about, cursor })
  return first?.about === about ? first.cursor : null
}

function ofSessions({ chainIds, sessionIds }: Changes): boolean {
  return chainIds.length > 0 || sessionIds.length > 0
}

const READS_APART_MS = 500
/**
 * Longer than connecting may take. A connection that has not failed after this time counts as connected, even if
 * nothing changes.
 */
const CONNECTED_WITHIN_MS = 4_000
const FIRST_WITHIN_MS = 1_000

async function follow(
  after: string,
  filter: object,
  signal: AbortSignal,
  { change, miss }: { change: (changes: Changes, signal: AbortSignal) => Promise<void>; miss: () => void },
): Promise<void> {
  let settled: ReturnType<typeof setTimeout> | undefined
  const settle = (withinMs: number) => {
    clearTimeout(settled)
    settled = setTimeout(() => liveState.set({ kind: 'live' }), withinMs)
  }
  signal.addEventListener('abort', () => clearTimeout(settled), { once: true })
  if (liveState.get().kind !== 'live') {
    liveState.set({ kind: 'connecting' })
    settle(FIRST_WITHIN_MS)
  }
  const messages = lastingStream(
    UiChangesDocument,
    { filter, after },
    {
      signal,
      onGone: (error) => {
        clearTimeout(settled)
        liveState.set({ kind: 'off', since: serverNow(), why: problemOf(error).message })
      },
      onProgress: (progress) => {
        if (progress.kind !== 'reconnect') return
        settle(progress.delaySeconds * 1000 + CONNECTED_WITHIN_MS)
        noteSilence()
        if (liveState.get().kind !== 'reconnecting') liveState.set({ kind: 'reconnecting', since: serverNow() })
      },
    },
  )
  try {
    for await (const { changes: item } of messages) {
      clearTimeout(settled)
      liveState.set({ kind: 'live' })
      if (document.hidden) continue
      if (item.missed) miss()
      else await change(item, signal)
    }
  } catch (error) {
    if (signal.aborted) return
    clearTimeout(settled)
    liveState.set({ kind: 'off', since: serverNow(), why: problemOf(error).message })
  }
}
