import { outlook, type Outlook } from '../../../domain/chain/outlook.ts'
import type { ChainRow } from '../../../services/chain/read-chains.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession } from '../../loaders/load-session.ts'
import { isUuid } from '../../ids.ts'
import { ProjectNode } from '../project/project.type.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { Label, labelsOf } from '../session/values.types.ts'
import { SessionNode } from '../session/session.types.ts'
import { ChainStateEnum } from './chain.enums.ts'

const ChainOutlook = builder.objectRef<Outlook>('ChainOutlook').implement({
  description: 'Whether a chain will continue by itself.',
  fields: (t) => ({
    willRetry: t.exposeBoolean('willRetry', {
      description: 'A retry is planned, or the current attempt has retries left in case it fails.',
    }),
    reason: t.exposeString('reason', { description: 'Why, in words.' }),
    at: t.expose('at', {
      type: 'DateTime',
      nullable: true,
      description: 'When the planned retry is due; null while it is overdue and held.',
    }),
  }),
})

const ref = builder.objectRef<ChainRow>('Chain')

export const ChainNode = builder.node(ref, {
  description: 'All attempts at one piece of work, from its creation over all retries and resubmissions.',
  id: { resolve: ({ chainId }) => chainId },
  loadOne: (id, { loaders }) => (isUuid(id) ? loaders.chains.load(id.toLowerCase()) : undefined),
  fields: (t) => ({
    chainId: t.expose('chainId', { type: 'UUID', description: "Its first attempt's id." }),
    name: t.exposeString('name', { description: 'Its name; need not be unique.' }),
    labels: t.field({
      type: [Label],
      description: 'Labels given by its client.',
      resolve: ({ labels }) => labelsOf(labels),
    }),
    project: t.prismaField({
      type: ProjectNode,
      description: 'The project that it belongs to.',
      // Prisma reads all that are requested in the same tick with one statement.
      resolve: (query, { projectId }, _args, { services }) =>
        services.prisma.project.findUniqueOrThrow({ ...query, where: { id: projectId } }),
    }),
    state: t.expose('state', { type: ChainStateEnum, description: 'Its state.' }),
    cause: t.expose('cause', {
      type: FailureCauseEnum,
      nullable: true,
      description: 'Cause of the latest failure.',
    }),
    attempts: t.exposeInt('attempts', { description: 'How many attempts there are.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When its first attempt was created.' }),
    newestActivityAt: t.expose('newestActivityAt', {
      type: 'DateTime',
      description: 'When an attempt was last created or judged, or its retry changed.',
    }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its last attempt ended, or the retry that it waited for was given up, if no other follows.',
    }),
    totalSeconds: t.exposeFloat('totalSeconds', { description: 'From its creation to its end, or until now.' }),
    checkpointBytes: t.float({
      nullable: true,
      description:
        'What its attempts have stored for each other, as last measured: at the end of each, and every few minutes while one runs. Null if there is nothing, or it is not known yet.',
      resolve: async ({ chainId }, _args, { loaders }) => (await loaders.keptCheckpoints.load(chainId))?.bytes ?? null,
    }),
    checkpointAttempt: t.int({
      nullable: true,
      description: 'The newest attempt of which a checkpoint is on record. Null for none.',
      resolve: async ({ chainId }, _args, { loaders }) =>
        (await loaders.keptCheckpoints.load(chainId))?.attempt ?? null,
    }),
    checkpointPublishedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When that was recorded: at the end of the attempt, or when its program published it.',
      resolve: async ({ chainId }, _args, { loaders }) =>
        (await loaders.keptCheckpoints.load(chainId))?.publishedAt ?? null,
    }),
    checkpointCopiedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When the copy that the servers have of the checkpoint of that attempt was made, with which a retry goes on elsewhere. Null for none.',
      resolve: async ({ chainId }, _args, { loaders }) =>
        (await loaders.keptCheckpoints.load(chainId))?.copiedAt ?? null,
    }),
    outlook: t.field({
      type: ChainOutlook,
      description: 'Whether it will still retry.',
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
