import type { AnyVariables, Client, OperationResult, TypedDocumentNode } from '@urql/core'
import { useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react'
import { useClient } from 'urql'
import { serverNow, setServerNow } from './clock.ts'

const SENT_AT = 'sentAt'

/** For the answer to a request: when that was sent. */
export function withSentAt<Result extends OperationResult>(result: Result, sentAt: number): Result {
  return { ...result, extensions: { ...result.extensions, [SENT_AT]: sentAt } }
}

/**
 * What the server has from now on. The client sends nothing while the same is being read already, and takes for an
 * answer what the cache makes of it meanwhile: both may be older than what this is called for.
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
 * Runs the work one at a time. Whoever asks while it runs gets another run that begins after it, shared with all who
 * ask meanwhile; what is returned ends with it.
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
 * Reads again what is shown, one read at a time: of two that overlap, the older answer may come last, and stay.
 * `variables` that say the same are the same.
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

/** Reads again when what it is about has become another than it was at first. */
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
  /** The last answer, also if later reads failed. */
  data: Data | undefined
  /** Why it could not be read the last time. */
  error: Error | undefined
  /** Reads at once. */
  again: () => void
}

/**
 * For what is read again and again: at once, then each `everyMs` after the answer (without it when `again` is called),
 * never two at a time. In a hidden tab nothing, and at once when it is seen again. `variables` that say the same are the
 * same; those that change with the time are a function of it, in milliseconds by the server's clock, and of how often it
 * was read since it was begun or asked for.
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
    const poll = async () => {
      clearTimeout(timer)
      // What is being read may be older than what `again` is called for.
      isWanted = isReading
      if (isReading || globalThis.document.hidden) return
      isReading = true
      const { data, error } = await readAnew(client, document, wanted(nth++))
      isReading = false
      if (left) return
      if (data) {
        setServerNow(data.now)
        setRead({ key, data, ...(error && { error }) })
      } else {
        const refused = error ?? new Error('The server sent no answer')
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
      globalThis.document.removeEventListener('visibilitychange', seen)
    }
  }, [client, document, key, everyMs])

  const again = useCallback(() => wake.current(), [])
  const own = read.key === key ? read : undefined
  return { data: own?.data, error: own?.error, again }
}
