import { useEffect, useEffectEvent } from 'react'
import { serverNow } from './clock.ts'
import { connection } from './connection.ts'
import { UiChangesDocument, type UiChangesSubscription, type UiChangesSubscriptionVariables } from './live.generated.ts'
import { isUnauthenticated, problemOf } from './problem.ts'
import { session } from './session.ts'
import { createStore } from './store.ts'

export type Changes = UiChangesSubscription['changes']

/** Whether what is shown is told of changes, and since when it is not. */
export type LiveState =
  | { kind: 'idle' | 'connecting' | 'live' }
  | { kind: 'reconnecting'; since: number }
  | { kind: 'off'; why: string }

export const liveState = createStore<LiveState>({ kind: 'idle' })

interface Follow {
  /** Of what is shown: the cursor that was read with it. Null until then. */
  cursor: string | null
  project?: string | undefined
  chainIds?: readonly string[] | undefined
  /** What has changed since. The next changes wait until it is done, and are then given together. */
  onChanges: (changes: Changes) => Promise<void>
  /** What is shown is too old to be brought up to date by changes: it is to be read again. */
  onMissed: () => void
}

/**
 * The one rule of what is live: a page reads with a cursor, follows the changes after it, and reads what of them is on
 * screen, at most twice a second. In a hidden tab it reads nothing, and everything once it is seen again.
 */
export function useLive({ cursor, project, chainIds, onChanges, onMissed }: Follow): void {
  const change = useEffectEvent(onChanges)
  const miss = useEffectEvent(onMissed)
  const chains = chainIds?.join()
  useEffect(() => {
    if (cursor === null) return undefined
    const ended = new AbortController()
    const filter = {
      ...(project !== undefined && { project }),
      ...(chains !== undefined && { chainIds: chains.split(',') }),
    }
    void follow(cursor, filter, ended.signal, { change, miss })
    return () => ended.abort()
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

const READS_APART_MS = 500
/** Longer than a connection may take: one that has not failed by then is there, even if nothing changes. */
const CONNECTED_WITHIN_MS = 4_000
const FIRST_WITHIN_MS = 1_000

async function follow(
  after: string,
  filter: object,
  signal: AbortSignal,
  { change, miss }: { change: (changes: Changes) => Promise<void>; miss: () => void },
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
  const messages = connection.stream<UiChangesSubscription, UiChangesSubscriptionVariables>(
    UiChangesDocument,
    { filter, after },
    {
      signal,
      onProgress: (progress) => {
        if (progress.kind !== 'reconnect') return
        settle(progress.delaySeconds * 1000 + CONNECTED_WITHIN_MS)
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
      else if (item.chainIds.length > 0 || item.sessionIds.length > 0) {
        await change(item)
        await new Promise((resolve) => setTimeout(resolve, READS_APART_MS))
      }
    }
  } catch (error) {
    if (signal.aborted) return
    clearTimeout(settled)
    if (isUnauthenticated(error)) session.set('gone')
    liveState.set({ kind: 'off', why: problemOf(error).message })
  }
}
