import { FILTER_LIST_MAX } from '../../domain/limits.ts'
import { createTimetable, type ScheduleRunOutcome } from '../../domain/schedule.ts'
import type { Prisma, PrismaClient } from '../../store/prisma.ts'
import { readLastRuns as readLast, type ScheduleRunRow } from '../../store/sql/schedule/schedule-runs.sql.ts'
import { projectScope } from '../access/tenants.ts'
import { argumentError } from '../input/parse-input.ts'
import { nameWhere, type TextFilterInput } from '../input/input-fields.ts'
import { keysetPage, NEWEST_FIRST, type OrderColumn, type Page, type PageArguments } from '../paging.ts'
import type { ServiceContext } from '../service-context.ts'
import { parseCreateSession, type ParsedCreateSession } from '../session/create-session-input.ts'
import { RepriseError } from '../../domain/errors.ts'
import type { SealedVariable } from '../../domain/session/kernel-environment.ts'
import { readNow } from '../../store/sql/server.sql.ts'
import type { ReadContext } from '../session/read-sessions.ts'
import { shownEnviron, type ShownVariable } from '../session/session-fields.ts'

export type { ScheduleRunRow }
export type ScheduleRecord = Prisma.ScheduleGetPayload<object>

/** A filter of schedules. All given conditions must match; null counts as missing. */
export interface ScheduleFilterInput {
  project?: string | null
  name?: TextFilterInput | null
  paused?: boolean | null
}

interface Reader extends Pick<ServiceContext, 'viewer'> {
  prisma: PrismaClient
}

/** Reads the schedules that the viewer sees. */
export function readSchedules({ prisma, viewer }: Reader, ids: readonly string[]): Promise<ScheduleRecord[]> {
  return prisma.schedule.findMany({ where: { id: { in: [...ids] }, ...projectScope(viewer) } })
}

/** Reads, by chain, the schedule that created it. */
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

/**
 * Reads schedules, newest first.
 * @throws RepriseError VALIDATION_FAILED
 */
export function listSchedules(
  { prisma, viewer }: Reader,
  { filter, page }: { filter: ScheduleFilterInput; page: PageArguments },
): Promise<Page<ScheduleRecord>> {
  const { project, name, paused } = filter
  const wanted: Prisma.ScheduleWhereInput = {
    ...projectScope(viewer),
    ...(project != null && { project: { name: project } }),
    ...nameWhere(name),
    ...(paused != null && { pausedAt: paused ? { not: null } : null }),
  }
  return keysetPage({
    args: page,
    order: NEWEST_FIRST,
    find: ({ where, ...rest }) => prisma.schedule.findMany({ ...rest, where: { AND: [wanted, where] } }),
    count: () => prisma.schedule.count({ where: wanted }),
  })
}

/** Planned times are unique within a schedule. */
const LATEST_FIRST: readonly OrderColumn[] = [{ column: 'plannedAt', direction: 'desc', type: 'date' }]

/**
 * Reads runs, latest first; none for a schedule that the viewer does not see. @throws RepriseError VALIDATION_FAILED
 */
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

/** Reads the runs with these ids that the viewer sees. */
export function readScheduleRuns({ prisma, viewer }: Reader, ids: readonly string[]): Promise<ScheduleRunRow[]> {
  return prisma.scheduleRun.findMany({ where: { id: { in: [...ids] }, schedule: projectScope(viewer) } })
}

/** Reads the last runs of schedules that the viewer is known to see. */
export function readLastRuns(
  { db }: Pick<ServiceContext, 'db'>,
  scheduleIds: readonly string[],
  limit: number,
): Promise<ScheduleRunRow[]> {
  return readLast(db, scheduleIds, limit)
}

type Timed = Pick<ScheduleRecord, 'cron' | 'every' | 'timeZone' | 'anchorAt' | 'plannedAt' | 'pausedAt'>

/**
 * Computes the next planned times, without jitter. For a paused schedule, these are the times that it would have if it
 * were resumed now.
 */
export function nextRunsOf(schedule: Timed, now: Date, count: number): Date[] {
  const { plannedAt, pausedAt } = schedule
  try {
    const timetable = createTimetable(schedule)
    const times: Date[] = []
    let time = pausedAt === null ? plannedAt : timetable.after(now)
    for (; time !== null && times.length < count; time = timetable.after(time)) times.push(time)
    return times
  } catch {
    // This server does not know the schedule's time zone; `statusReason` reports that.
    return []
  }
}

/** The session that its runs create, with its defaults; null if it is no longer valid. */
export function templateOf({ template }: Pick<ScheduleRecord, 'template'>): ParsedCreateSession | null {
  const parsed = parseCreateSession(template)
  return 'value' in parsed ? parsed.value : null
}

/** Complete schedules with related data, for REST; GraphQL reads only what its query selects. */
export interface DescribedSchedule extends ScheduleRecord {
  projectName: string
  nextRuns: Date[]
  /** Includes the part of the environment that the viewer may read; null if it is no longer valid. */
  session: (Omit<ParsedCreateSession, 'environ'> & { environ: ShownVariable[] }) | null
  secrets: SealedVariable[]
}

const NEXT_RUNS = 5

/** @throws RepriseError SCHEDULE_NOT_FOUND */
export async function describeSchedule(context: ReadContext, id: string): Promise<DescribedSchedule> {
  const [described] = await describe(context, await readSchedules(context, [id]))
  if (!described) throw new RepriseError('SCHEDULE_NOT_FOUND', `no schedule ${id}`)
  return described
}

/**
 * Reads schedules, newest first.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function describeSchedules(
  context: ReadContext,
  options: { filter: ScheduleFilterInput; page: PageArguments },
): Promise<Page<DescribedSchedule>> {
  const page = await listSchedules(context, options)
  const nodes = await describe(
    context,
    page.edges.map(({ node }) => node),
  )
  return { ...page, edges: page.edges.map(({ cursor }, index) => ({ cursor, node: nodes[index]! })) }
}

/**
 * Reads runs, latest first.
 * @throws RepriseError SCHEDULE_NOT_FOUND, VALIDATION_FAILED
 */
export async function runsOfSchedule(
  context: ReadContext,
  options: Parameters<typeof listScheduleRuns>[1],
): Promise<Page<ScheduleRunRow>> {
  const [schedule] = await readSchedules(context, [options.scheduleId])
  if (!schedule) throw new RepriseError('SCHEDULE_NOT_FOUND', `no schedule ${options.scheduleId}`)
  return listScheduleRuns(context, options)
}

/** Needs one more statement, however many schedules there are. */
async function describe(context: ReadContext, schedules: readonly ScheduleRecord[]): Promise<DescribedSchedule[]> {
  const projectIds = [...new Set(schedules.map(({ projectId }) => projectId))]
  const projects = await context.prisma.project.findMany({
    where: { id: { in: projectIds } },
    select: { id: true, name: true },
  })
  const nameOf = new Map(projects.map(({ id, name }) => [id, name]))
  const now = await readNow(context.db)
  return schedules.map((schedule) => {
    const session = templateOf(schedule)
    return {
      ...schedule,
      projectName: nameOf.get(schedule.projectId)!,
      nextRuns: nextRunsOf(schedule, now, NEXT_RUNS),
      session: session && { ...session, environ: shownEnviron(context.viewer, session.environ) },
      secrets: schedule.secretEnviron as unknown as SealedVariable[],
    }
  })
}
