import { RepriseError } from '../../domain/errors.ts'
import type { Prisma, PrismaClient, Session } from '../../store/prisma.ts'
import { keysetPage, NEWEST_FIRST, type OrderColumn, type Page, type PageArguments } from '../paging.ts'
import { explainPendingSessions, type PendingReason } from './explain-pending.ts'
import type { KernelUsage } from '../../domain/agent/kernel-report.ts'
import {
  type FoundCheckpointRow,
  plainSelection,
  readFoundCheckpoints as readFoundRows,
  readPlainSessions,
  type ProgressRow,
  readProgress as readProgressRows,
  readStartNotes as readStartNoteRows,
  type SessionKey,
} from '../../store/sql/session/read-sessions.sql.ts'
import { isStarting, type SessionStatus } from '../../domain/session/lifecycle.ts'
import { readUsage as readUsageRows } from '../../store/sql/session/count-sessions.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { shownEnviron, type ShownVariable } from './session-fields.ts'
import { projectScope } from '../access/tenants.ts'
import { type SessionFilterInput, sessionWhere } from './session-where.ts'
import type { Queryable } from '../../store/database.ts'
import { DEPENDENTS_LISTED_MAX } from '../../domain/limits.ts'
import { type DependentRow, readDependents as read } from '../../store/sql/session/creation-scope.sql.ts'
import { validate } from 'uuid'

const RELATED = {
  project: { select: { name: true } },
  user: { select: { name: true } },
  childSession: { select: { id: true } },
  dependsOn: { select: { chainId: true }, orderBy: { chainId: 'asc' } },
  decision: {
    select: {
      phase: true,
      explanation: true,
      holdReason: true,
      heldBy: true,
      delayMs: true,
      dueAt: true,
      childSessionId: true,
    },
  },
} as const satisfies Prisma.SessionInclude

/** A complete session with related data, for REST; GraphQL reads only what its query selects. */
export type SessionRecord = Omit<Prisma.SessionGetPayload<{ include: typeof RELATED }>, 'environ' | 'pendingReason'> & {
  /** Why the session waits, with the present numbers; null if it does not wait. */
  pendingReason: string | null
  /** Whether it waits in vain. */
  impossible: boolean
  /** The usage of its kernels together; null if nothing is known. */
  usage: KernelUsage | null
  checkpoint: ShownCheckpoint
  /** Null if its program has told no progress. */
  progress: ProgressRow | null
  /** The part of the environment that the viewer may read. */
  environ: ShownVariable[]
  /** Ids of all attempts of its chain, oldest to newest. */
  retryChain: string[]
}

export type { ProgressRow }

/** The context of read services: the database and the viewer. */
export interface ReadContext extends ServiceContext {
  prisma: PrismaClient
}

const OLDEST_ATTEMPT_FIRST: OrderColumn[] = [
  { column: 'attempt', direction: 'asc', type: 'number' },
  { column: 'id', direction: 'asc', type: 'uuid' },
]

/** @throws RepriseError SESSION_NOT_FOUND */
export async function readSession(context: ReadContext, id: string): Promise<SessionRecord> {
  const where = { id, ...projectScope(context.viewer) }
  const session = await context.prisma.session.findFirst({ where, include: RELATED })
  if (!session) throw new RepriseError('SESSION_NOT_FOUND', `no session ${id}`)
  return (await withChains(context, [session]))[0]!
}

/**
 * Reads sessions that the viewer sees, by id. Why they wait is as the scheduler last wrote it: computing it anew takes
 * longer than creating them.
 */
export async function readSessionRecords(
  context: ReadContext,
  ids: readonly string[],
): Promise<Map<string, SessionRecord>> {
  const where = { id: { in: [...ids] }, ...projectScope(context.viewer) }
  const sessions = await context.prisma.session.findMany({ where, include: RELATED })
  return new Map((await withChains(context, sessions, { explains: false })).map((session) => [session.id, session]))
}

/**
 * Reads sessions, newest first.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readSessions(
  context: ReadContext,
  options: { filter: SessionFilterInput; page: PageArguments },
): Promise<Page<SessionRecord>> {
  return readPage(context, options.page, NEWEST_FIRST, sessionWhere(options.filter))
}

/**
 * Reads all attempts of a session's chain, oldest to newest. @throws RepriseError SESSION_NOT_FOUND, VALIDATION_FAILED
 */
export async function readAttempts(
  context: ReadContext,
  options: { sessionId: string; page: PageArguments },
): Promise<Page<SessionRecord>> {
  const { sessionId: id, page } = options
  const where = { id, ...projectScope(context.viewer) }
  const session = await context.prisma.session.findFirst({ where, select: { chainId: true } })
  if (!session) throw new RepriseError('SESSION_NOT_FOUND', `no session ${id}`)
  return readPage(context, page, OLDEST_ATTEMPT_FIRST, { chainId: session.chainId })
}

/**
 * Reads usage by session; sessions without a known figure are missing. The caller has checked that the viewer may see
 * them.
 */
export async function readUsage(
  { db }: Pick<ServiceContext, 'db'>,
  sessionIds: readonly string[],
): Promise<Map<string, KernelUsage>> {
  const rows = await readUsageRows(db, sessionIds)
  return new Map(rows.map(({ sessionId, ...usage }) => [sessionId, usage]))
}

/** Reads, by session, the last line of progress that its program has told. The caller has checked as above. */
export async function readProgress(
  { db }: Pick<ServiceContext, 'db'>,
  sessionIds: readonly string[],
): Promise<Map<string, ProgressRow>> {
  return new Map((await readProgressRows(db, sessionIds)).map((row) => [row.sessionId, row]))
}

/** Reads, by session, the progress of sessions that are being started, as text. The caller has checked as above. */
export async function readStartNotes(
  { db }: Pick<ServiceContext, 'db'>,
  sessionIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await readStartNoteRows(db, sessionIds)
  return new Map(rows.map(({ sessionId, note }) => [sessionId, note]))
}

/** Reads, by session, the checkpoints of earlier attempts that sessions found. The caller has checked as above. */
export async function readFoundCheckpoints(
  { db }: Pick<ServiceContext, 'db'>,
  sessionIds: readonly string[],
): Promise<Map<string, FoundCheckpointRow>> {
  const rows = await readFoundRows(db, sessionIds)
  return new Map(rows.map((row) => [row.sessionId, row]))
}

/** The checkpoint that a session found, or the fact that there was none. */
export interface ShownCheckpoint extends Omit<FoundCheckpointRow, 'sessionId' | 'state'> {
  state: FoundCheckpointRow['state'] | 'NONE'
}

/** The value for a session without a checkpoint, and for one that has not started. */
export const NO_CHECKPOINT: ShownCheckpoint = {
  state: 'NONE',
  fromAttempt: null,
  store: null,
  bytes: null,
  publishedAt: null,
  note: null,
}

export type { FoundCheckpointRow }

export type { SessionKey }

/** Reads sessions of one project (null for all) by a key, oldest attempt first. */
export interface SessionRead {
  projectId: string | null
  by: SessionKey
  values: readonly string[]
  /**
   * The columns and relations that the selection set needs, as made by Pothos; identical for all places of one path.
   */
  select: Prisma.SessionSelect
  selectKey: string
}

export type ReadSessions = (read: SessionRead) => Promise<Session[]>

/**
 * Creates a reader. Rows contain what `select` names and the three keys; the type claims the whole row because Pothos
 * expects it. Selections with relations other than the decision are read by Prisma.
 */
export function sessionReader({ db, prisma }: { db: Queryable; prisma: PrismaClient }): ReadSessions {
  return async ({ projectId, by, values, select }) => {
    const distinct = [...new Set(values)]
    const whole = { ...select, id: true, chainId: true, parentSessionId: true, attempt: true }
    const selection = plainSelection(whole)
    if (selection) return readPlainSessions(db, { projectId, by, values: distinct, selection })
    return prisma.session.findMany({
      where: { ...(projectId !== null && { projectId }), [by]: { in: distinct } },
      select: whole,
      orderBy: { attempt: 'asc' },
    })
  }
}

export type { DependentRow }

/**
 * Reads the first attempts that depend on these chains and that the viewer sees, oldest first: one more than are listed,
 * if there are more.
 */
export function readDependents(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  chainIds: readonly string[],
): Promise<DependentRow[]> {
  return read(db, chainIds, viewer.projectId, DEPENDENTS_LISTED_MAX + 1)
}

/**
 * Checks an id. A malformed UUID names no session; the database would refuse it with another error.
 * @throws RepriseError SESSION_NOT_FOUND
 */
export function requireSessionId(id: unknown): void {
  if (!validate(id)) throw new RepriseError('SESSION_NOT_FOUND', `no session ${String(id).slice(0, 100)}`)
}

async function readPage(
  context: ReadContext,
  args: PageArguments,
  order: readonly OrderColumn[],
  wanted: Prisma.SessionWhereInput,
): Promise<Page<SessionRecord>> {
  const { prisma, viewer } = context
  const seen = { AND: [projectScope(viewer), wanted] }
  const page = await keysetPage({
    args,
    order,
    find: ({ where, ...rest }) => prisma.session.findMany({ ...rest, where: { AND: [seen, where] }, include: RELATED }),
    count: () => prisma.session.count({ where: seen }),
  })
  const nodes = await withChains(
    context,
    page.edges.map(({ node }) => node),
  )
  return { ...page, edges: page.edges.map(({ cursor }, index) => ({ cursor, node: nodes[index]! })) }
}

/** Needs five statements, and a few more if some of the sessions wait, however many sessions there are. */
async function withChains<
  Row extends {
    id: string
    status: SessionStatus
    statusReason: string | null
    chainId: string
    environ: Prisma.JsonValue
    pendingReason: string | null
  },
>(
  { db, prisma, viewer }: Pick<ReadContext, 'db' | 'prisma' | 'viewer'>,
  sessions: readonly Row[],
  { explains } = { explains: true },
): Promise<
  (Omit<Row, 'environ' | 'pendingReason'> &
    Pick<
      SessionRecord,
      'checkpoint' | 'environ' | 'impossible' | 'pendingReason' | 'progress' | 'retryChain' | 'usage'
    >)[]
> {
  const explained = explains ? sessions.filter(({ status }) => status === 'PENDING').map(({ id }) => id) : []
  const starting = sessions.filter(({ status }) => isStarting(status)).map(({ id }) => id)
  const chainIds = [...new Set(sessions.map(({ chainId }) => chainId))]
  const sessionIds = sessions.map(({ id }) => id)
  const [attempts, reasons, notes, usage, checkpoints, progress] = await Promise.all([
    prisma.session.findMany({
      where: { chainId: { in: chainIds } },
      orderBy: { attempt: 'asc' },
      select: { id: true, chainId: true },
    }),
    explained.length > 0 ? explainPendingSessions({ db }, explained) : new Map<string, PendingReason>(),
    starting.length > 0 ? readStartNotes({ db }, starting) : new Map<string, string>(),
    readUsage({ db }, sessionIds),
    readFoundCheckpoints({ db }, sessionIds),
    readProgress({ db }, sessionIds),
  ])
  const chains = Map.groupBy(attempts, ({ chainId }) => chainId)
  return sessions.map((session) => ({
    ...session,
    statusReason: session.statusReason ?? notes.get(session.id) ?? null,
    usage: usage.get(session.id) ?? null,
    progress: progress.get(session.id) ?? null,
    checkpoint: checkpoints.get(session.id) ?? NO_CHECKPOINT,
    pendingReason: explains ? (reasons.get(session.id)?.text ?? null) : session.pendingReason,
    impossible: reasons.get(session.id)?.impossible === true,
    environ: shownEnviron(viewer, session.environ as { name: string; value: string }[]),
    retryChain: chains.get(session.chainId)!.map(({ id }) => id),
  }))
}
