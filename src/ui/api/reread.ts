import type { AnyVariables, TypedDocumentNode } from '@urql/core'
import { useEffect, useEffectEvent, useMemo, useRef } from 'react'
import { useClient } from 'urql'
import { oneAtATime } from './one-at-a-time.ts'
import { readAnew } from './read-anew.ts'

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
