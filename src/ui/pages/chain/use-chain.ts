import { useEffect, useEffectEvent, useMemo, useState } from 'react'
import { useClient, useQuery } from 'urql'
import { useFirstCursor, useLive } from '../../api/live.ts'
import { useReread, useRereadWhen } from '../../api/poll.ts'
import type { Segment } from '../../timeline/bars.ts'
import {
  UiChainChangesDocument,
  UiChainDocument,
  type UiChainQuery,
  UiEarlierTimelineDocument,
  UiScheduleDocument,
  type UiSegmentsFragment,
} from './chain.generated.ts'

export type Chain = NonNullable<UiChainQuery['chain']>

/**
 * Maximum number of segments that are read in addition to the newest page; older segments of the chain are not shown.
 */
const SEGMENTS_MAX = 5_000

type Edge = UiSegmentsFragment['edges'][number]

/** Reads a chain with its timeline: the newest segments first, earlier ones after them. */
export function useChain(chainId: string) {
  const variables = { chainId }
  const [{ data, error, fetching }] = useQuery({
    query: UiChainDocument,
    variables,
    requestPolicy: 'cache-and-network',
  })
  const reread = useReread(UiChainDocument, variables)
  const newest = data?.chain?.timeline
  const earlier = useEarlier(chainId, newest)
  const segments = useMemo(
    () => joined(earlier.edges, data?.chain?.timeline.edges ?? []).map(segmentOf),
    [earlier.edges, data],
  )
  return { data, error, fetching, reread, segments, isPartial: earlier.isReading }
}

/** Reads the changes between attempts, and the rest of the policy's schedule after the newest one. */
export function usePlans(chain: Chain | undefined | null) {
  const chainId = chain?.chainId ?? ''
  const goesOn = chain !== null && chain !== undefined && chain.endedAt === null
  const [changes] = useQuery({
    query: UiChainChangesDocument,
    variables: { chainId },
    pause: chainId === '' || chain!.attempts < 2,
  })
  const [schedule] = useQuery({
    query: UiScheduleDocument,
    variables: { sessionId: chain?.newestAttempt.sessionId ?? '' },
    pause: !goesOn,
  })
  const attempts = chain?.attempts ?? 0
  const rereadChanges = useReread(UiChainChangesDocument, { chainId })
  // Rereads when the number of attempts grows above 2. The query itself runs as soon as there is a second attempt.
  useRereadWhen(Math.max(attempts, 2), rereadChanges)
  return {
    changes: changes.data?.chain?.changes.edges.map(({ node }) => node) ?? [],
    schedule: goesOn ? (schedule.data?.retryPolicyPreview.schedule ?? []) : [],
  }
}

function useEarlier(chainId: string, newest: UiSegmentsFragment | undefined) {
  const client = useClient()
  const [edges, setEdges] = useState<Edge[]>([])
  const [isReading, setIsReading] = useState(false)
  const first = newest?.pageInfo.hasPreviousPage ? newest.pageInfo.startCursor : null
  const hasEarlier = first !== null
  const read = useEffectEvent(async (signal: AbortSignal) => {
    setIsReading(true)
    const pages: Edge[][] = []
    let before = first
    for (let left = SEGMENTS_MAX; before !== null && left > 0;) {
      const { data } = await client.query(UiEarlierTimelineDocument, { chainId, before }).toPromise()
      const page: UiSegmentsFragment | undefined = data?.chain?.timeline
      if (page === undefined || signal.aborted) break
      pages.unshift(page.edges)
      left -= page.edges.length
      before = page.pageInfo.hasPreviousPage ? page.pageInfo.startCursor : null
    }
    if (signal.aborted) return
    setEdges(pages.flat())
    setIsReading(false)
  })
  useEffect(() => {
    if (!hasEarlier) return
    const left = new AbortController()
    void read(left.signal)
    return () => {
      left.abort()
      setIsReading(false)
      setEdges([])
    }
  }, [chainId, hasEarlier])
  // Keeps segments that are no longer on the newest page because new segments have been added.
  useEffect(() => {
    if (newest) setEdges((last) => (last.length === 0 ? last : joined(last, newest.edges)))
  }, [newest])
  return { edges, isReading }
}

/** All of `newer`, and the part of `older` before it. */
function joined(older: readonly Edge[], newer: readonly Edge[]): Edge[] {
  const first = newer.at(0)
  if (first === undefined) return [...older]
  const at = older.findIndex(({ cursor }) => cursor === first.cursor)
  if (at >= 0) return [...older.slice(0, at), ...newer]
  return [...older.filter(({ node }) => node.attempt < first.node.attempt), ...newer]
}

function segmentOf({ node }: Edge): Segment {
  return { ...node, from: Date.parse(node.from), to: node.to === null ? null : Date.parse(node.to) }
}

/** Reads the chain again when something about it has changed since it was first read. */
export function useLiveChain(chainId: string, cursor: string | undefined, reread: () => Promise<void>): void {
  useLive({
    cursor: useFirstCursor(chainId, cursor),
    chainIds: [chainId],
    onChanges: reread,
    onMissed: () => void reread(),
  })
}
