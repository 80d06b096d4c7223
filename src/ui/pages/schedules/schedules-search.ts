import { oneOf, readSearch, text, type Reader } from '../../app/list/search-reader.ts'
import type { ScheduleFilter } from '../../../client/schema-types.generated.ts'

/** What the address says about the list of schedules. */
export interface SchedulesSearch {
  status?: StatusWord
  /** A part of the name. */
  q?: string
  project?: string
  /** What of the address was not understood, and is left out. */
  dropped?: string[]
}

/** Whether it is paused. */
const STATUSES = { active: false, paused: true } as const
export type StatusWord = keyof typeof STATUSES

const READERS: Readonly<Record<Exclude<keyof SchedulesSearch, 'dropped'>, Reader>> = {
  status: oneOf(STATUSES),
  q: text,
  project: text,
}

/** What is not understood is left out, and named. */
export function readSchedulesSearch(given: Record<string, unknown>): SchedulesSearch {
  return readSearch(READERS, given)
}

export function scheduleFilterOf({ status, q, project }: SchedulesSearch): ScheduleFilter {
  return {
    ...(status !== undefined && { paused: STATUSES[status] }),
    ...(q !== undefined && { name: { contains: q } }),
    ...(project !== undefined && { project }),
  }
}
