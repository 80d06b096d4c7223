import type { AnyVariables, TypedDocumentNode } from '@urql/core'
import { useCallback, useEffect, useEffectEvent, useRef, useState } from 'react'
import { useClient } from 'urql'
import { serverNow, setServerNow } from './clock.ts'
import { readAnew } from './read-anew.ts'

interface Polled<Data> {
  /** What was read last, also when it could not be read again since. */
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
