import { useState } from 'react'
import { useClient } from 'urql'
import { setServerNow } from '../../api/clock.ts'
import { useLive } from '../../api/live.ts'
import { usePolled } from '../../api/poll.ts'
import { WORK } from '../../app/list/filters.ts'
import { RANGES, type RangeWord, sinceOf, spanOf } from '../../app/list/time-range.ts'
import { useMoments } from '../../app/moments.tsx'
import {
  UiOverviewDocument,
  UiOverviewLatestDocument,
  type UiOverviewQuery,
  type UiOverviewQueryVariables,
} from './overview.generated.ts'

export type Overview = UiOverviewQuery

/** The data that is read less often than the rest, or after events. */
interface Kept {
  key: string
  /** The cursor of the newest event in the data; null while it has to be read again. */
  cursor: string | null
  statistics: NonNullable<Overview['statistics']>
  latest: NonNullable<Overview['latest']>['edges']
}

const EVERY_MS = 2_000
/** The statistics are read with every 15th reading. */
const WHOLE_EVERY = 15
const HOUR_MS = 3_600_000

/**
 * Reads everything that the overview shows by one operation: counts and queue every two seconds, the latest chains
 * after events.
 */
export function useOverview(project: string | undefined, range: RangeWord) {
  const client = useClient()
  const moments = useMoments()
  const of = project === undefined ? {} : { project }
  const chains = { ...of, sessionType: WORK }
  const variables = (now: number, nth: number): UiOverviewQueryVariables => {
    const since = sinceOf(range, now)
    const before = sinceOf(range, now - RANGES[range].seconds * 1000)
    return {
      project: project ?? null,
      all: chains,
      failed: { ...chains, state: ['FAILED'], activityAt: { gte: since } },
      failedBefore: { ...chains, state: ['FAILED'], activityAt: { gte: before, lt: since } },
      saved: { ...chains, state: ['SUCCEEDED'], attempts: { gte: 2 }, activityAt: { gte: since } },
      next: { ...of, phase: ['SCHEDULED'] },
      soon: { ...of, phase: ['SCHEDULED'], dueAt: { lte: new Date(now + HOUR_MS).toISOString() } },
      ...spanOf(range, now, moments.offsetMinutes(now)),
      whole: nth % WHOLE_EVERY === 0,
    }
  }
  const { data, error, again } = usePolled(UiOverviewDocument, variables, EVERY_MS)
  const key = `${range} ${project ?? ''}`
  const [kept, setKept] = useState<Kept>()
  if (data?.statistics && data.latest && data.statistics !== kept?.statistics) {
    const cursor = (kept?.key === key ? kept.cursor : null) ?? data.eventCursor
    setKept({ key, cursor, statistics: data.statistics, latest: data.latest.edges })
  }
  useLive({
    cursor: kept?.cursor ?? null,
    project,
    async onChanges() {
      const read = await client
        .query(UiOverviewLatestDocument, { all: chains }, { requestPolicy: 'network-only' })
        .toPromise()
      if (!read.data) return
      const { now, latest } = read.data
      setServerNow(now)
      setKept((before) => before && { ...before, latest: latest.edges })
    },
    onMissed() {
      setKept((before) => before && { ...before, cursor: null })
      again()
    },
  })
  return { data, error, again, ...(kept?.key === key && { statistics: kept.statistics, latest: kept.latest }) }
}
