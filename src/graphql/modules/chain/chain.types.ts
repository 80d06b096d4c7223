import { chainState, outlook, type Outlook } from '../../../domain/chain/outlook.ts'
import { COUNTED_ROWS_MAX, DEPENDENTS_LISTED_MAX } from '../../../domain/limits.ts'
import type { ChainRow, ChainStateCount } from '../../../services/chain.ts'
import { builder } from '../../builder.ts'
import { isUuid } from '../../ids.ts'
import { loadExistingSession, loadSession, loadSessions } from '../../loaders/load-session.ts'
import { ProjectNode } from '../access/access.types.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { SessionGroupType } from '../session/session-group.types.ts'
import { SessionNode } from '../session/session.types.ts'
import { Label, labelsOf } from '../session/values.types.ts'

export const ChainStateEnum = builder.enumType('ChainState', {
  description: 'State of a chain. SUCCEEDED, FAILED and CANCELLED are final unless it is resubmitted.',
  values: {
    QUEUED: { description: 'Its newest attempt waits to be placed on an agent.' },
    IMPOSSIBLE: {
      description:
        'Its newest attempt waits in vain: no agent that is known, and no quota as it is set, could ever take it.',
    },
    RUNNING: {
      description:
        'Its newest attempt is on an agent (being prepared, running or ending), or has ended and awaits the decision whether to retry.',
    },
    WAITING_RETRY: { description: 'Its newest attempt failed; a retry is waiting for its delay to pass.' },
    HELD: { description: 'Its newest attempt failed; a retry is due but held.' },
    SUCCEEDED: { description: 'Its newest attempt succeeded.' },
    FAILED: { description: 'Its newest attempt failed, and no retry follows.' },
    CANCELLED: { description: 'A person terminated its newest attempt before it produced a result.' },
    LIVE: {
      description: 'In filters: QUEUED, IMPOSSIBLE and RUNNING together. No chain has this state.',
      deprecationReason: 'Use `QUEUED`, `IMPOSSIBLE` and `RUNNING`.',
    },
  } as const,
})

export const ChainOrderFieldEnum = builder.enumType('ChainOrderField', {
  description: 'Fields that chains can be ordered by.',
  values: {
    ACTIVITY: { description: 'When an attempt was last created or judged, or its retry changed.' },
    ATTEMPTS: { description: 'How many attempts it has.' },
    TOTAL_TIME: {
      description:
        'Time from its creation to its end. For a live chain, up to the moment when the first page was read.',
    },
    NAME: { description: 'Its name, as the database sorts texts.' },
    CREATED_AT: { description: 'When its first attempt was created.' },
    DUE_AT: {
      description: 'When its retry is due. Only chains that wait for a retry, or whose retry is held, are listed.',
    },
  } as const,
})

export const ChainSegmentKindEnum = builder.enumType('ChainSegmentKind', {
  description: "What happened in a segment of a chain's time.",
  values: {
    QUEUED: { description: 'An attempt waited to be placed on an agent.' },
    PREPARING: { description: 'Its kernels were being prepared and started.' },
    RUNNING: { description: 'Its program ran.' },
    ENDING: { description: 'Its kernels were being stopped.' },
    BACKOFF: { description: 'A failed attempt had ended, and its retry had not started or been given up yet.' },
    HELD: { description: 'A retry that was due was held: see `holdReason`.' },
    RESUBMISSION_GAP: { description: 'The chain had ended; a person resubmitted it.' },
    PLANNED: { description: 'The retry to come. It is not a part of the time so far.' },
  } as const,
})

const ChainOutlook = builder.objectRef<Outlook>('ChainOutlook').implement({
  description: 'Whether a chain will continue automatically.',
  fields: (t) => ({
    willRetry: t.exposeBoolean('willRetry', {
      description: 'A retry is planned, or the current attempt has retries left in case it fails.',
    }),
    reason: t.exposeString('reason', { description: 'The reason, in words.' }),
    dueAt: t.expose('at', {
      type: 'DateTime',
      nullable: true,
      description: 'When the planned retry is due; null while it is overdue and held.',
    }),
    at: t.expose('at', {
      type: 'DateTime',
      nullable: true,
      description: 'When the planned retry is due; null while it is overdue and held.',
      deprecationReason: 'Use `dueAt`.',
    }),
  }),
})

const ref = builder.objectRef<ChainRow>('Chain')

export const ChainNode = builder.node(ref, {
  description:
    'All attempts at one piece of work: the session that a client created, its retries and its resubmissions.',
  id: { resolve: ({ chainId }) => chainId },
  loadOne: (id, { loaders }) => (isUuid(id) ? loaders.chains.load(id.toLowerCase()) : undefined),
  fields: (t) => ({
    chainId: t.expose('chainId', { type: 'UUID', description: 'The id of its first attempt.' }),
    name: t.exposeString('name', { description: 'Its name; not necessarily unique.' }),
    labels: t.field({
      type: [Label],
      description: 'Labels given by its client.',
      resolve: ({ labels }) => labelsOf(labels),
    }),
    group: t.field({
      type: SessionGroupType,
      nullable: true,
      description: 'The group that it is a member of.',
      resolve: ({ groupId }, _args, { loaders }) => (groupId === null ? null : loaders.groups.load(groupId)),
    }),
    groupIndex: t.exposeInt('groupIndex', { nullable: true, description: 'Its number in that group.' }),
    project: t.prismaField({
      type: ProjectNode,
      description: 'The project that it belongs to.',
      // Prisma reads all that are requested in the same tick with one statement.
      resolve: (query, { projectId }, _args, { services }) =>
        services.prisma.project.findUniqueOrThrow({ ...query, where: { id: projectId } }),
    }),
    state: t.field({
      type: ChainStateEnum,
      description: 'Its state.',
      resolve: async ({ state, status, tailId }, _args, { loaders }) =>
        chainState(state, status, status === 'PENDING' && (await loaders.impossible.load(tailId))),
    }),
    cause: t.expose('cause', {
      type: FailureCauseEnum,
      nullable: true,
      description: 'The cause of its latest failure.',
    }),
    attempts: t.exposeInt('attempts', { description: 'Number of its attempts.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When its first attempt was created.' }),
    newestActivityAt: t.expose('newestActivityAt', {
      type: 'DateTime',
      description: 'When an attempt was last created or judged, or its retry changed.',
    }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When its last attempt ended or the retry that it waited for was given up; null if another attempt may follow.',
    }),
    totalSeconds: t.exposeFloat('totalSeconds', { description: 'Time from its creation to its end, or until now.' }),
    checkpointBytes: t.field({
      type: 'Bytes',
      nullable: true,
      description:
        'Size in bytes of what its attempts have stored for later ones, as last measured: at the end of each attempt, and every few minutes while one runs. Null if there is nothing, or if it is not known yet.',
      resolve: async ({ chainId }, _args, { loaders }) => (await loaders.keptCheckpoints.load(chainId))?.bytes ?? null,
    }),
    checkpointAttempt: t.int({
      nullable: true,
      description: 'The newest attempt with a recorded checkpoint; null if there is none.',
      resolve: async ({ chainId }, _args, { loaders }) =>
        (await loaders.keptCheckpoints.load(chainId))?.attempt ?? null,
    }),
    checkpointPublishedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When that checkpoint was recorded: at the end of the attempt, or when its program published it.',
      resolve: async ({ chainId }, _args, { loaders }) =>
        (await loaders.keptCheckpoints.load(chainId))?.publishedAt ?? null,
    }),
    checkpointCopiedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        "When the servers' copy of that checkpoint was made. A retry on another agent continues from this copy. Null if there is none.",
      resolve: async ({ chainId }, _args, { loaders }) =>
        (await loaders.keptCheckpoints.load(chainId))?.copiedAt ?? null,
    }),
    outlook: t.field({
      type: ChainOutlook,
      description: 'Whether it will continue.',
      resolve: (chain) => outlook({ ...chain, attempt: chain.attempts }, chain.now),
    }),
    firstAttempt: t.field({
      type: SessionNode,
      description: 'The oldest attempt.',
      resolve: ({ chainId }, _args, context, info) => loadExistingSession({ context, info, by: 'id', value: chainId }),
    }),
    newestAttempt: t.field({
      type: SessionNode,
      description: 'The newest attempt.',
      resolve: ({ tailId }, _args, context, info) => loadExistingSession({ context, info, by: 'id', value: tailId }),
    }),
  }),
})

builder.objectField(SessionGroupType, 'member', (t) =>
  t.field({
    type: ChainNode,
    nullable: true,
    description: 'The chain of the member with this index; null if there is none.',
    args: { index: t.arg.int({ required: true, description: 'Its index.' }) },
    resolve: async ({ id }, { index }, { loaders }) => {
      const chainId = await loaders.groupMembers.load({ groupId: id, index })
      return chainId === undefined ? null : loaders.chains.load(chainId)
    },
  }),
)

/** Adds the fields that lead from an attempt to the others of its chain. */
builder.prismaObjectFields(SessionNode, (t) => ({
  chain: t.field({
    type: ChainNode,
    description: 'Its chain: the state, the epochs, and the differences between attempts.',
    select: { chainId: true },
    resolve: async ({ chainId }, _args, { loaders }) => {
      const chain = await loaders.chains.load(chainId)
      if (!chain) throw new Error(`no chain ${chainId}`)
      return chain
    },
  }),
  parentSession: t.field({
    type: SessionNode,
    nullable: true,
    description: 'The attempt before this one.',
    select: { parentSessionId: true },
    resolve: ({ parentSessionId }, _args, context, info) =>
      parentSessionId === null ? null : loadSession({ context, info, by: 'id', value: parentSessionId }),
  }),
  childSession: t.field({
    type: SessionNode,
    nullable: true,
    description: 'The attempt after this one.',
    resolve: ({ id }, _args, context, info) => loadSession({ context, info, by: 'parentSessionId', value: id }),
  }),
  rootSession: t.field({
    type: SessionNode,
    description: 'The first attempt of the chain.',
    select: { chainId: true },
    resolve: ({ chainId }, _args, context, info) => loadExistingSession({ context, info, by: 'id', value: chainId }),
  }),
  dependsOn: t.field({
    type: [SessionNode],
    description: 'The first attempts of the chains that must succeed before it starts; their `chain` has the state.',
    select: { dependsOn: { select: { chainId: true }, orderBy: { chainId: 'asc' } } },
    resolve: async ({ dependsOn }, _args, context, info) => {
      const values = dependsOn.map(({ chainId }) => chainId)
      const found = await Promise.all(values.map((value) => loadSession({ context, info, by: 'id', value })))
      return found.filter((session) => session !== null)
    },
  }),
  dependents: t.field({
    type: [SessionNode],
    description: `The sessions that start only once this chain has succeeded: their first attempts, oldest first, at most ${DEPENDENTS_LISTED_MAX}; \`moreDependents\` tells whether there are more.`,
    select: { chainId: true },
    resolve: async ({ chainId }, _args, context, info) => {
      const rows = (await context.loaders.dependents.load(chainId)).slice(0, DEPENDENTS_LISTED_MAX)
      const found = await Promise.all(rows.map(({ id }) => loadSession({ context, info, by: 'id', value: id })))
      return found.filter((session) => session !== null)
    },
  }),
  moreDependents: t.boolean({
    description:
      'Whether it has more dependents than `dependents` lists. `sessions(filter: {dependsOn: …})` with its `chainId` lists all.',
    select: { chainId: true },
    resolve: async ({ chainId }, _args, { loaders }) =>
      (await loaders.dependents.load(chainId)).length > DEPENDENTS_LISTED_MAX,
  }),
  retryChain: t.field({
    type: [SessionNode],
    description: 'All attempts of the chain, oldest to newest, including this one.',
    select: { chainId: true },
    resolve: ({ chainId }, _args, context, info) => loadSessions({ context, info, by: 'chainId', value: chainId }),
  }),
}))

export const ChainStateCountType = builder.objectRef<ChainStateCount>('ChainStateCount').implement({
  description: 'Number of chains in one state.',
  fields: (t) => ({
    state: t.expose('state', { type: ChainStateEnum, description: 'The state.' }),
    count: t.exposeInt('count', { description: `Number of chains; at most ${COUNTED_ROWS_MAX}.` }),
    isExact: t.exposeBoolean('isExact', { description: 'Whether the number is exact; if false, there are more.' }),
  }),
})
