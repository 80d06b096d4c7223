import type { GroupSlotRow } from '../../../services/read-group-slots.ts'
import { builder } from '../../builder.ts'
import { SessionTypeEnum } from '../session/session.enums.ts'
import { utilisation } from '../../utilisation.ts'

export const SequencerEnum = builder.enumType('Sequencer', {
  description: 'In which order sessions of the same priority are scheduled.',
  values: {
    FIFO: { description: 'The oldest first.' },
    LIFO: { description: 'The newest first.' },
    DRF: {
      description: 'Whose user, or project where there is none, has the smallest dominant share of the group first.',
    },
  } as const,
})

export const AgentSelectorEnum = builder.enumType('AgentSelector', {
  description: 'Which of the agents that fit is taken.',
  values: {
    CONCENTRATED: { description: 'The one that would be the fullest.' },
    DISPERSED: { description: 'The one that would be the least full.' },
    ROUND_ROBIN: { description: 'One after the other.' },
  } as const,
})

const seconds = (ms: number | null) => (ms === null ? null : ms / 1000)

const GroupSlot = builder.objectRef<GroupSlotRow>('ResourceGroupSlot').implement({
  description: 'What the agents of a group have of one resource.',
  fields: (t) => ({
    slot: t.exposeString('slot', { description: 'Which: `cpu`, `mem`, `cuda.device`, …' }),
    capacity: t.exposeString('capacity', { description: 'How much there is, as a plain decimal; bytes for memory.' }),
    used: t.exposeString('used', { description: 'How much of it is given to kernels.' }),
    utilisation: t.float({
      description: 'Share of it that is given to kernels, 0 to 1; 0 where there is none.',
      resolve: ({ used, capacity }) => utilisation(used, capacity),
    }),
    agents: t.exposeInt('agents', { description: 'How many agents have it.' }),
  }),
})

export const ResourceGroupType = builder.prismaNode('ResourceGroup', {
  description: 'A pool of agents that is scheduled by itself.',
  id: { field: 'name' },
  nullable: true,
  select: { name: true },
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    slots: t.field({
      type: [GroupSlot],
      description: 'What its agents have together; those that are LOST or TERMINATED have nothing.',
      resolve: ({ name }, _args, { loaders }) => loaders.groupSlots.load(name),
    }),
    sequencer: t.expose('sequencer', { type: SequencerEnum, description: 'Who goes first.' }),
    selector: t.expose('selector', { type: AgentSelectorEnum, description: 'Where it goes.' }),
    maxTries: t.exposeInt('triesMax', { description: 'After so many failures of one handler a session gives up.' }),
    maxReschedules: t.exposeInt('reschedulesMax', { description: 'So often a session may go back to PENDING.' }),
    pendingTimeout: t.float({
      nullable: true,
      description: 'Seconds that a session may wait; null is for ever.',
      select: { pendingTimeoutMs: true },
      resolve: ({ pendingTimeoutMs }) => seconds(pendingTimeoutMs),
    }),
    prepareTimeout: t.float({
      nullable: true,
      description: 'Seconds in SCHEDULED, PREPARING and PULLING; null is for ever.',
      select: { prepareTimeoutMs: true },
      resolve: ({ prepareTimeoutMs }) => seconds(prepareTimeoutMs),
    }),
    createTimeout: t.float({
      nullable: true,
      description: 'Seconds in PREPARED and CREATING; null is for ever.',
      select: { createTimeoutMs: true },
      resolve: ({ createTimeoutMs }) => seconds(createTimeoutMs),
    }),
    terminateTimeout: t.float({
      description: 'Seconds in TERMINATING.',
      select: { terminateTimeoutMs: true },
      resolve: ({ terminateTimeoutMs }) => terminateTimeoutMs / 1000,
    }),
    fenceAfter: t.float({
      description: 'Seconds after which an agent that is not answered stops its kernels by itself.',
      select: { fenceAfterMs: true },
      resolve: ({ fenceAfterMs }) => fenceAfterMs / 1000,
    }),
    stopGrace: t.float({
      description: 'Seconds between the wish that a kernel ends and its being killed.',
      select: { stopGraceMs: true },
      resolve: ({ stopGraceMs }) => stopGraceMs / 1000,
    }),
    allowedSessionTypes: t.expose('allowedSessionTypes', {
      type: [SessionTypeEnum],
      description: 'What may be created in it.',
    }),
    draining: t.boolean({
      description: 'Whether nothing new is scheduled in it. What runs runs on.',
      select: { drainedAt: true },
      resolve: ({ drainedAt }) => drainedAt !== null,
    }),
    drainReason: t.exposeString('drainReason', { nullable: true, description: 'Why, as whoever drained it said.' }),
    drainedAt: t.expose('drainedAt', { type: 'DateTime', nullable: true, description: 'Since when.' }),
  }),
})
