import type { AnyVariables, Client, OperationResult, TypedDocumentNode } from '@urql/core'
import { useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react'
import { useClient } from 'urql'
import { serverNow, setServerNow } from './clock.ts'
import { problemOf } from './problem.ts'
import { createStore } from './store.ts'

const SENT_AT = 'sentAt'

/** Adds to an answer when its request was sent. */
export function withSentAt<Result extends OperationResult>(result: Result, sentAt: number): Result {
  return { ...result, extensions: { ...result.extensions, [SENT_AT]: sentAt } }
}

/**
 * Reads the server's present data. The client sends no request while an equal one is under way, and answers from the
 * cache meanwhile; both may be older than this call, so such answers are skipped.
 */
export async function readAnew<Data, Variables extends AnyVariables>(
  client: Client,
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<OperationResult<Data, Variables>> {
  const calledAt = performance.now()
  for (;;) {
    const result = await client.query(document, variables, { requestPolicy: 'network-only' }).toPromise()
    const sentAt = (result.extensions as Record<string, number> | undefined)?.[SENT_AT]
    if (sentAt !== undefined && sentAt >= calledAt) return result
  }
}

/**
 * Runs the work one at a time. A call during a run causes one more run after it, shared by all calls during that run.
 * The promise resolves when the last run has ended.
 */
export function oneAtATime(work: () => Promise<unknown>): () => Promise<void> {
  let running: Promise<void> | null = null
  let isWanted = false
  const run = async () => {
    try {
      do {
        isWanted = false
        await work()
      } while (isWanted)
    } finally {
      running = null
    }
  }
  return () => {
    isWanted = running !== null
    return (running ??= run())
  }
}

/**
 * Reads the shown data again, one read at a time: of two overlapping reads, the older answer could come last, and
 * stay. Variables are compared by their JSON.
 */
export function useReread<Variables extends AnyVariables>(
  document: TypedDocumentNode<unknown, Variables>,
  variables: Variables,
): () => Promise<void> {
  const client = useClient()
  const key = JSON.stringify(variables)
  return useMemo(
    () => oneAtATime(() => readAnew(client, document, JSON.parse(key) as Variables)),
    [client, document, key],
  )
}

/** Reads again when `version` differs from the first one. */
export function useRereadWhen(version: string | number, reread: () => Promise<void>): void {
  const first = useRef({ reread, version })
  const again = useEffectEvent(() => void reread())
  useEffect(() => {
    const { reread: before, version: at } = first.current
    first.current = { reread, version }
    if (before === reread && at !== version) again()
  }, [version, reread])
}

interface Polled<Data> {
  /** The last answer, kept if later reads fail. */
  data: Data | undefined
  /** The error of the last read. */
  error: Error | undefined
  /** Reads now. */
  again: () => void
}

/**
 * Polls a query: at once, then `everyMs` after each answer (without `everyMs`, only when `again` is called), never
 * two reads at a time. A hidden tab reads nothing, and reads at once when it is shown again. Variables are compared
 * by their JSON; those that change with the time are a function of the time (milliseconds, the server's clock) and of
 * the number of reads since the start or the last `again`.
 */
export function usePolled<Data extends { now: string }, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables | ((now: number, nth: number) => Variables),
  everyMs?: number,
): Polled<Data> {
  const client = useClient()
  const variablesAt = (now: number, nth: number) =>
    typeof variables === 'function' ? (variables as (now: number, nth: number) => Variables)(now, nth) : variables
  const key = JSON.stringify(variablesAt(0, 0))
  const wanted = useEffectEvent((nth: number) => variablesAt(serverNow(), nth))
  const [read, setRead] = useState<{ key: string; data?: Data; error?: Error }>({ key })
  const wake = useRef(() => {})

  useEffect(() => {
    let left = false
    let isReading = false
    let nth = 0
    let isWanted = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const health = everyMs === undefined ? null : followPoll()
    const poll = async () => {
      clearTimeout(timer)
      // The current read may have begun before the change for which `again` was called.
      isWanted = isReading
      if (isReading || globalThis.document.hidden) return
      isReading = true
      health?.begin()
      const { data, error } = await readAnew(client, document, wanted(nth++))
      isReading = false
      if (left) return
      if (data) {
        setServerNow(data.now)
        health?.succeed()
        setRead({ key, data, ...(error && { error }) })
      } else {
        const refused = error ?? new Error('The server sent no answer')
        health?.fail(problemOf(refused).message)
        setRead((before) => ({ ...(before.key === key && before), key, error: refused }))
      }
      if (isWanted) void poll()
      else if (everyMs !== undefined) timer = setTimeout(() => void poll(), everyMs)
    }
    const seen = () => {
      nth = 0
      void poll()
    }
    wake.current = seen
    globalThis.document.addEventListener('visibilitychange', seen)
    void poll()
    return () => {
      left = true
      clearTimeout(timer)
      health?.end()
      globalThis.document.removeEventListener('visibilitychange', seen)
    }
  }, [client, document, key, everyMs])

  const again = useCallback(() => wake.current(), [])
  const own = read.key === key ? read : undefined
  return { data: own?.data, error: own?.error, again }
}

/** Shown data may be outdated since this time; `why`: the reason, or null if the server does not answer. */
export interface Stale {
  /** Milliseconds since 1970, by the server's clock. */
  since: number
  why: string | null
}

interface Polls {
  /** The number of queries that the page polls. */
  count: number
  /** Whether one of them has been answered. */
  isAnswered: boolean
  /** The oldest data that is outdated. */
  stale: Stale | null
}

/** Whether what the page polls is up to date. */
export const polls = createStore<Polls>({ count: 0, isAnswered: false, stale: null })

/** Data is outdated when the answer to a read takes longer than this. */
export const STALE_AFTER_MS = 5_000
/** Data is outdated after this number of reads without an answer that could be used. */
const STALE_AFTER_READS = 2

interface Followed {
  isAnswered: boolean
  stale: Stale | null
}

const followed = new Set<Followed>()
/** What was outdated when the page before was left, until the server answers. */
let leftStale: Stale | null = null

function publish(): void {
  const stale = [leftStale, ...[...followed].map((each) => each.stale)].filter((each) => each !== null)
  const [oldest = null] = stale.toSorted((one, other) => one.since - other.since)
  polls.set({ count: followed.size, isAnswered: [...followed].some((each) => each.isAnswered), stale: oldest })
}

interface PollHealth {
  /** A read begins. */
  begin: () => void
  succeed: () => void
  fail: (why: string) => void
  /** The page no longer polls. */
  end: () => void
}

/** Follows the reads of one polled query. */
function followPoll(): PollHealth {
  const own: Followed = { isAnswered: false, stale: null }
  let readAt = serverNow()
  let missed = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const set = (stale: Stale | null) => {
    own.stale = stale
    publish()
  }
  followed.add(own)
  publish()
  return {
    begin() {
      clearTimeout(timer)
      timer = setTimeout(() => set({ since: readAt, why: own.stale?.why ?? null }), STALE_AFTER_MS)
    },
    succeed() {
      clearTimeout(timer)
      missed = 0
      readAt = serverNow()
      const isChanged = !own.isAnswered || own.stale !== null || leftStale !== null
      own.isAnswered = true
      leftStale = null
      if (isChanged) set(null)
    },
    fail(why) {
      clearTimeout(timer)
      missed++
      if (missed >= STALE_AFTER_READS || own.stale) set({ since: readAt, why })
    },
    end() {
      clearTimeout(timer)
      leftStale ??= own.stale
      followed.delete(own)
      publish()
    },
  }
}
