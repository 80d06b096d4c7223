import {
  GROUP_CONDITIONS,
  GROUP_OUTCOMES,
  GROUP_RESTS,
  GROUP_STATES,
  type GroupCounts,
  expectedEnd,
  groupProgress,
  groupState,
  MEMBER_STATES,
} from '../../../domain/session/session-group.ts'
import { COUNTED_ROWS_MAX, GROUP_RANGES_MAX, GROUP_STATES_MAX } from '../../../domain/limits.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import type {
  DependencyRow,
  GroupFailureRow,
  GroupRow,
  MemberRangeRow,
  MemberStatesPage,
} from '../../../services/session/read-groups.ts'
import { builder } from '../../builder.ts'
import { ProjectNode } from '../access/access.types.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { SessionNode } from './session.types.ts'

const valuesOf = <Name extends string>(names: readonly Name[], words: Record<Name, string>) =>
  Object.fromEntries(names.map((name) => [name, { description: words[name] }])) as Record<Name, { description: string }>

const GroupStateEnum = builder.enumType('SessionGroupState', {
  description: 'State of a group of sessions.',
  values: valuesOf(GROUP_STATES, {
    OPEN: 'It accepts further members.',
    RUNNING: 'It has all of its members, and its outcome is not decided.',
    ENDING: 'Its outcome is decided, and the rest of its members is ending.',
    SUCCEEDED: 'It has ended and succeeded.',
    FAILED: 'It has ended and failed.',
    CANCELLED: 'It has ended, because a person cancelled it or members of it.',
  }),
})

const GroupOutcomeEnum = builder.enumType('SessionGroupOutcome', {
  description: 'How a group of sessions ends.',
  values: valuesOf(GROUP_OUTCOMES, {
    SUCCEEDED: 'As many members succeeded as it needs.',
    FAILED: 'Too many members failed.',
    CANCELLED: 'A person cancelled it, or members of it.',
  }),
})

export const GroupRestEnum = builder.enumType('SessionGroupRest', {
  description: 'What becomes of running members once a group has failed. Those that do not run are cancelled.',
  values: valuesOf(GROUP_RESTS, {
    LET_RUN: 'They run to their end.',
    STOP: 'They are terminated.',
  }),
})

export const GroupConditionEnum = builder.enumType('SessionGroupCondition', {
  description: 'What a group of sessions waits for in another one.',
  values: valuesOf(GROUP_CONDITIONS, {
    ALL_SUCCEEDED: 'That it ends as SUCCEEDED. Otherwise the group that waits fails.',
    ENDED: 'That it ends, in whatever way.',
    SAME_INDEX: 'Each member waits for the member with the same index there to succeed.',
  }),
})

const SessionGroupRef = builder.objectRef<GroupRow>('SessionGroup')

const DependencyType = builder.objectRef<DependencyRow>('SessionGroupDependency').implement({
  description: 'A group that another one waits for.',
  fields: (t) => ({
    group: t.field({
      type: SessionGroupRef,
      nullable: true,
      description: 'The group that it waits for; null if it has been removed.',
      resolve: ({ groupId }, _args, { loaders }) => loaders.groups.load(groupId),
    }),
    condition: t.expose('condition', { type: GroupConditionEnum, description: 'What it waits for.' }),
    met: t.exposeBoolean('met', {
      nullable: true,
      description:
        'Whether that has happened; null while it may still happen. With SAME_INDEX, members wait by themselves.',
    }),
  }),
})

const CountsType = builder.objectRef<GroupCounts & { running: number }>('SessionGroupCounts').implement({
  description: 'Numbers of members, which are chains.',
  fields: (t) => ({
    queued: t.int({ description: 'In the queue.', resolve: ({ live, running }) => live - running }),
    running: t.exposeInt('running', { description: 'Placed on agents.' }),
    waiting: t.exposeInt('waiting', { description: 'Waiting for a retry.' }),
    succeeded: t.exposeInt('succeeded', { description: 'Succeeded.' }),
    failed: t.exposeInt('failed', { description: 'Failed, with no retry left.' }),
    cancelled: t.exposeInt('cancelled', { description: 'Cancelled.' }),
    total: t.exposeInt('total', { description: 'All members.' }),
  }),
})

const MemberStatesType = builder.objectRef<MemberStatesPage>('SessionGroupMemberStates').implement({
  description: 'The states of members in the order of their indexes, a letter each.',
  fields: (t) => ({
    states: t.exposeString('states', {
      description: `A letter for each member: ${Object.entries(MEMBER_STATES)
        .map(([letter, words]) => `${letter} ${words}`)
        .join(', ')}.`,
    }),
    indexes: t.exposeString('indexes', { description: 'The indexes of these members, such as `1-1000,2000`.' }),
    lastIndex: t.exposeInt('lastIndex', {
      nullable: true,
      description: 'The index of the last of them, as `after` of the next page; null without any.',
    }),
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether there are more.' }),
  }),
})

const MemberRangeType = builder.objectRef<MemberRangeRow>('SessionGroupMemberRange').implement({
  description: 'Members with successive indexes.',
  fields: (t) => ({
    first: t.exposeInt('first', { description: 'The lowest index.' }),
    last: t.exposeInt('last', { description: 'The highest index.' }),
    counts: t.field({
      type: CountsType,
      description: 'Numbers of these members.',
      resolve: (range) => ({ ...range, running: Math.min(range.live, range.running) }),
    }),
  }),
})

const FailuresType = builder.objectRef<GroupFailureRow>('SessionGroupFailures').implement({
  description: 'Failed members with the same cause.',
  fields: (t) => ({
    cause: t.expose('cause', {
      type: FailureCauseEnum,
      nullable: true,
      description: 'The cause of their last failure; null if it is unknown.',
    }),
    timedOut: t.exposeBoolean('timedOut', { description: 'Whether their batch timeout ended them.' }),
    count: t.exposeInt('count', { description: 'Number of members.' }),
  }),
})

/** @throws RepriseError VALIDATION_FAILED */
function within(argument: string, value: number, [least, most]: readonly [number, number]): number {
  if (value >= least && value <= most) return value
  throw argumentError(argument, `Must be a number from ${least} to ${most}.`)
}

/** The cost of a field that reads this number of members, compared with a field of a row. */
const MEMBERS_PER_COST = 100

export const SessionGroupType = SessionGroupRef.implement({
  description:
    'Sessions that are one piece of work. Its members are chains: a failed attempt that is retried is no failure.',
  fields: (t) => ({
    groupId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'Its name.' }),
    key: t.exposeString('key', {
      nullable: true,
      description: 'The idempotency key that its client chose, unique in the project; null for none.',
    }),
    project: t.prismaField({
      type: ProjectNode,
      description: 'Its project.',
      // Prisma reads all that are requested in the same tick with one statement.
      resolve: (query, { projectId }, _args, { services }) =>
        services.prisma.project.findUniqueOrThrow({ ...query, where: { id: projectId } }),
    }),
    state: t.field({ type: GroupStateEnum, description: 'Its state.', resolve: groupState }),
    outcome: t.expose('outcome', {
      type: GroupOutcomeEnum,
      nullable: true,
      description: 'How it ends; null while this is not decided.',
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it has this outcome, in words.' }),
    counts: t.field({
      type: CountsType,
      description: 'Numbers of its members.',
      resolve: async (group, _args, { loaders }) => ({
        ...group.counts,
        running: group.counts.live === 0 ? 0 : await loaders.runningMembers.load(group),
      }),
    }),
    progress: t.float({
      description: 'The share of members that have ended, 0 to 1.',
      resolve: ({ counts }) => groupProgress(counts),
    }),
    memberStates: t.field({
      type: MemberStatesType,
      description: 'The states of its members, a letter each.',
      args: {
        first: t.arg.int({ defaultValue: 1_000, description: `Number of members, at most ${GROUP_STATES_MAX}.` }),
        after: t.arg.int({ description: 'Only members with a higher index.' }),
      },
      complexity: ({ first }) => ({ field: 1 + Math.ceil((first ?? 1_000) / MEMBERS_PER_COST) }),
      resolve: ({ id }, { first, after }, { loaders }) =>
        loaders.memberStates.load({
          id,
          after: after ?? -1,
          limit: within('first', first ?? 1_000, [1, GROUP_STATES_MAX]),
        }),
    }),
    memberRanges: t.field({
      type: [MemberRangeType],
      description: `Its members, cut into ranges of successive indexes, each with \`size\` members; at most ${GROUP_RANGES_MAX} ranges.`,
      args: { size: t.arg.int({ defaultValue: 1_000, description: 'Number of members of a range.' }) },
      complexity: { field: 50, multiplier: 10 },
      resolve: async (group, { size }, { loaders }) => {
        const least = Math.max(1, Math.ceil(group.counts.total / GROUP_RANGES_MAX))
        return loaders.memberRanges.load({ group, size: within('size', size ?? 1_000, [least, GROUP_STATES_MAX]) })
      },
    }),
    failures: t.field({
      type: [FailuresType],
      description: `Its failed members by cause, the most frequent first. At most ${COUNTED_ROWS_MAX} members are counted.`,
      complexity: { field: 10, multiplier: 5 },
      resolve: ({ id }, _args, { loaders }) => loaders.groupFailures.load(id),
    }),
    startedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When its first member started; null before that.',
      resolve: ({ id }, _args, { loaders }) => loaders.groupStarts.load(id),
    }),
    expectedEndAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When it ends if members go on ending at the rate so far. Null if too few have ended, if all others wait for retries, if it may get more members, and once its outcome is decided or it was reopened.',
      resolve: async (group, _args, { loaders }) => {
        if (group.outcome !== null) return null
        const [startedAt, now] = await Promise.all([loaders.groupStarts.load(group.id), loaders.now])
        return expectedEnd(group, { startedAt, outcome: group.outcome, now })
      },
    }),
    epoch: t.exposeInt('epoch', {
      description: 'How often it was reopened, because members were resubmitted after its end.',
    }),
    maxFailed: t.exposeInt('maxFailed', {
      nullable: true,
      description: 'It fails with this number of failed members; null for no such limit.',
    }),
    maxFailedPercent: t.exposeFloat('maxFailedPercent', {
      nullable: true,
      description: 'It fails with this percentage of failed members; null for no such limit.',
    }),
    minSucceeded: t.exposeInt('minSucceeded', {
      nullable: true,
      description: 'It succeeds with this number of members that succeeded; null if all are needed that may not fail.',
    }),
    maxRunning: t.exposeInt('maxRunning', {
      nullable: true,
      description: 'At most this number of members run at the same time; null for no limit.',
    }),
    onFailure: t.expose('onFailure', { type: GroupRestEnum, description: 'What becomes of the rest once it fails.' }),
    dependsOn: t.field({
      type: [DependencyType],
      description: 'Groups that it waits for, or waited for.',
      resolve: ({ id }, _args, { loaders }) => loaders.groupDependencies.load(id),
    }),
    createdBy: t.exposeString('createdBy', { nullable: true, description: 'Name of the token that created it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its last member had ended; null before that.',
    }),
  }),
})

builder.prismaObjectFields(SessionNode, (t) => ({
  group: t.field({
    type: SessionGroupType,
    nullable: true,
    description: 'The group that its chain is a member of.',
    select: { groupId: true },
    resolve: ({ groupId }, _args, { loaders }) => (groupId === null ? null : loaders.groups.load(groupId)),
  }),
  groupIndex: t.exposeInt('groupIndex', {
    nullable: true,
    description: 'Its number in that group: `REPRISE_INDEX` of its programs.',
  }),
}))
