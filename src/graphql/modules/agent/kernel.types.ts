import type { Gpu, GpuUsage } from '../../../domain/gpu.ts'
import { PAGE_SIZE_DEFAULT } from '../../../domain/limits.ts'
import { exitSignalOf } from '../../../domain/session/failure.ts'
import {
  type LogChunkRow,
  logCursor,
  type LogPage,
  type LogPlace,
  piecesOf,
} from '../../../services/agent/kernel-logs.ts'
import { type Page, type PageArguments, pageSize, totals } from '../../../services/paging.ts'
import { builder } from '../../builder.ts'
import { isUuid, NO_UUID } from '../../ids.ts'
import { loadExistingSession } from '../../loaders/load-session.ts'
import { forwardArguments } from '../../paging.ts'
import { GpuType, GpuUsageType } from '../session/gpus.types.ts'
import { historyField } from '../session/history.types.ts'
import { SessionNode } from '../session/session.types.ts'
import { ExitSignalType, UsageType } from '../session/values.types.ts'

const LogStreamEnum = builder.enumType('LogStream', {
  description: 'Output stream of a process.',
  values: {
    STDOUT: { description: 'Its standard output.' },
    STDERR: { description: 'Its standard error.' },
  } as const,
})

export const LogChunk = builder.objectRef<LogChunkRow>('LogChunk').implement({
  description:
    "A chunk of a kernel's output, in order of arrival. Adjacent chunks of a stream are joined up to 64 KiB.",
  fields: (t) => ({
    cursor: t.string({ description: 'Its cursor: pass it as `after` or `before`.', resolve: logCursor }),
    stream: t.expose('stream', { type: LogStreamEnum, description: 'The stream that it was written to.' }),
    offset: t.expose('offset', {
      type: 'Bytes',
      description:
        'Offset in bytes of its beginning in the stored part of its stream. Streams start again on each agent that the kernel was assigned to.',
    }),
    text: t.exposeString('text', { description: 'The text; it need not end with a line break.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When the agent read its first byte.' }),
  }),
})

const LogConnection = builder.connectionObject(
  {
    type: LogChunk,
    name: 'LogConnection',
    description: "A page of a kernel's output. Its total counts chunks as they arrived, before they were joined.",
  },
  { name: 'LogEdge', description: 'One chunk with its cursor.' },
)

const KernelStatusEnum = builder.enumType('KernelStatus', {
  description:
    "Status of a kernel, with the names of a session's statuses. A kernel may be further than its session, because the agent moves it first.",
  values: {
    PENDING: { description: 'Waits for an agent.' },
    SCHEDULED: { description: 'An agent was chosen for it.' },
    PREPARING: { description: 'Its agent prepares it.' },
    PULLING: { description: 'Its agent fetches the image.' },
    PREPARED: { description: 'Ready to be created.' },
    CREATING: { description: 'Its agent starts it.' },
    RUNNING: { description: 'User code runs.' },
    TERMINATING: { description: 'It is being stopped.' },
    TERMINATED: { description: 'Ended: user code exited or was stopped.' },
    ERROR: { description: 'Ended: it failed.' },
    CANCELLED: { description: 'Ended before it was assigned to an agent.' },
  } as const,
})

const KernelRoleEnum = builder.enumType('KernelRole', {
  description: 'Role of a kernel in its session.',
  values: {
    main: { description: 'The first kernel, whose end usually decides the result.' },
    sub: { description: 'Any other kernel.' },
  } as const,
})

export const KernelNode = builder.prismaNode('Kernel', {
  description: 'One process of a session.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({
    id: isUuid(id) ? id : NO_UUID,
    ...(viewer.projectId === null ? {} : { session: { projectId: viewer.projectId } }),
  }),
  select: { id: true },
  fields: (t) => ({
    kernelId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    role: t.field({
      type: KernelRoleEnum,
      description: 'Its role: a session has one `main` kernel, and `clusterSize` − 1 others.',
      select: { role: true },
      resolve: ({ role }) => role as 'main' | 'sub',
    }),
    index: t.exposeInt('index', { description: '1-based within its role.' }),
    session: t.field({
      type: SessionNode,
      description: 'The session whose process it is.',
      select: { sessionId: true },
      resolve: ({ sessionId }, _args, context, info) =>
        loadExistingSession({ context, info, by: 'id', value: sessionId }),
    }),
    agent: t.relation('agent', {
      nullable: true,
      description: 'The agent on which it runs or ran; null while it waits for one.',
    }),
    host: t.exposeString('host', {
      nullable: true,
      description:
        'The machine on which it runs or ran, if its agent manages several; null if the agent has only one, or the machine is not known.',
    }),
    slurmJobId: t.exposeString('slurmJobId', {
      nullable: true,
      description: 'Its job id in Slurm; null if Slurm does not run it. Slurm reuses ids.',
    }),
    status: t.expose('status', { type: KernelStatusEnum, description: 'Its status.' }),
    exitCode: t.exposeInt('exitCode', {
      nullable: true,
      description: 'Its exit code: 128 plus the signal number if a signal ended it.',
    }),
    exitSignal: t.field({
      type: ExitSignalType,
      nullable: true,
      description: 'The signal that ended it; null if none did.',
      select: { exitCode: true },
      resolve: ({ exitCode }) => exitSignalOf(exitCode),
    }),
    usage: t.field({
      type: UsageType,
      nullable: true,
      description: 'Resources that it used, once it has ended; null if it never ran, or nothing is known.',
      select: { peakMemoryBytes: true, cpuSeconds: true, wallSeconds: true, usageSource: true },
      resolve: ({ peakMemoryBytes, cpuSeconds, wallSeconds, usageSource: source }) =>
        source && {
          peakMemoryBytes: peakMemoryBytes === null ? null : Number(peakMemoryBytes),
          cpuSeconds,
          wallSeconds,
          source,
        },
    }),
    gpus: t.field({
      type: [GpuType],
      description: 'The GPUs that it has; empty if it has none, or as long as they are unknown.',
      select: { gpus: true },
      resolve: ({ gpus }) => (gpus ?? []) as unknown as Gpu[],
    }),
    gpuUsage: t.field({
      type: GpuUsageType,
      nullable: true,
      description: 'What it has used of them, updated while it runs; null if that is not known.',
      select: { gpuUsage: true },
      resolve: ({ gpuUsage }) => gpuUsage as unknown as GpuUsage | null,
    }),
    oomKilled: t.exposeBoolean('oomKilled', { description: 'Whether it was killed for using too much memory.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it ended, if it did not end by itself.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When user code started.' }),
    terminatedAt: t.expose('terminatedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
    schedulingHistory: t.field(
      historyField(t, 'Exceptional events of this kernel, oldest first; its session’s history has the rest.'),
    ),
    logs: t.field({
      type: LogConnection,
      description: 'Its output, oldest first. With `last`, the end of its output.',
      args: {
        ...forwardArguments(t),
        last: t.arg.int({ description: 'Number of chunks from the end, instead of `first`.' }),
        before: t.arg.string({ description: 'Only chunks before this cursor.' }),
        since: t.arg({ type: 'DateTime', description: 'Only chunks that arrived at this time or later.' }),
      },
      complexity: ({ first, last }) => ({ field: 1, multiplier: first ?? last ?? PAGE_SIZE_DEFAULT }),
      resolve: ({ id }, args, { loaders }) =>
        logPage({
          args,
          load: (place) => loaders.logs.load({ kernelId: id, ...place }),
          count: () => loaders.logCount.load(id),
        }),
    }),
    logBytes: t.field({
      type: 'Bytes',
      description: 'Stored bytes of its output, both streams together.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.logSizes.load(id)).bytes,
    }),
    logTruncated: t.boolean({
      description: 'Whether a part of its output was dropped; the log has a note in place of that part.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.logSizes.load(id)).truncated,
    }),
  }),
})

/** Reads a page of a kernel's log, from either end. */
async function logPage(options: {
  args: PageArguments & { since?: Date | null | undefined }
  load: (place: LogPlace) => Promise<LogPage | undefined>
  count: () => Promise<number>
}): Promise<Page<LogChunkRow>> {
  const { args, load, count } = options
  const { size, backward } = pageSize(args)
  const after = piecesOf(args.after, 'after')?.last ?? '0'
  const before = piecesOf(args.before, 'before')?.first ?? null
  const { chunks, more } = (await load({ after, before, backward, size, since: args.since ?? null })) ?? {
    chunks: [],
    more: false,
  }
  const edges = chunks.map((node) => ({ cursor: logCursor(node), node }))
  return {
    edges,
    pageInfo: {
      hasNextPage: backward ? args.before != null : more,
      hasPreviousPage: backward ? more : args.after != null,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    ...totals(count),
  }
}
