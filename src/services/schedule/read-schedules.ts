import { FILTER_LIST_MAX } from '../../domain/limits.ts'
import type { ScheduleRunOutcome } from '../../domain/schedule/admit-runs.ts'
import { createTimetable } from '../../domain/schedule/timetable.ts'
import type { Prisma, PrismaClient } from '../../store/prisma.ts'
import { readLastRuns as readLast, type ScheduleRunRow } from '../../store/sql/schedule/last-runs.sql.ts'
import { projectScope } from '../access/tenant-scope.ts'
import { argumentError } from '../input/parse-input.ts'
import { textConditions, type TextFilterInput } from '../input/text-conditions.ts'
import { withoutNulls } from '../input/without-nulls.ts'
import type { OrderColumn } from '../paging/keyset-cursor.ts'
import { keysetPage, type Page } from '../paging/keyset.ts'
import { NEWEST_FIRST } from '../paging/orders.ts'
import type { PageArguments } from '../paging/page-arguments.ts'
import type { ServiceContext } from '../service-context.ts'
import { parseCreateSession, type ParsedCreateSession } from '../session/create-session-input.ts'

export type { ScheduleRunRow }
export type ScheduleRecord = Prisma.ScheduleGetPayload<object>

/** Which schedules. All given conditions must match; null counts as missing. */
export interface ScheduleFilterInput {
  project?: string | null
  name?: TextFilterInput | null
  paused?: boolean | null
}

interface Reader extends Pick<ServiceContext, 'viewer'> {
  prisma: PrismaClient
}

/** Those that the viewer sees. */
export function readSchedules({ prisma, viewer }: Reader, ids: readonly string[]): Promise<ScheduleRecord[]> {
  return prisma.schedule.findMany({ where: { id: { in: [...ids] }, ...projectScope(viewer) } })
}

/** By chain, the schedule that made it. */
export async function readSchedulesOfChains(
  { prisma, viewer }: Reader,
  chainIds: readonly string[],
): Promise<Map<string, ScheduleRecord>> {
  const chains = await prisma.chain.findMany({
    where: { chainId: { in: [...chainIds] }, scheduleId: { not: null }, ...projectScope(viewer) },
    select: { chainId: true, schedule: true },
  })
  return new Map(chains.flatMap(({ chainId, schedule }) => (schedule ? [[chainId, schedule]] : [])))
}

/** Newest first. @throws RepriseError VALIDATION_FAILED */
export function listSchedules(
  { prisma, viewer }: Reader,
  { filter, page }: { filter: ScheduleFilterInput; page: PageArguments },
): Promise<Page<ScheduleRecord>> {
  const { project, name, paused } = filter
  const wanted: Prisma.ScheduleWhereInput = {
    ...projectScope(viewer),
    ...(project != null && { project: { name: project } }),
    ...(name && { name: withoutNulls(textConditions(name, 'filter.name')!) }),
    ...(paused != null && { pausedAt: paused ? { not: null } : null }),
  }
  return keysetPage({
    args: page,
    order: NEWEST_FIRST,
    find: ({ where, ...rest }) => prisma.schedule.findMany({ ...rest, where: { AND: [wanted, where] } }),
    count: () => prisma.schedule.count({ where: wanted }),
  })
}

/** Of one schedule they are unique. */
const LATEST_FIRST: readonly OrderColumn[] = [{ column: 'plannedAt', direction: 'desc', type: 'date' }]

/** Latest first; none of a schedule that the viewer does not see. @throws RepriseError VALIDATION_FAILED */
export function listScheduleRuns(
  { prisma, viewer }: Reader,
  options: { scheduleId: string; outcome?: readonly ScheduleRunOutcome[] | null | undefined; page: PageArguments },
): Promise<Page<ScheduleRunRow>> {
  const { scheduleId, outcome, page } = options
  if ((outcome?.length ?? 0) > FILTER_LIST_MAX) throw argumentError('outcome', `At most ${FILTER_LIST_MAX} values.`)
  const wanted: Prisma.ScheduleRunWhereInput = {
    scheduleId,
    schedule: projectScope(viewer),
    ...(outcome && { outcome: { in: [...outcome] } }),
  }
  return keysetPage({
    args: page,
    order: LATEST_FIRST,
    find: ({ where, ...rest }) => prisma.scheduleRun.findMany({ ...rest, where: { AND: [wanted, where] } }),
    count: () => prisma.scheduleRun.count({ where: wanted }),
  })
}

/** For schedules that the viewer is known to see. */
export function readLastRuns(
  { db }: Pick<ServiceContext, 'db'>,
  scheduleIds: readonly string[],
  limit: number,
): Promise<ScheduleRunRow[]> {
  return readLast(db, scheduleIds, limit)
}

type Timed = Pick<ScheduleRecord, 'cron' | 'every' | 'timeZone' | 'anchorAt' | 'plannedAt' | 'pausedAt'>

/** The next planned times, without jitter; of a paused schedule those that it would have if it were resumed now. */
export function nextRunsOf(schedule: Timed, now: Date, count: number): Date[] {
  const { plannedAt, pausedAt } = schedule
  try {
    const timetable = createTimetable(schedule)
    const times: Date[] = []
    let time = pausedAt === null ? plannedAt : timetable.after(now)
    for (; time !== null && times.length < count; time = timetable.after(time)) times.push(time)
    return times
  } catch {
    // Its zone is unknown here; `statusReason` says so.
    return []
  }
}

/** The session that its runs create, with its defaults; null if it is not valid any more. */
export function templateOf({ template }: Pick<ScheduleRecord, 'template'>): ParsedCreateSession | null {
  const parsed = parseCreateSession(template)
  return 'value' in parsed ? parsed.value : null
}
