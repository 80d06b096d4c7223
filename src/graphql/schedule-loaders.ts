import DataLoader from 'dataloader'
import type { PrismaClient } from '../generated/prisma/client.ts'
import {
  readLastRuns,
  readSchedules,
  readSchedulesOfChains,
  type ScheduleRecord,
  type ScheduleRunRow,
} from '../services/schedule/read-schedules.ts'
import type { ServiceContext } from '../services/service-context.ts'
import type { Makers } from './lazy.ts'
import { pageLoader, type PageLoader } from './page-loader.ts'

export interface ScheduleLoaders {
  /** Undefined if the viewer sees no such schedule. */
  schedules: DataLoader<string, ScheduleRecord | undefined>
  /** By chain; undefined if no schedule made it. */
  scheduleOfChain: DataLoader<string, ScheduleRecord | undefined>
  lastRuns: PageLoader<ScheduleRunRow>
}

type Source = Pick<ServiceContext, 'db' | 'viewer'> & { prisma: PrismaClient }

export const scheduleLoaders: Makers<Source, ScheduleLoaders> = {
  schedules: (source) =>
    new DataLoader(async (ids) => {
      const rows = new Map((await readSchedules(source, ids)).map((row) => [row.id, row]))
      return ids.map((id) => rows.get(id))
    }),
  scheduleOfChain: (source) =>
    new DataLoader(async (chainIds) => {
      const rows = await readSchedulesOfChains(source, chainIds)
      return chainIds.map((id) => rows.get(id))
    }),
  lastRuns: (source) =>
    pageLoader(
      (ids, _after, limit) => readLastRuns(source, ids, limit),
      (row) => row.scheduleId,
    ),
}
