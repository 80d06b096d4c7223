import { useEffect, useEffectEvent } from 'react'
import { connection } from '../../api/connection.ts'
import { UiChainChangesDocument } from './chain.generated.ts'

/** Reads the chain again when something about it has changed since `cursor`; at most twice a second. */
export function useLiveChain(
  chainId: string,
  cursor: string | undefined,
  refresh: (options: { requestPolicy: 'network-only' }) => void,
) {
  const onChange = useEffectEvent(() => {
    if (!document.hidden) refresh({ requestPolicy: 'network-only' })
  })
  const isReady = cursor !== undefined
  const follow = useEffectEvent(async (signal: AbortSignal) => {
    const changes = connection.stream(UiChainChangesDocument, { chainId, after: cursor! }, { signal })
    for await (const _ of changes) onChange()
  })
  useEffect(() => {
    if (!isReady) return
    const left = new AbortController()
    document.addEventListener('visibilitychange', onChange)
    // Without it the page is as it was read: what is wrong with the connection is said elsewhere.
    follow(left.signal).catch(() => undefined)
    return () => {
      document.removeEventListener('visibilitychange', onChange)
      left.abort()
    }
  }, [chainId, isReady])
}
