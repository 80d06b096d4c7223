import type { FAILURE_GROUP_STATES } from '../../../domain/insight/failure-group.ts'
import { SIMILAR_CANDIDATES_MAX, SIMILAR_GROUPS_MAX } from '../../../domain/limits.ts'
import type {
  BreakerRow,
  FailureGroupRow,
  FailurePlaces,
  ShownFailureGroup,
  SimilarFailureGroup,
} from '../../../services/insight/failure-groups.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession } from '../../loaders/load-session.ts'
import type { Loaders } from '../../loaders/loaders.ts'
import { ProjectNode } from '../access/access.types.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { SessionNode } from '../session/session.types.ts'

export const FailureGroupStateEnum = builder.enumType('FailureGroupState', {
  description: 'What people know about a group of failures.',
  values: {
    OPEN: { description: 'Nothing yet.' },
    KNOWN: { description: 'It is known; its note and its link say more.' },
    MUTED: { description: 'It is not to be shown until `mutedUntil`.' },
    RESOLVED: { description: 'Its reason is mended. Another failure opens it again: it has regressed.' },
  } as const satisfies Record<(typeof FAILURE_GROUP_STATES)[number], { description: string }>,
})

const PlaceType = builder.objectRef<FailurePlaces['agents'][number]>('FailurePlace').implement({
  description: 'Where failures of a group happened.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name of the agent, or the image.' }),
    attempts: t.exposeInt('attempts', { description: 'Number of failed attempts there.' }),
  }),
})

const BreakerType = builder.objectRef<BreakerRow>('RetryBreaker').implement({
  description:
    'Holds the retries of a group of failures that hits many chains, but for single probes at growing intervals. A probe that succeeds releases them.',
  fields: (t) => ({
    openedAt: t.expose('openedAt', { type: 'DateTime', description: 'Since when it holds them.' }),
    openedBy: t.exposeString('openedBy', {
      nullable: true,
      description: 'The person who wanted it: the name of the token. Null if it opened by itself.',
    }),
    failures: t.exposeInt('failures', { description: 'Failures in its window when it opened.' }),
    chains: t.exposeInt('chains', { description: 'Their chains.' }),
    held: t.exposeInt('held', { description: 'Number of retries that it holds now.' }),
    probes: t.int({
      description: 'Number of probes that it has let through; at most the newest 50 count.',
      resolve: ({ probes }) => probes.length,
    }),
    nextProbeAt: t.expose('nextProbeAt', { type: 'DateTime', description: 'When the next probe may go.' }),
  }),
})

export const FailureGroupRef = builder.objectRef<ShownFailureGroup>('FailureGroup')

const SimilarType = builder
  .objectRef<SimilarFailureGroup & { span: ShownFailureGroup['span'] }>('SimilarFailureGroup')
  .implement({
    description: 'A group of failures that is similar to another one.',
    fields: (t) => ({
      failureGroup: t.field({
        type: FailureGroupRef,
        description: 'The similar group.',
        resolve: ({ group, span }) => ({ group, span, figures: null }),
      }),
      similarity: t.exposeFloat('similarity', {
        description: 'The share of words that their masked lines have in common, 0 to 1.',
      }),
    }),
  })

const MaskChangeType = builder.objectRef<FailureGroupRow['maskChanges'][number]>('FailureMaskChange').implement({
  description: 'A later version of the masks, by which failures of a group are recognised, too.',
  fields: (t) => ({
    version: t.exposeInt('version', { description: 'The version of the masks.' }),
    since: t.field({
      type: 'DateTime',
      description: 'When the first of its failures was recognised by it.',
      resolve: ({ since }) => new Date(since),
    }),
  }),
})

/** It compares the words of many groups. */
const SIMILAR_COST = 20

const NOTHING = { attempts: 0, chains: 0, firstAt: null, lastAt: null, saved: 0, runningSeconds: 0, cpuSeconds: 0 }

/** A day. */
const NEW_FOR_MS = 86_400_000

const of =
  <Field extends keyof FailureGroupRow>(field: Field) =>
  ({ group }: ShownFailureGroup) =>
    group[field]

export const FailureGroupType = FailureGroupRef.implement({
  description:
    'Failed attempts of a project that say the same. Numbers are over the span of the query; over the last 30 days where there is none.',
  fields: (t) => ({
    failureGroupId: t.field({ type: 'UUID', description: 'Its id.', resolve: of('id') }),
    title: t.string({
      description: 'The name that a person gave it, or else the first line that its failures say.',
      resolve: ({ group }) => group.name ?? group.title,
    }),
    name: t.string({ nullable: true, description: 'The name that a person gave it.', resolve: of('name') }),
    project: t.prismaField({
      type: ProjectNode,
      description: 'Its project.',
      resolve: (query, { group }, _args, { services }) =>
        services.prisma.project.findUniqueOrThrow({ ...query, where: { id: group.projectId } }),
    }),
    cause: t.field({
      type: FailureCauseEnum,
      nullable: true,
      description: 'The cause of its failures.',
      resolve: of('cause'),
    }),
    exitCode: t.int({ nullable: true, description: 'The exit code of its first failure.', resolve: of('exitCode') }),
    lines: t.stringList({
      description: 'The lines by which it is recognised, as its first failure wrote them.',
      resolve: of('lines'),
    }),
    masked: t.stringList({
      description: 'These lines without what differs from one failure to the next: numbers, times, paths, ids.',
      resolve: of('masked'),
    }),
    maskVersion: t.int({ description: 'The version of these masks.', resolve: of('maskVersion') }),
    maskChanges: t.field({
      type: [MaskChangeType],
      description:
        'Later versions of the masks by which its failures are recognised, oldest first: an upgrade changes no stored group.',
      resolve: of('maskChanges'),
    }),
    rule: t.string({
      nullable: true,
      description:
        'The pattern of the rule of its project by which its first failure came here; null if that was by what it says.',
      resolve: of('rule'),
    }),
    state: t.field({ type: FailureGroupStateEnum, description: 'What people know about it.', resolve: of('state') }),
    note: t.string({ nullable: true, description: 'What they say about it.', resolve: of('note') }),
    link: t.string({ nullable: true, description: 'An address with more about it.', resolve: of('link') }),
    mutedUntil: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Until when it is muted.',
      resolve: of('mutedUntil'),
    }),
    stateBy: t.string({ nullable: true, description: 'Who gave it this state.', resolve: of('stateBy') }),
    stateAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it got this state.',
      resolve: of('stateAt'),
    }),
    regressedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it occurred again after it was resolved; null if it has not.',
      resolve: of('regressedAt'),
    }),
    createdAt: t.field({ type: 'DateTime', description: 'When it occurred first.', resolve: of('createdAt') }),
    lastAt: t.field({ type: 'DateTime', description: 'When it occurred last.', resolve: of('lastAt') }),
    isNew: t.boolean({
      description: 'Whether it occurred for the first time within the last 24 hours.',
      resolve: ({ group }) => Date.now() - group.createdAt.getTime() < NEW_FOR_MS,
    }),
    merged: t.field({
      type: [FailureGroupRef],
      description: 'Groups whose failures it shows, because a person merged them into it.',
      resolve: async ({ group, span }, _args, { loaders }) =>
        (await loaders.mergedFailureGroups.load(group.id)).map((other) => ({ group: other, span, figures: null })),
    }),
    breaker: t.field({
      type: BreakerType,
      nullable: true,
      description: 'Its open breaker, which holds the retries of its failures; null if they are not held.',
      resolve: ({ group }, _args, { loaders }) => loaders.retryBreakers.load(group.id),
    }),
    mergedInto: t.field({
      type: FailureGroupRef,
      nullable: true,
      description: 'The group that shows its failures, because a person merged it into that one; null if none does.',
      resolve: async ({ group: { mergedInto }, span }, _args, { loaders }) => {
        const group = mergedInto === null ? null : await loaders.failureGroups.load(mergedInto)
        return group && { group, span, figures: null }
      },
    }),
    similar: t.field({
      type: [SimilarType],
      description: `Other groups of its project whose masked lines are so similar that they may be merged, the most similar first; at most ${SIMILAR_GROUPS_MAX} of the ${SIMILAR_CANDIDATES_MAX} that occurred last.`,
      complexity: { field: SIMILAR_COST },
      resolve: async ({ group, span }, _args, { loaders }) =>
        (await loaders.similarFailureGroups.load(group)).map((similar) => ({ ...similar, span })),
    }),
    ...figures(t),
    agents: t.field({
      type: [PlaceType],
      description: 'The agents on which most of them ran, at most 5.',
      resolve: async (shown, _args, { loaders }) => (await loaders.failurePlaces.load(shown)).agents,
    }),
    images: t.field({
      type: [PlaceType],
      description: 'The images that most of them ran, at most 5.',
      resolve: async (shown, _args, { loaders }) => (await loaders.failurePlaces.load(shown)).images,
    }),
    sparkline: t.intList({
      description: 'Numbers of attempts in 24 equal parts of the span, oldest first.',
      resolve: async (shown, _args, { loaders }) => (await loaders.failurePlaces.load(shown)).buckets,
    }),
    examples: t.field({
      type: [SessionNode],
      description: 'The newest of its failed attempts, at most 3.',
      resolve: async (shown, _args, context, info) => {
        const { sessionIds } = await context.loaders.failurePlaces.load(shown)
        return Promise.all(sessionIds.map((value) => loadExistingSession({ context, info, by: 'id', value })))
      },
    }),
  }),
})

type Fields = Parameters<Parameters<typeof FailureGroupRef.implement>[0]['fields'] & {}>[0]

function figures(t: Fields) {
  const figuresOf = async (shown: ShownFailureGroup, loaders: Loaders) =>
    shown.figures ?? (await loaders.failureFigures.load(shown)) ?? NOTHING
  return {
    attempts: t.int({
      description: 'Number of failed attempts.',
      resolve: async (shown, _args, { loaders }) => (await figuresOf(shown, loaders)).attempts,
    }),
    chains: t.int({
      description: 'Number of their chains.',
      resolve: async (shown, _args, { loaders }) => (await figuresOf(shown, loaders)).chains,
    }),
    firstSeenAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the first of them failed.',
      resolve: async (shown, _args, { loaders }) => (await figuresOf(shown, loaders)).firstAt,
    }),
    lastSeenAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the last of them failed.',
      resolve: async (shown, _args, { loaders }) => (await figuresOf(shown, loaders)).lastAt,
    }),
    succeededLater: t.float({
      nullable: true,
      description: 'The share of their chains that has succeeded since, 0 to 1; null without any.',
      resolve: async (shown, _args, { loaders }) => {
        const { saved, chains } = await figuresOf(shown, loaders)
        return chains === 0 ? null : saved / chains
      },
    }),
    runningSecondsLost: t.float({
      description: 'Seconds for which their programs ran.',
      resolve: async (shown, _args, { loaders }) => (await figuresOf(shown, loaders)).runningSeconds,
    }),
    cpuSecondsLost: t.float({
      description: 'The same, times the CPUs that they held.',
      resolve: async (shown, _args, { loaders }) => (await figuresOf(shown, loaders)).cpuSeconds,
    }),
  }
}

builder.prismaObjectFields(SessionNode, (t) => ({
  failureGroup: t.field({
    type: FailureGroupRef,
    nullable: true,
    description: 'The group of failures that it belongs to; null if it has not failed, or shortly after that.',
    select: { id: true },
    resolve: ({ id }, _args, { loaders }) => loaders.failureGroupOfSession.load(id),
  }),
}))
