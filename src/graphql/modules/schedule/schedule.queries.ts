import { listScheduleRuns, listSchedules } from '../../../services/schedule/read-schedules.ts'
import { builder } from '../../builder.ts'
import { pageComplexity } from '../../paging.ts'
import { StringFilter } from '../filters.inputs.ts'
import { ScheduleRunOutcomeEnum } from './schedule.enums.ts'
import { ScheduleNode, ScheduleRun } from './schedule.type.ts'

const ScheduleFilter = builder.inputType('ScheduleFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name.' }),
    name: t.field({ type: StringFilter, description: 'By name.' }),
    paused: t.boolean({ description: 'Paused ones, or those that are not.' }),
  }),
})

builder.queryField('schedule', (t) =>
  t.field({
    type: ScheduleNode,
    nullable: true,
    description: 'One schedule; null if there is none that you may see.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `scheduleId`.' }) },
    resolve: (_root, { id }, { loaders }) => loaders.schedules.load(id),
  }),
)

builder.queryField('schedules', (t) =>
  t.connection(
    {
      type: ScheduleNode,
      description: 'Schedules, newest first.',
      args: { filter: t.arg({ type: ScheduleFilter, description: 'Which schedules.' }) },
      complexity: pageComplexity,
      resolve: (_root, { filter, ...page }, { services: { prisma }, viewer }) =>
        listSchedules({ prisma, viewer }, { filter: filter ?? {}, page }),
    },
    { name: 'ScheduleConnection', description: 'A page of schedules.' },
    { name: 'ScheduleEdge', description: 'One schedule and its place.' },
  ),
)

builder.queryField('scheduleRuns', (t) =>
  t.connection(
    {
      type: ScheduleRun,
      description: 'What became of the runs of a schedule, the latest planned first.',
      args: {
        scheduleId: t.arg({ type: 'UUID', required: true, description: 'Which schedule.' }),
        outcome: t.arg({ type: [ScheduleRunOutcomeEnum], description: 'With one of these outcomes.' }),
      },
      complexity: pageComplexity,
      resolve: (_root, { scheduleId, outcome, ...page }, { services: { prisma }, viewer }) =>
        listScheduleRuns({ prisma, viewer }, { scheduleId, outcome, page }),
    },
    { name: 'ScheduleRunConnection', description: 'A page of runs.' },
    { name: 'ScheduleRunEdge', description: 'One run and its place.' },
  ),
)
