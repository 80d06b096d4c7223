import { DEPLOYMENT_HANDLERS, ROUTE_HANDLERS } from '../../../src/domain/deployment/lifecycle.ts'
import type { KernelChange } from '../../../src/domain/agent/reconcile.ts'
import { Prisma } from '../../../src/generated/prisma/client.ts'
import {
  prepareSessions,
  startSessions,
  terminateSessions,
} from '../../../src/scheduler/session/kernel-orders.handlers.ts'
import type { Database } from '../../../src/store/database.ts'
import { isUnsettled } from '../../../src/store/postgres/outbox-era.ts'
import { readWarningFacts } from '../../../src/store/sql/server.sql.ts'
import { applyKernelChanges } from '../../../src/store/sql/agent/sync-agent.sql.ts'
import type { ChainConditions } from '../../../src/store/sql/chain/chain-conditions.sql.ts'
import { FIGURE_GROUPINGS } from '../../../src/domain/insight/figures.ts'
import {
  readFigures,
  readFigureSeries,
  readFigureTitles,
  readRetryFigures,
} from '../../../src/store/sql/insight/read-figures.sql.ts'
import { FAILURE_GROUP_ORDERS, listFailureGroups } from '../../../src/store/sql/insight/failure-groups.sql.ts'
import { drainAgentRow, removeAgentRow, resumeAgentRow } from '../../../src/store/sql/agent/agents.sql.ts'
import { changePendingRetries } from '../../../src/store/sql/retry/change-retry.sql.ts'
import { readRevisionPages } from '../../../src/store/sql/deployment/revisions.sql.ts'
import { readSchedulingHistory } from '../../../src/store/sql/session/scheduling-history.sql.ts'
import { claimDeployments, claimRoutes } from '../../../src/store/sql/deployment/claim-deployments.sql.ts'
import { claimPending, claimShortLine } from '../../../src/store/sql/scheduling/claim-pending.sql.ts'
import {
  type ChainKey,
  type ChainOrder,
  type ChainsQuery,
  countChains,
  countChainStates,
  listChains,
  listChainTails,
} from '../../../src/store/sql/chain/list-chains.sql.ts'
import { lockQuotas, readLimits } from '../../../src/store/sql/quota.sql.ts'
import { readEventWindow } from '../../../src/store/sql/event/read-event-page.sql.ts'
import { type AuditConditions, countAudit, readAuditPage } from '../../../src/store/sql/access/audit.sql.ts'
import { readForeignWork, readIdByName } from '../../../src/store/sql/access/tenants.sql.ts'
import {
  countResubmissionItems,
  itemList,
  readResubmissionItems,
  type ResubmissionItemStatus,
} from '../../../src/store/sql/resubmission/read-resubmission.sql.ts'
import { readRoutes } from '../../../src/store/sql/deployment/routes.sql.ts'
import { readPlainSessions, type SessionKey } from '../../../src/store/sql/session/read-sessions.sql.ts'
import { removeOldRows } from '../../../src/store/sql/retention.sql.ts'
import { findScopeId, replaceRetryDefaults } from '../../../src/store/sql/retry/retry-defaults.sql.ts'
import {
  countFailures,
  countSessions,
  type FailureGrouping,
  readOutcomeUsage,
} from '../../../src/store/sql/session/count-sessions.sql.ts'

type Run = (db: Database) => Promise<unknown>

const ID = '00000000-0000-7000-8000-000000000001'
const NOON = new Date('2026-01-02T12:00:00Z')
const ACTOR = { name: 'ann', tokenId: null, userId: null, requestId: null, address: null }

const keysOf = <Name extends string>(every: Record<Name, unknown>) => Object.keys(every) as Name[]

/** None of them, each by itself, and all at once. */
function choices<Conditions extends object>(all: Conditions): Partial<Conditions>[] {
  const each = Object.entries(all).map(([name, value]) => ({ [name]: value }) as Partial<Conditions>)
  return [{}, ...each, all]
}

const DEMANDS = [{ projectId: ID, group: 'default', demand: '1' }]
const PENDING = { impossible: DEMANDS, possible: DEMANDS }

const CHAINS: Required<ChainConditions> = {
  states: ['LIVE'],
  pending: PENDING,
  sessionTypes: ['BATCH'],
  timedOut: true,
  causes: ['OOM_KILLED'],
  attempts: { gt: 0, gte: 1, lt: 4, lte: 3, min: 1, max: 3 },
  project: 'default',
  name: { equals: 'train', in: ['train'], contains: 'rai', startsWith: 'tr', endsWith: 'in' },
  label: { key: 'team', value: 'vision' },
  labels: [
    { key: 'team', present: true, values: ['vision', 'text'] },
    { key: 'owner', present: true, values: null },
    { key: 'old', present: false, values: null },
  ],
  search: 'train',
  chainIds: [ID],
  groupId: ID,
  resourceGroup: 'default',
  user: 'ann',
  exitCodes: [3],
  holdReasons: ['RATE_LIMITED'],
  dueAt: { gt: NOON, gte: NOON, lt: NOON, lte: NOON },
  agentId: ID,
  failed: {
    at: { gt: NOON, gte: NOON, lt: NOON, lte: NOON },
    causes: ['OOM_KILLED'],
    exitCodes: [3],
    timedOut: true,
    agentId: ID,
  },
  createdAt: { gt: NOON, gte: NOON, lt: NOON, lte: NOON },
  activityAt: { gt: NOON, gte: NOON, lt: NOON, lte: NOON },
}

const { chainIds: _listed, ...SEARCHED } = CHAINS
/** Chains in LIVE, told apart. */
const LIVE: ChainConditions[] = [
  { states: ['RUNNING', 'FAILED'] },
  { states: ['QUEUED', 'IMPOSSIBLE'] },
  { states: ['QUEUED'], pending: PENDING },
  { states: ['IMPOSSIBLE'], pending: PENDING, search: 'train' },
  { states: ['QUEUED', 'RUNNING'], pending: { impossible: DEMANDS, possible: null }, agentId: ID },
  { states: ['IMPOSSIBLE'], pending: { impossible: [], possible: [] }, chainIds: [ID] },
]
const PLACES: Record<ChainOrder, ChainKey> = {
  ACTIVITY: NOON,
  ATTEMPTS: 1,
  TOTAL_TIME: 1,
  NAME: 'train',
  CREATED_AT: NOON,
  DUE_AT: NOON,
}

function* chains(): Generator<Run> {
  const named = choices(CHAINS.name).map((name) => ({ name }))
  for (const conditions of [...choices(CHAINS), SEARCHED, ...LIVE, ...named, { timedOut: true }]) {
    yield (db) => countChains(db, { conditions, visibleProjectId: null, countMax: 1 })
    yield (db) => countChainStates(db, { conditions, visibleProjectId: null, countMax: 1 })
    yield (db) => listChainTails(db, { conditions, visibleProjectId: null, limit: 1 })
    for (const order of keysOf(PLACES)) {
      for (const direction of ['asc', 'desc'] as const) {
        const place = { key: PLACES[order], chainId: ID }
        const whole: ChainsQuery = {
          conditions,
          visibleProjectId: null,
          order,
          direction,
          asOfMs: 0,
          after: [],
          before: [],
          limit: 1,
        }
        yield (db) => listChains(db, whole)
        yield (db) => listChains(db, { ...whole, after: [place], before: [place] })
      }
    }
  }
}

const AUDIT: Required<Omit<AuditConditions, 'visibleProjectId'>> = {
  ids: ['1'],
  project: 'default',
  tokenId: ID,
  userId: ID,
  sessionId: ID,
  requestId: 'one',
  actor: 'ann',
  actorContains: 'an',
  actions: ['session.create'],
  actionContains: 'create',
  automatic: true,
  refused: true,
  from: NOON,
  before: NOON,
}

function* audit(): Generator<Run> {
  for (const some of [...choices(AUDIT), { refused: false }, { automatic: false }]) {
    for (const visibleProjectId of [null, ID]) {
      const conditions = { visibleProjectId, ...some }
      yield (db) => countAudit(db, conditions)
      for (const backward of [false, true]) {
        yield (db) => readAuditPage(db, conditions, { olderThan: null, newerThan: null, backward, limit: 1 })
        yield (db) => readAuditPage(db, conditions, { olderThan: '2', newerThan: '1', backward, limit: 1 })
      }
    }
  }
}

const COUNTED = {
  name: 'train',
  label: { key: 'team', value: 'vision' },
  resourceGroup: 'default',
  user: 'ann',
  sessionTypes: ['BATCH'] as const,
}

function* events(): Generator<Run> {
  const stretch = { after: { xid: 0n, id: 0n }, before: { xid: 1n, id: 0n } }
  for (const backward of [false, true]) {
    yield (db) => readEventWindow(db, { ...stretch, filter: {}, backward, limit: 1, scannedMax: 1 })
  }
}

function* statistics(): Generator<Run> {
  const span = { project: null, visibleProjectId: null, from: NOON, to: NOON, bucketSeconds: 1 }
  for (const which of choices(COUNTED)) {
    yield (db) => countSessions(db, { ...span, ...which }, 10_000)
    yield (db) => readOutcomeUsage(db, { ...span, ...which }, 10_000)
  }
  for (const by of keysOf({ CAUSE: 0, EXIT_CODE: 0, NAME: 0, LABEL: 0, AGENT: 0 } satisfies Record<
    FailureGrouping,
    0
  >)) {
    for (const which of choices({ ...COUNTED, causes: ['OOM_KILLED'] as const, timedOut: true })) {
      yield (db) => countFailures(db, { ...span, ...which, by, limit: 1 }, 10_000)
    }
  }
}

function* sessions(): Generator<Run> {
  const session = keysOf(Prisma.SessionScalarFieldEnum)
  for (const by of keysOf({ id: 0, parentSessionId: 0, chainId: 0 } satisfies Record<SessionKey, 0>)) {
    for (const decision of [null, keysOf(Prisma.RetryDecisionScalarFieldEnum)]) {
      yield (db) => readPlainSessions(db, { projectId: null, by, values: [], selection: { session, decision } })
    }
  }
}

function* pending(): Generator<Run> {
  for (const youngestFirst of [false, true]) {
    for (const expired of [0, 1]) {
      const claim = { resourceGroup: 'default', head: 1, classes: 1, fromClass: null, classSessions: 1, overdue: 1 }
      yield (db) => claimPending(db, { ...claim, youngestFirst, expired })
      yield (db) => claimShortLine(db, { ...claim, youngestFirst, expired })
    }
  }
}

function* resubmissions(): Generator<Run> {
  const statuses = keysOf({ PENDING: 0, DONE: 0, REFUSED: 0 } satisfies Record<ResubmissionItemStatus, 0>)
  for (const list of [null, ...statuses].map((status) => itemList(ID, status))) {
    yield (db) => readResubmissionItems(db, [list], '1', 1)
    yield (db) => countResubmissionItems(db, [list])
  }
}

/** Runs that have each statement whose text depends on arguments sent in all of its forms. */
const ENDED: KernelChange = {
  id: ID,
  assignment: 1,
  from: 'RUNNING',
  to: 'TERMINATED',
  started: false,
  ended: true,
  gone: true,
  exitCode: 0,
  oomKilled: false,
  stopped: false,
  inTime: null,
  error: null,
  port: null,
  usage: null,
  gpus: null,
  gpuUsage: null,
  progress: null,
  foundCheckpoint: null,
  leftCheckpoint: null,
  leftOutputs: false,
  note: null,
  waits: false,
  host: null,
  slurmJobId: null,
}

function* figures(): Generator<Run> {
  const edges = [{ from: NOON, to: NOON }]
  for (const grouping of ['NAME', 'FAILURE_GROUP'] as const) {
    for (const [sessionIds, spans] of [
      [null, { days: edges[0]!, edges: [] }],
      [null, { days: null, edges }],
      [[ID], { days: null, edges }],
    ] as const) {
      const wanted = { visibleProjectId: null, project: null, grouping, label: '', spans, sessionIds }
      yield (db) => readFigures(db, wanted, { order: 'LOST', limit: 1 }, 10_000)
      for (const running of [{}, { running: null }])
        yield (db) => readFigures(db, wanted, { order: 'SPENT', limit: 1, ...running }, 10_000)
      yield (db) => readRetryFigures(db, wanted, ['a'], 10_000)
      for (const hourly of [false, true]) yield (db) => readFigureSeries(db, wanted, { keys: ['a'], hourly }, 10_000)
    }
  }
  for (const grouping of FIGURE_GROUPINGS) yield (db) => readFigureTitles(db, grouping, [ID])
}

export const FORMS: readonly Run[] = [
  ...figures(),
  ...FAILURE_GROUP_ORDERS.map(
    (order): Run =>
      (db) =>
        listFailureGroups(
          db,
          { visibleProjectId: null, from: NOON, to: NOON, sessionIds: null },
          { order, states: null, limit: 1, offset: 0 },
        ),
  ),
  ...chains(),
  ...audit(),
  ...(['sessions', 'deployments'] as const).map(
    (table): Run =>
      (db) =>
        readForeignWork(db, table, { ids: [ID], projectId: ID, userId: null }),
  ),
  ...(['domain', 'project', 'user'] as const).map(
    (kind): Run =>
      (db) =>
        readIdByName(db, kind, 'vision'),
  ),
  ...events(),
  ...statistics(),
  ...sessions(),
  ...pending(),
  ...resubmissions(),
  ...[drainAgentRow, resumeAgentRow, removeAgentRow].map(
    (run): Run =>
      (db) =>
        run(db, { agentId: ID, reason: null, actor: ACTOR, fenceMarginMs: 0 }),
  ),
  ...(['cancel', 'now'] as const).map(
    (change): Run =>
      (db) =>
        changePendingRetries(db, change, { sessionIds: [ID], actor: ACTOR, message: 'asked' }),
  ),
  ...[readSchedulingHistory, readRevisionPages].flatMap((run) =>
    [false, true].map(
      (backward): Run =>
        (db) =>
          run(db, [ID], { after: '0', before: null, backward, limit: 1 }),
    ),
  ),
  ...[lockQuotas, readLimits].map(
    (run): Run =>
      (db) =>
        run(db, { projectIds: [], userIds: [] }, 'PENDING'),
  ),
  ...(['id', 'sessionId'] as const).map(
    (by): Run =>
      (db) =>
        readRoutes(db, by, [], null),
  ),
  ...(['logs', 'audit'] as const).map(
    (rows): Run =>
      (db) =>
        removeOldRows(db, rows, { ageSeconds: 1, count: 1 }, 1),
  ),
  ...(['DOMAIN', 'PROJECT'] as const).flatMap((scope): Run[] => [
    (db) => replaceRetryDefaults(db, scope, ID, null),
    (db) => findScopeId(db, scope, 'default', null),
  ]),
  ...Object.values(DEPLOYMENT_HANDLERS).map(
    (handler): Run =>
      (db) =>
        claimDeployments(db, handler, { after: ID, limit: 1 }),
  ),
  ...[prepareSessions, startSessions, terminateSessions].map(
    ({ claim }): Run =>
      (db) =>
        claim(db, { limit: 1, fenceMarginMs: 1 }),
  ),
  ...Object.values(ROUTE_HANDLERS).map(
    (handler): Run =>
      (db) =>
        claimRoutes(db, handler, { limit: 1, watchedMs: 1 }),
  ),
  ...[null, { generation: 0, files: 1, bytes: 1, newestAt: null }].map(
    (leftCheckpoint): Run =>
      (db) =>
        applyKernelChanges(
          db,
          { agentId: ID, instanceId: ID, sequence: 1 },
          { changes: [{ ...ENDED, leftCheckpoint }], stale: [] },
        ),
  ),
  isUnsettled,
  readWarningFacts,
]
