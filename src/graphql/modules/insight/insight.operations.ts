import type { FailureRule } from '../../../domain/insight/fingerprint.ts'
import {
  FAILURE_PATTERN_LENGTH_MAX,
  FAILURE_RULES_MAX,
  NAME_LENGTH_MAX,
  PAGE_SIZE_DEFAULT,
} from '../../../domain/limits.ts'
import type { FAILURE_GROUP_ORDERS } from '../../../services/insight/failure-groups.ts'
import {
  type FailureGroupRow,
  mergeFailureGroups,
  nameFailureGroup,
  readFailureGroupPage,
  readFailureGroups,
  setFailureGroupState,
  setRetryBreaker,
  spanOf,
  splitFailureGroup,
} from '../../../services/insight/failure-groups.ts'
import { setFailureRules } from '../../../services/insight/failure-rules.ts'
import { builder } from '../../builder.ts'
import type { GraphQLContext } from '../../context.ts'
import { forwardArguments } from '../../paging.ts'
import { ProjectNode } from '../access/access.types.ts'
import { ForbiddenError, NotFoundError, ValidationError } from '../error.types.ts'
import { mutation, reasonField, repeatableFields } from '../mutation.ts'
import { SessionFilter } from '../session/session.inputs.ts'
import { TimeWindow } from '../retry/retry-preview.operations.ts'
import { FailureGroupStateEnum, FailureGroupType } from './failure-group.types.ts'

const OrderEnum = builder.enumType('FailureGroupOrder', {
  description: 'Order of groups of failures.',
  values: {
    ATTEMPTS: { description: 'Most failed attempts first.' },
    CHAINS: { description: 'Most chains first.' },
    LATEST: { description: 'Those that occurred last first.' },
    NEWEST: { description: 'Those that occurred for the first time last first.' },
    LOST: { description: 'Most CPU time lost first.' },
  } as const satisfies Record<(typeof FAILURE_GROUP_ORDERS)[number], { description: string }>,
})

const ConnectionType = builder.connectionObject(
  { type: FailureGroupType, name: 'FailureGroupConnection', description: 'A page of groups of failures.' },
  { name: 'FailureGroupEdge', description: 'One group of failures with its cursor.' },
)

/** It counts the failures of its whole span. */
const COST = 50

builder.queryField('failureGroups', (t) =>
  t.field({
    type: ConnectionType,
    description:
      'Failed attempts that you may see, grouped by what they say: by the error lines of their logs, or the reasons of their failures.',
    args: {
      filter: t.arg({
        type: SessionFilter,
        description: 'Only failures of these sessions; the newest 50000 of them are counted.',
      }),
      window: t.arg({ type: TimeWindow, description: 'When they failed; the last 30 days if missing.' }),
      states: t.arg({ type: [FailureGroupStateEnum], description: 'Only groups in one of these states.' }),
      orderBy: t.arg({ type: OrderEnum, defaultValue: 'ATTEMPTS', description: 'Their order.' }),
      ...forwardArguments(t),
    },
    complexity: ({ first }) => ({ field: COST, multiplier: first ?? PAGE_SIZE_DEFAULT }),
    resolve: (_root, args, context) =>
      readFailureGroupPage({ ...context, prisma: context.services.prisma }, args as never),
  }),
)

builder.queryField('failureGroup', (t) =>
  t.field({
    type: FailureGroupType,
    nullable: true,
    description: 'One group of failures; null if there is none that you may see.',
    args: {
      id: t.arg({ type: 'UUID', required: true, description: 'Its `failureGroupId`.' }),
      window: t.arg({ type: TimeWindow, description: 'The span of its numbers; the last 30 days if missing.' }),
    },
    complexity: { field: COST },
    resolve: async (_root, { id, window }, context) => {
      const group = (await readFailureGroups(context, [id])).get(id.toLowerCase())
      return group === undefined ? null : { group, span: await spanOf(context, window ?? {}), figures: null }
    },
  }),
)

const Payload = builder.objectRef<FailureGroupRow>('FailureGroupPayload').implement({
  description: 'A group of failures that was changed.',
  fields: (t) => ({
    failureGroup: t.field({
      type: FailureGroupType,
      description: 'The group, as it is now.',
      resolve: async (group, _args, context) => ({ group, span: await spanOf(context, {}), figures: null }),
    }),
  }),
})

const ERRORS = [ValidationError, NotFoundError, ForbiddenError] as const

const idField = (t: Parameters<typeof repeatableFields>[0]) => ({
  failureGroupId: t.field({ type: 'UUID', required: true, description: 'Id of the group.' }),
})

mutation({
  name: 'setFailureGroupState',
  description: 'Says what people know about a group of failures.',
  input: builder.inputType('SetFailureGroupStateInput', {
    description: 'The state of a group of failures.',
    fields: (t) => ({
      ...idField(t),
      state: t.field({ type: FailureGroupStateEnum, required: true, description: 'Its state.' }),
      note: t.string({ description: 'What there is to know about it.' }),
      link: t.string({ description: 'An address with more about it, http or https.' }),
      mutedUntil: t.field({
        type: 'DateTime',
        description: 'Until when it is muted; with MUTED only. Missing: until somebody says otherwise.',
      }),
      ...repeatableFields(t),
    }),
  }),
  inputDescription: 'The group and its state.',
  payload: Payload,
  errors: ERRORS,
  repeatable: true,
  result: 'The group',
  run: (context: GraphQLContext, input) => setFailureGroupState(context, input),
})

mutation({
  name: 'nameFailureGroup',
  description: 'Gives a group of failures a name.',
  input: builder.inputType('NameFailureGroupInput', {
    description: 'A name for a group of failures.',
    fields: (t) => ({
      ...idField(t),
      name: t.string({ description: 'The name; without one, it has the title that its failures give it.' }),
      ...repeatableFields(t),
    }),
  }),
  inputDescription: 'The group and its name.',
  payload: Payload,
  errors: ERRORS,
  repeatable: true,
  result: 'The group',
  run: (context: GraphQLContext, input) => nameFailureGroup(context, input),
})

mutation({
  name: 'setRetryBreaker',
  description:
    'Holds the retries of a group of failures, but for single probes at growing intervals, or releases them gradually. A probe that succeeds releases them, too.',
  input: builder.inputType('SetRetryBreakerInput', {
    description: 'Whether the retries of a group of failures are held.',
    fields: (t) => ({
      ...idField(t),
      open: t.boolean({ required: true, description: 'Whether its breaker is open, and holds them.' }),
      ...repeatableFields(t),
    }),
  }),
  inputDescription: 'The group, and whether its retries are held.',
  payload: Payload,
  errors: ERRORS,
  repeatable: true,
  result: 'The group',
  run: (context: GraphQLContext, input) => setRetryBreaker(context, input),
})

mutation({
  name: 'mergeFailureGroups',
  description: 'Shows the failures of groups with those of another one. `splitFailureGroup` undoes it.',
  input: builder.inputType('MergeFailureGroupsInput', {
    description: 'Groups of failures to merge.',
    fields: (t) => ({
      failureGroupIds: t.field({ type: ['UUID'], required: true, description: 'Ids of the groups, at most 100.' }),
      into: t.field({ type: 'UUID', required: true, description: 'Id of the group that shows their failures.' }),
      ...repeatableFields(t),
    }),
  }),
  inputDescription: 'The groups.',
  payload: Payload,
  errors: ERRORS,
  repeatable: true,
  result: 'The group that shows all of them',
  run: (context: GraphQLContext, input) => mergeFailureGroups(context, input),
})

mutation({
  name: 'splitFailureGroup',
  description: 'Shows the failures of a merged group apart again.',
  input: builder.inputType('SplitFailureGroupInput', {
    description: 'A merged group of failures.',
    fields: (t) => ({ ...idField(t), ...repeatableFields(t) }),
  }),
  inputDescription: 'The group.',
  payload: Payload,
  errors: ERRORS,
  repeatable: true,
  result: 'The group',
  run: (context: GraphQLContext, input) => splitFailureGroup(context, input),
})

const RuleType = builder.objectRef<FailureRule>('FailureRule').implement({
  description: 'A rule of a project: failures that say what it looks for are one group.',
  fields: (t) => ({
    pattern: t.exposeString('pattern', {
      description:
        'A pattern with `*` (any text) and `?` (any character) for a whole line that a group is recognised by, as it was written or masked.',
    }),
    name: t.exposeString('name', { description: 'The name of the group. Several rules may give the same.' }),
  }),
})

builder.prismaObjectField(ProjectNode, 'failureRules', (t) =>
  t.field({
    type: [RuleType],
    description: 'The rules by which its failures are grouped. The first one that matches counts.',
    select: { failureRules: true },
    // The column has what `setFailureRules` has parsed.
    resolve: ({ failureRules }) => failureRules as unknown as FailureRule[],
  }),
)

const RuleInput = builder.inputType('FailureRuleInput', {
  description: 'A rule of a project: failures that say what it looks for are one group.',
  fields: (t) => ({
    pattern: t.string({
      required: true,
      description: `A pattern with \`*\` (any text) and \`?\` (any character) for a whole line, as it was written or masked; up to ${FAILURE_PATTERN_LENGTH_MAX} characters.`,
    }),
    name: t.string({ required: true, description: `The name of the group, up to ${NAME_LENGTH_MAX} characters.` }),
  }),
})

mutation({
  name: 'setFailureRules',
  description:
    'Sets the rules by which failures of a project are grouped from now on; for its administrators. Stored failures stay in their groups.',
  input: builder.inputType('SetFailureRulesInput', {
    description: 'The rules of a project for its failures.',
    fields: (t) => ({
      project: t.string({ required: true, description: 'Name of the project.' }),
      rules: t.field({
        type: [RuleInput],
        required: true,
        description: `The rules, at most ${FAILURE_RULES_MAX}. They replace all earlier ones, and the first one that matches counts.`,
      }),
      ...reasonField(t),
    }),
  }),
  inputDescription: 'The project and its rules.',
  payload: builder.objectRef<{ id: string }>('SetFailureRulesPayload').implement({
    description: 'A project after the change.',
    fields: (t) => ({
      project: t.prismaField({
        type: ProjectNode,
        description: 'The project.',
        resolve: (query, { id }, _args, { services }) =>
          services.prisma.project.findUniqueOrThrow({ ...query, where: { id } }),
      }),
    }),
  }),
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The project',
  run: (context: GraphQLContext, input) => setFailureRules(context, input),
})
