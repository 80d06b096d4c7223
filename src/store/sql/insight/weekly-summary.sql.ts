import type { WeeklyEventData, WeeklyFigures } from '../../../domain/events.ts'
import {
  WEEKLY_FAILURE_GROUPS_MAX,
  WEEKLY_SUMMARIES_AFTER_MS,
  WEEKLY_SUMMARIES_KEPT_MS,
} from '../../../domain/limits.ts'
import type { Queryable } from '../../database.ts'
import { eventData } from '../event/event-data.sql.ts'

/** The sums of project `m.project_id` by a property, over the days of a span. Index: the primary key. */
const rolled = (grouping: string, from: string, to: string) => `rolled_figures r
    WHERE r.project_id = m.project_id AND r.grouping = '${grouping}' AND r.label = '' AND r.at >= ${from} AND r.at < ${to}`

const sum = (column: string) => `coalesce(sum(r.${column}), 0)`

/** Sums of memory are in MiB, times milliseconds. */
const SLOT_SECONDS_LOST = eventData<WeeklyFigures['slotSecondsLost']>({
  cpu: `${sum('lost_cpu_ms')} / 1000`,
  mem: `${sum('lost_memory_mib_ms')} * 1048.576`,
  gpu: `${sum('lost_gpu_ms')} / 1000`,
})

const figures = (from: string, to: string) =>
  `(SELECT ${eventData<WeeklyFigures>({
    attempts: sum('attempts'),
    failed: sum('failed'),
    retries: sum('retries'),
    chainsSaved: sum('saved'),
    chainsLost: sum('lost'),
    slotSecondsLost: SLOT_SECONDS_LOST,
    effectiveShare: 'sum(r.useful_ms) / nullif(sum(r.spent_ms) + sum(r.waited_ms), 0)',
  })} FROM ${rolled('PROJECT', from, to)})`

/** Failures of a merged group count for the one that shows them. */
const FAILURE_GROUPS = `(SELECT coalesce(jsonb_agg(${eventData<WeeklyEventData['failureGroups'][number]>({
  failureGroupId: 'top.id',
  title: 'top.title',
  failed: 'top.failed',
  cpuSecondsLost: 'top.cpu_ms / 1000',
})} ORDER BY top.cpu_ms DESC, top.failed DESC, top.id), '[]') FROM (
    SELECT shown.id, coalesce(shown.name, shown.title) AS title, sum(f.failed) AS failed, sum(f.cpu_ms) AS cpu_ms
    FROM (SELECT nullif(r.key, '')::uuid AS id, sum(r.failed) AS failed, sum(r.lost_cpu_ms) AS cpu_ms
      FROM ${rolled('FAILURE_GROUP', 'm.week', 'm.until')} GROUP BY r.key) AS f
    JOIN failure_groups g ON g.id = f.id JOIN failure_groups shown ON shown.id = coalesce(g.merged_into, g.id)
    GROUP BY shown.id HAVING sum(f.failed) > 0
    ORDER BY sum(f.cpu_ms) DESC, sum(f.failed) DESC, shown.id LIMIT ${WEEKLY_FAILURE_GROUPS_MAX}) AS top)`

const iso = (moment: string) => `to_char(${moment} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"')`

/**
 * Writes the event with the summary of the last week of projects that had attempts in it or in the week before, at most
 * $1 of them. The row of the week is added in the same transaction: a project gets one event, whatever crashes, and if
 * several servers do this at once. It waits until the figures have all attempts that ended in the week. Weeks are those
 * of ISO 8601, in UTC.
 */
const SQL = `
WITH last AS (
  SELECT date_trunc('week', reprise_now(), 'UTC') - interval '7 days' AS week, date_trunc('week', reprise_now(), 'UTC') AS until
), forgotten AS (
  DELETE FROM weekly_summaries WHERE week < reprise_now() - interval '${WEEKLY_SUMMARIES_KEPT_MS} ms'
), due AS (
  SELECT m.id AS project_id, last.week, last.until FROM projects m, last
  WHERE last.until <= reprise_now() - interval '${WEEKLY_SUMMARIES_AFTER_MS} ms'
    AND NOT EXISTS (SELECT FROM weekly_summaries s WHERE s.project_id = m.id AND s.week = last.week)
    AND EXISTS (SELECT FROM rolled_figures r WHERE r.project_id = m.id AND r.grouping = 'PROJECT' AND r.label = ''
      AND r.at >= last.week - interval '7 days' AND r.at < last.until AND r.attempts > 0)
    AND NOT EXISTS (SELECT FROM figures_due d JOIN sessions s ON s.id = d.session_id
      WHERE s.project_id = m.id AND s.terminated_at < last.until)
  ORDER BY m.id LIMIT $1
), added AS (
  INSERT INTO weekly_summaries (project_id, week) SELECT project_id, week FROM due ON CONFLICT DO NOTHING
  RETURNING project_id, week
), m AS (
  SELECT project_id, week, week + interval '7 days' AS until FROM added
)
INSERT INTO session_events (type, project_id, data)
SELECT 'insights.weekly', m.project_id, ${eventData<WeeklyEventData>({
  from: iso('m.week'),
  to: iso('m.until'),
  figures: figures('m.week', 'm.until'),
  before: figures(`m.week - interval '7 days'`, 'm.week'),
  failureGroups: FAILURE_GROUPS,
})} FROM m`

/** @returns the number of projects */
export async function summarizeWeek(tx: Queryable, limit: number): Promise<number> {
  return (await tx.query(SQL, [limit])).rowCount ?? 0
}
