import type {
  AgentStatus,
  ChainFilter,
  DeploymentFilter,
  RetryDecisionFilter,
  ScheduleFilter,
  SessionFilter,
  SessionGroupFilter,
  SessionType,
} from '../../../client/schema-types.generated.ts'
import { CAUSES, causeFilter, RETRIED_CAUSES } from '../causes.ts'
import {
  AGENT_STATUSES,
  DEPLOYMENT_STATUSES,
  GROUP_STATUSES,
  HOLD_REASONS,
  MOVING,
  PHASES,
  SCHEDULE_STATUSES,
  type SearchOf,
  SESSION_STATUSES,
  SESSION_TYPES,
  SINCE,
  STATE_TABS,
} from './search.ts'

/** The types of sessions in lists: not the replicas of deployments, which are shown there. */
export const WORK: SessionType[] = ['BATCH', 'INTERACTIVE']

const PRESENT: AgentStatus[] = ['ALIVE', 'SUSPECT', 'LOST', 'DRAINING']

/** Without a status: all agents that are not removed. */
export function agentFilterOf({ status, group }: SearchOf<'agents'>) {
  return {
    status: status === undefined ? PRESENT : [AGENT_STATUSES[status]],
    ...(group !== undefined && { resourceGroup: group }),
  }
}

/** @param now milliseconds since 1970, by the server's clock */
export function chainFilterOf(search: SearchOf<'chains'>, now: number): ChainFilter {
  const { state, cause, label, q, project, name, attempts, type, group } = search
  const [, key, value] = /^([^:]+):(.*)$/s.exec(label ?? '') ?? []
  return {
    sessionType: type === undefined ? WORK : [SESSION_TYPES[type]],
    ...(state && { state: [STATE_TABS[state]] }),
    ...(cause && causeFilter(CAUSES[cause])),
    ...(key !== undefined && { label: { key, value: value! } }),
    ...(q && { search: q }),
    ...(project && { project }),
    ...(name && { name: { equals: name } }),
    ...(attempts && { attempts: { gte: attempts } }),
    ...(group && { group }),
    ...chainTimesOf(search, now),
  }
}

function chainTimesOf({ failed, exit, agent, since, from, to }: SearchOf<'chains'>, now: number): ChainFilter {
  const minute = Math.floor(now / 60_000) * 60_000
  const gte = from ?? (since && new Date(minute - SINCE[since] * 3_600_000).toISOString())
  const at = (gte ?? to) && { ...(gte && { gte }), ...(to && { lt: to }) }
  if (failed === undefined && exit === undefined && agent === undefined) return at ? { activityAt: at } : {}
  return {
    failed: {
      ...(at && { at }),
      ...(failed && failed !== 'any' && causeFilter(CAUSES[failed])),
      ...(exit && { exitCode: [exit] }),
      ...(agent && { agent }),
    },
  }
}

/** Without a status: all deployments that are not destroyed. */
export function deploymentFilterOf({ status, q, project }: SearchOf<'deployments'>): DeploymentFilter {
  return {
    status: status === undefined ? [...MOVING, 'READY', 'DESTROYING'] : DEPLOYMENT_STATUSES[status],
    ...(q !== undefined && { name: { contains: q } }),
    ...(project !== undefined && { project }),
  }
}

/**
 * The filters of the rows and of the counts in the tabs. Each tab counts its own phase, also while another tab is
 * chosen.
 */
export function retryFiltersOf({ phase, reason, cause, project }: SearchOf<'retries'>): {
  filter: RetryDecisionFilter
  waiting: RetryDecisionFilter
  held: RetryDecisionFilter
} {
  const common = { ...(cause && causeFilter(RETRIED_CAUSES[cause])), ...(project && { project }) }
  const held = { ...common, phase: [PHASES.held], ...(reason && { holdReason: [HOLD_REASONS[reason]] }) }
  const waiting = { ...common, phase: [PHASES.waiting] }
  const all = { ...common, phase: [PHASES.waiting, PHASES.held] }
  // Only held retries have a hold reason.
  const filter = phase === 'held' || (reason && phase === undefined) ? held : phase === 'waiting' ? waiting : all
  return { filter, waiting, held }
}

export function groupFilterOf({ status, q, project }: SearchOf<'groups'>): SessionGroupFilter {
  return {
    ...(status !== undefined && { ended: GROUP_STATUSES[status] }),
    ...(q !== undefined && { search: q }),
    ...(project !== undefined && { project }),
  }
}

export function scheduleFilterOf({ status, q, project }: SearchOf<'schedules'>): ScheduleFilter {
  return {
    ...(status !== undefined && { paused: SCHEDULE_STATUSES[status] }),
    ...(q !== undefined && { name: { contains: q } }),
    ...(project !== undefined && { project }),
  }
}

export function sessionFilterOf({
  type,
  status,
  q,
  agent,
  failure,
  group,
  project,
}: SearchOf<'sessions'>): SessionFilter {
  const { status: statuses, result } =
    status === undefined ? {} : (SESSION_STATUSES[status] as (typeof SESSION_STATUSES)['succeeded'])
  // What runs or ran on an agent is listed whole.
  const types = agent === undefined ? WORK : undefined
  return {
    sessionType: type === undefined ? types : [SESSION_TYPES[type]],
    ...(statuses && { status: [...statuses] }),
    ...(result && { result: [...result] }),
    ...(q && { name: { contains: q } }),
    ...(agent && { agent }),
    ...(failure && { failureGroup: failure }),
    ...(group && { resourceGroup: group }),
    ...(project && { project }),
  }
}
