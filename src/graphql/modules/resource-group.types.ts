import { COUNTED_ROWS_MAX } from '../../domain/limits.ts'
import type { GroupSlotRow } from '../../services/resource-group.ts'
import { builder } from '../builder.ts'
import { PENDING_ORDER } from '../loaders/agent-loaders.ts'
import { loadSessionsById } from '../loaders/load-session.ts'
import { forwardArguments, nestedPage } from '../paging.ts'
import { SESSION_PAGE, SessionNode, SessionTypeEnum } from './session/session.types.ts'
import { ExecutorOption, labelsOf } from './session/values.types.ts'

export const SequencerEnum = builder.enumType('Sequencer', {
  description: 'Order in which sessions of the same priority are scheduled.',
  values: {
    FIFO: { description: 'The oldest first.' },
    LIFO: { description: 'The newest first.' },
    DRF: {
      description:
        'The session whose user (or project, if it has no user) has the smallest dominant share of the group comes first.',
    },
  } as const,
})

export const AgentSelectorEnum = builder.enumType('AgentSelector', {
  description: 'How one of the agents with enough free capacity is chosen.',
  values: {
    CONCENTRATED: { description: 'The agent that would be fullest with the session.' },
    DISPERSED: { description: 'The agent that would be emptiest with the session.' },
    ROUND_ROBIN: { description: 'Each agent in turn.' },
  } as const,
})

const seconds = (ms: number | null) => (ms === null ? null : ms / 1000)

const GroupSlot = builder.objectRef<GroupSlotRow>('ResourceGroupSlot').implement({
  description: "Capacity and use of one resource of a group's agents.",
  fields: (t) => ({
    slot: t.exposeString('slot', { description: 'The resource: `cpu`, `mem`, `cuda.device`, …' }),
    capacity: t.exposeString('capacity', { description: 'Total amount, as a plain decimal; bytes for memory.' }),
    used: t.exposeString('used', { description: 'Amount allocated to kernels.' }),
    utilisation: t.float({
      description: 'Allocated share, 0 to 1; 0 if there is no capacity.',
      resolve: ({ used, capacity }) => utilisation(used, capacity),
    }),
    agents: t.exposeInt('agents', { description: 'Number of agents that have it.' }),
  }),
})

export const ResourceGroupType = builder.prismaNode('ResourceGroup', {
  description: 'A pool of agents with its own scheduling.',
  id: { field: 'name' },
  nullable: true,
  select: { name: true },
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    slots: t.field({
      type: [GroupSlot],
      description: 'Resources of its agents in total, without LOST and TERMINATED agents.',
      resolve: ({ name }, _args, { loaders }) => loaders.groupSlots.load(name),
    }),
    sequencer: t.expose('sequencer', { type: SequencerEnum, description: 'Order in which sessions are scheduled.' }),
    selector: t.expose('selector', { type: AgentSelectorEnum, description: 'How an agent is selected.' }),
    maxTries: t.exposeInt('triesMax', {
      description: 'Number of failures of one handler after which a session gives up.',
    }),
    maxReschedules: t.exposeInt('reschedulesMax', { description: 'How often a session may go back to PENDING.' }),
    pendingTimeout: t.float({
      nullable: true,
      description: 'Timeout in PENDING, in seconds; null means no timeout.',
      select: { pendingTimeoutMs: true },
      resolve: ({ pendingTimeoutMs }) => seconds(pendingTimeoutMs),
    }),
    prepareTimeout: t.float({
      nullable: true,
      description: 'Timeout in SCHEDULED, PREPARING and PULLING, in seconds; null means no timeout.',
      select: { prepareTimeoutMs: true },
      resolve: ({ prepareTimeoutMs }) => seconds(prepareTimeoutMs),
    }),
    createTimeout: t.float({
      nullable: true,
      description: 'Timeout in PREPARED and CREATING, in seconds; null means no timeout.',
      select: { createTimeoutMs: true },
      resolve: ({ createTimeoutMs }) => seconds(createTimeoutMs),
    }),
    queueTimeout: t.float({
      nullable: true,
      description: 'How long kernels may wait in the queue of Slurm, in seconds; null means no timeout.',
      select: { queueTimeoutMs: true },
      resolve: ({ queueTimeoutMs }) => seconds(queueTimeoutMs),
    }),
    terminateTimeout: t.float({
      description: 'Timeout in TERMINATING, in seconds.',
      select: { terminateTimeoutMs: true },
      resolve: ({ terminateTimeoutMs }) => terminateTimeoutMs / 1000,
    }),
    fenceAfter: t.float({
      description: 'Seconds without a response after which an agent stops its kernels by itself.',
      select: { fenceAfterMs: true },
      resolve: ({ fenceAfterMs }) => fenceAfterMs / 1000,
    }),
    stopGrace: t.float({
      description: 'Grace period in seconds between asking a kernel to stop and killing it.',
      select: { stopGraceMs: true },
      resolve: ({ stopGraceMs }) => stopGraceMs / 1000,
    }),
    stopGraceMax: t.float({
      description: 'Longest grace period that its sessions may ask for, in seconds.',
      select: { stopGraceMaxMs: true },
      resolve: ({ stopGraceMaxMs }) => stopGraceMaxMs / 1000,
    }),
    allowedSessionTypes: t.expose('allowedSessionTypes', {
      type: [SessionTypeEnum],
      description: 'Types of sessions that may be created in it.',
    }),
    executorOptions: t.field({
      type: [ExecutorOption],
      description: 'Executor options of all its sessions.',
      select: { executorOptions: true },
      resolve: ({ executorOptions }) => labelsOf(executorOptions),
    }),
    allowedExecutorOptions: t.exposeStringList('allowedExecutorOptions', {
      description: 'Keys of executor options that sessions may set themselves.',
    }),
    draining: t.boolean({
      description: 'Whether it is drained: no new session is scheduled in it; running kernels keep running.',
      select: { drainedAt: true },
      resolve: ({ drainedAt }) => drainedAt !== null,
    }),
    drainReason: t.exposeString('drainReason', {
      nullable: true,
      description: 'Reason given by the person who drained it.',
    }),
    drainedAt: t.expose('drainedAt', { type: 'DateTime', nullable: true, description: 'When it was drained.' }),
  }),
})

const PendingSessionConnection = builder.connectionObject(
  {
    type: SessionNode,
    name: 'PendingSessionConnection',
    description: 'A page of sessions that wait for an agent.',
    interfaces: [SESSION_PAGE.page],
  },
  { name: 'PendingSessionEdge', description: 'One session with its cursor.', interfaces: [SESSION_PAGE.edge] },
)

builder.prismaObjectField(ResourceGroupType, 'pendingSessions', (t) =>
  t.field({
    type: PendingSessionConnection,
    description:
      'Its PENDING sessions that you may see, ordered by priority, highest first, then by age, oldest first. `totalCount` counts up to 10,000.',
    args: forwardArguments(t),
    complexity: ({ first }) => ({ field: 1, multiplier: first ?? 20 }),
    resolve: ({ name }, args, context, info) =>
      nestedPage({
        id: name,
        args,
        order: PENDING_ORDER,
        loader: context.loaders.groupPending,
        nodes: (ids) => loadSessionsById({ context, info, path: ['edges', 'node'] }, ids),
        count: () => context.loaders.groupPendingCount.load(name),
        countMax: COUNTED_ROWS_MAX,
      }),
  }),
)

/** Computes the used share of the capacity; 0 if there is no capacity. Amounts are decimals as text. */
export function utilisation(used: string, capacity: string): number {
  const whole = Number(capacity)
  return whole === 0 ? 0 : Number(used) / whole
}
