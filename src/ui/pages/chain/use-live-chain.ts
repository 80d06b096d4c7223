import { useFirstCursor, useLive } from '../../api/live.ts'

/** Reads the chain again when something about it has changed since it was first read. */
export function useLiveChain(chainId: string, cursor: string | undefined, reread: () => Promise<void>): void {
  useLive({
    cursor: useFirstCursor(chainId, cursor),
    chainIds: [chainId],
    onChanges: reread,
    onMissed: () => void reread(),
  })
}
