import { RepriseError } from '../../domain/errors.ts'
import type { SealedVariable } from '../../domain/session/sealed-variable.ts'
import type { Page } from '../paging/keyset.ts'
import type { PageArguments } from '../paging/page-arguments.ts'
import { readNow } from '../../store/sql/read-now.sql.ts'
import type { ParsedCreateSession } from '../session/create-session-input.ts'
import type { ReadContext } from '../session/read-sessions.ts'
import { shownEnviron, type ShownVariable } from '../session/shown-environ.ts'
import {
  listScheduleRuns,
  listSchedules,
  nextRunsOf,
  readSchedules,
  templateOf,
  type ScheduleFilterInput,
  type ScheduleRecord,
  type ScheduleRunRow,
} from './read-schedules.ts'

/** Complete schedules with related data, for REST; GraphQL reads only what its query selects. */
export interface DescribedSchedule extends ScheduleRecord {
  projectName: string
  nextRuns: Date[]
  /** With the environment as the viewer may read it; null if it is not valid any more. */
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

/** Newest first. @throws RepriseError VALIDATION_FAILED */
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

/** Latest first. @throws RepriseError SCHEDULE_NOT_FOUND, VALIDATION_FAILED */
export async function runsOfSchedule(
  context: ReadContext,
  options: Parameters<typeof listScheduleRuns>[1],
): Promise<Page<ScheduleRunRow>> {
  const [schedule] = await readSchedules(context, [options.scheduleId])
  if (!schedule) throw new RepriseError('SCHEDULE_NOT_FOUND', `no schedule ${options.scheduleId}`)
  return listScheduleRuns(context, options)
}

/** One statement more, however many schedules. */
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
