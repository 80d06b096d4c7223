import { DEPLOYMENT_STATUSES, ROUTE_STATUSES } from '../../../domain/deployment/lifecycle.ts'
import { STATUSES } from '../../../domain/session/lifecycle.ts'
import type { HistoryRow } from '../../../services/session/explain-pending.ts'
import { builder } from '../../builder.ts'
import type { GraphQLContext } from '../../context.ts'
import type { PageArguments } from '../../../services/paging.ts'
import { bothWaysArguments, pageComplexity, serialPage } from '../../paging.ts'

const SchedulingResultEnum = builder.enumType('SchedulingResult', {
  description: 'The outcome of one try of a scheduler handler.',
  values: {
    SUCCESS: { description: 'It succeeded.' },
    NEED_RETRY: { description: 'It failed and will be tried again.' },
    EXPIRED: { description: 'It was in its status for longer than its resource group allows.' },
    GIVE_UP: { description: 'It failed too often.' },
    FAILURE: { description: 'It failed and will be handled in another way.' },
    STALE: { description: 'The information about it was too old.' },
    SKIPPED: { description: 'It was skipped: `message` names what it waits for.' },
  } as const,
})

/** Histories of other versions have phases that this one does not know: they are `other`. */
type Phase = HistoryRow['phase'] | 'other'

/** What each part of the server does that writes history. */
const PHASES: Readonly<Record<Phase, string>> = {
  'schedule-sessions': 'Places sessions on agents.',
  'prepare-sessions': 'Has agents prepare kernels.',
  'start-sessions': 'Has agents start kernels.',
  'terminate-sessions': 'Stops kernels.',
  'promote-to-pulling': 'A kernel fetches its image.',
  'promote-to-prepared': 'All kernels are prepared.',
  'promote-to-running': 'All kernels run.',
  'promote-to-terminated': 'All kernels have ended.',
  'detect-termination': 'A kernel has ended.',
  'sweep-leftovers': 'Ends sessions that have lost their kernels.',
  'enforce-batch-timeouts': 'Ends sessions whose batch timeout is over, if their agent does not.',
  'terminate-session': 'A person ended the session.',
  'register-agent': 'The agent registered.',
  'agent-sync': 'The agent reported.',
  'watch-agents': 'Watches for silent agents.',
  'drain-agent': 'A person drained the agent.',
  'resume-agent': 'A person let the agent accept work again.',
  'remove-agent': 'A person removed the agent.',
  'check-pending-deployment': 'Begins new deployments.',
  'scaling-deployment': 'Moves deployments towards their replicas and revision.',
  'check-replica-deployment': 'Compares the number of routes with that of replicas.',
  'reconcile-deployment': 'Compares routes with the revision.',
  'destroying-deployment': 'Ends the routes of destroyed deployments.',
  'destroy-deployment': 'A person destroyed the deployment.',
  'provisioning-route': 'Starts the sessions of routes.',
  'health-check-route': 'Judges health checks.',
  'running-route': 'Ends routes that failed to start or whose session ended.',
  'route-eviction': 'Replaces routes that stay unhealthy.',
  'terminating-route': 'Ends the sessions of routes.',
  'service-discovery-sync': 'Publishes healthy routes.',
  other: 'A part that this version of the server does not have.',
}

const SchedulingHandlerEnum = builder.enumType('SchedulingHandler', {
  description: 'The part of the server that did something.',
  values: Object.fromEntries(
    Object.entries(PHASES).map(([phase, description]) => [
      phase.replaceAll('-', '_').toUpperCase(),
      { value: phase as Phase, description },
    ]),
  ),
})

const AGENT_STATUSES = ['ALIVE', 'SUSPECT', 'LOST', 'DRAINING', 'TERMINATED']
const STATUSES_OF = {
  sessions: STATUSES,
  kernels: STATUSES,
  agents: AGENT_STATUSES,
  deployments: DEPLOYMENT_STATUSES,
  routes: ROUTE_STATUSES,
}

export const EntityStatusEnum = builder.enumType('EntityStatus', {
  description: 'Status of a session, a kernel, an agent, a deployment or a route. Each has an enum of its own.',
  values: Object.fromEntries(
    [...new Set(Object.values(STATUSES_OF).flat())].map((status) => {
      const kinds = Object.entries(STATUSES_OF).flatMap(([kind, all]) => (all.includes(status as never) ? [kind] : []))
      return [status, { value: status, description: `A status of ${kinds.join(', ')}.` }]
    }),
  ),
})

export const SchedulingHistory = builder.objectRef<HistoryRow>('SchedulingHistory').implement({
  description:
    'An action of one scheduler handler on a session, kernel, agent, deployment or route, once or several times in a row.',
  fields: (t) => ({
    handler: t.field({
      type: SchedulingHandlerEnum,
      description: 'The handler.',
      resolve: ({ phase }) => (Object.hasOwn(PHASES, phase) ? phase : 'other'),
    }),
    phase: t.exposeString('phase', {
      description: 'The handler, in lower case and with hyphens.',
      deprecationReason: 'Use `handler`.',
    }),
    fromStatus: t.expose('fromStatus', { type: EntityStatusEnum, nullable: true, description: 'The status before.' }),
    toStatus: t.expose('toStatus', { type: EntityStatusEnum, nullable: true, description: 'The status after.' }),
    result: t.expose('result', { type: SchedulingResultEnum, description: 'The outcome.' }),
    errorCode: t.exposeString('errorCode', { nullable: true, description: 'Name of the error.' }),
    message: t.exposeString('message', { nullable: true, description: 'Explanation, in words.' }),
    attempts: t.exposeInt('attempts', { description: 'Number of times in a row.' }),
    firstAt: t.expose('firstAt', { type: 'DateTime', description: 'The first time.' }),
    lastAt: t.expose('lastAt', { type: 'DateTime', description: 'The last time.' }),
  }),
})

const SchedulingHistoryConnection = builder.connectionObject(
  { type: SchedulingHistory, name: 'SchedulingHistoryConnection', description: 'A page of scheduling history.' },
  { name: 'SchedulingHistoryEdge', description: 'One entry with its cursor.' },
)

/**
 * Declares the field `schedulingHistory` of any object with an `id`. One statement reads it for all objects of a page.
 */
export function historyField(t: Parameters<typeof bothWaysArguments>[0], description: string) {
  return {
    type: SchedulingHistoryConnection,
    description: `${description} Equal consecutive entries are merged into one with a count.`,
    args: bothWaysArguments(t),
    complexity: pageComplexity,
    resolve: ({ id }: { id: string }, args: PageArguments, context: GraphQLContext) =>
      serialPage({
        id,
        args,
        loader: context.loaders.history,
        count: () => context.loaders.historyCount.load(id),
      }),
  }
}
