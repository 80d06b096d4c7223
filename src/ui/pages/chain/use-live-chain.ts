import { useState } from 'react'
import { useLive } from '../../api/live.ts'

/** Reads the chain again when something about it has changed since it was first read. */
export function useLiveChain(
  chainId: string,
  cursor: string | undefined,
  refresh: (options: { requestPolicy: 'network-only' }) => void,
): void {
  const [first, setFirst] = useState<{ chainId: string; cursor: string } | null>(null)
  if (cursor !== undefined && first?.chainId !== chainId) setFirst({ chainId, cursor })
  const read = () => refresh({ requestPolicy: 'network-only' })
  useLive({
    cursor: first?.chainId === chainId ? first.cursor : null,
    chainIds: [chainId],
    onChanges: async () => read(),
    onMissed: read,
  })
}
