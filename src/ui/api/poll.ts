import type { AnyVariables, TypedDocumentNode } from '@urql/core'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useClient } from 'urql'
import { setServerNow } from './clock.ts'

interface Polled<Data> {
  /** What was read last, also when it could not be read again since. */
  data: Data | undefined
  /** Why it could not be read the last time. */
  error: Error | undefined
  /** Reads at once. */
  again: () => void
}

/**
 * For what is read again and again: at once, then each `everyMs` after the answer, never two at a time. In a hidden tab
 * nothing, and at once when it is seen again. `variables` that say the same are the same.
 */
export function usePolled<Data extends { now: string }, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  everyMs: number,
): Polled<Data> {
  const client = useClient()
  const key = JSON.stringify(variables)
  const [read, setRead] = useState<{ key: string; data?: Data; error?: Error }>({ key })
  const wake = useRef(() => {})

  useEffect(() => {
    let left = false
    let isReading = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const poll = async () => {
      clearTimeout(timer)
      if (isReading || globalThis.document.hidden) return
      isReading = true
      const { data, error } = await client
        .query(document, JSON.parse(key) as Variables, { requestPolicy: 'network-only' })
        .toPromise()
      isReading = false
      if (left) return
      if (data) {
        setServerNow(data.now)
        setRead({ key, data })
      } else {
        const refused = error ?? new Error('The server sent no answer')
        setRead((before) => ({ ...(before.key === key && before), key, error: refused }))
      }
      timer = setTimeout(() => void poll(), everyMs)
    }
    const seen = () => void poll()
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
