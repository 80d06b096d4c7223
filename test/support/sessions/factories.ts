import { randomUUID } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { type RetryPolicy, SHIPPED_POLICY } from '../../../src/domain/retry/policy/policy.ts'
import type { FailureCause, RetryPhase } from '../../../src/domain/session/failure.ts'
import { isTerminal, type SessionStatus, type SessionType } from '../../../src/domain/session/lifecycle.ts'
import { hashToken, newToken, tokenPrefix } from '../../../src/services/access/tokens.ts'
import type { Database, Queryable } from '../../../src/store/database.ts'
import { insertToken, type NewToken } from '../../../src/store/sql/access/tokens.sql.ts'
import { createDeploymentFactories } from './deployment-factories.ts'
import { insertRows } from '../database/insert-rows.ts'

/** Rows inserted by the migrations. */
export const DEFAULT_DOMAIN_ID = '00000000-0000-7000-8000-000000000001'
export const DEFAULT_PROJECT_ID = '00000000-0000-7000-8000-000000000002'

export interface SessionSpec {
  /** A new one if missing. */
  id?: string
  status?: SessionStatus
  projectId?: string
  name?: string
  sessionType?: SessionType
  priority?: number
  labels?: Record<string, string>
  clusterSize?: number
  retryPolicy?: Partial<RetryPolicy>
  failureCause?: FailureCause | null
  createdAt?: Date
  /** The previous attempt, from which the other columns of the chain follow. */
  parent?: SessionRow
  /** The phase of the decision on a finished batch session. */
  phase?: RetryPhase | null
}

export interface SessionRow {
  id: string
  projectId: string
  chainId: string
  attempt: number
  retryCount: number
  kernelIds: string[]
}

/** Creates rows that are consistent with the given status: times, agent, assignment, slots, exit code, decision. */
export function createFactories(db: Database) {
  let agentId: Promise<string> | undefined

  async function project(name = `project-${randomUUID().slice(0, 8)}`): Promise<string> {
    const id = uuidv7()
    await insertRows(db, 'projects', [{ id, domain_id: DEFAULT_DOMAIN_ID, name }])
    return id
  }

  async function token(spec: {
    role: NewToken['role']
    projectId?: string | null
    name?: string
    /** Null for all. */
    resourceGroups?: string[] | null
  }): Promise<string> {
    const text = newToken()
    const { role, projectId = null, name = `${role}-token`, resourceGroups = null } = spec
    const hash = hashToken(text)
    await insertToken(db, { id: uuidv7(), name, hash, prefix: tokenPrefix(text), role, projectId, resourceGroups })
    return text
  }

  async function agent(name = `agent-${randomUUID().slice(0, 8)}`): Promise<string> {
    const id = uuidv7()
    await insertRows(db, 'agents', [
      { id, name, resource_group: 'default', address: 'test', version: '0', status: 'ALIVE', instance_id: uuidv7() },
    ])
    await insertRows(
      db,
      'agent_slots',
      [
        { slot: 'cpu', amount: 1_000 },
        { slot: 'mem', amount: 2 ** 40 },
      ].map(({ slot, amount }) => ({
        agent_id: id,
        slot,
        declared: amount,
        capacity: amount,
      })),
    )
    return id
  }

  async function session(spec: SessionSpec = {}): Promise<SessionRow> {
    const built = buildSession(spec, isPlaced(spec.status) ? await (agentId ??= agent('factory-agent')) : null)
    await db.transaction(async (tx) => insertSession(tx, built))
    return built.row
  }

  /** Oldest first: all attempts but the last failed and were retried. */
  async function chain(length: number, last: SessionSpec = {}): Promise<SessionRow[]> {
    const rows: SessionRow[] = []
    for (let attempt = 1; attempt <= length; attempt++) {
      const spec: SessionSpec =
        attempt < length ? { ...last, status: 'ERROR', failureCause: 'KERNEL_NONZERO_EXIT', phase: null } : last
      const policy = { maxRetries: Math.max(1, length), ...last.retryPolicy }
      rows.push(await session({ ...spec, retryPolicy: policy, parent: rows.at(-1) }))
    }
    return rows
  }

  async function log(kernelId: string, text: string, stream: 'STDOUT' | 'STDERR' = 'STDOUT'): Promise<void> {
    await db.query(
      `INSERT INTO kernel_logs (kernel_id, stream, "offset", bytes, text, at)
       SELECT $1, $3, coalesce(max("offset" + bytes), 0), octet_length($2), $2, reprise_now()
       FROM kernel_logs WHERE kernel_id = $1 AND stream = $3`,
      [kernelId, text, stream],
    )
  }

  return { project, token, agent, session, chain, log, ...createDeploymentFactories(db, session) }
}

function isPlaced(status: SessionStatus = 'PENDING'): boolean {
  return status !== 'PENDING' && status !== 'CANCELLED'
}

interface Built {
  row: SessionRow
  session: Record<string, unknown>
  kernels: Record<string, unknown>[]
  decision: Record<string, unknown> | null
  parentId: string | null
}

function buildSession(spec: SessionSpec, agentId: string | null): Built {
  const { id = uuidv7(), status = 'PENDING', parent, clusterSize = 1, sessionType = 'BATCH' } = spec
  const failed = status === 'ERROR' || status === 'CANCELLED'
  const over = isTerminal(status)
  const ran = status === 'TERMINATED' || status === 'ERROR' || status === 'TERMINATING' || status === 'RUNNING'
  const createdAt = spec.createdAt ?? new Date()
  const later = (ms: number) => new Date(createdAt.getTime() + ms)
  const policy = { ...SHIPPED_POLICY, ...spec.retryPolicy }
  const cause = failed
    ? (spec.failureCause ?? (status === 'ERROR' ? 'KERNEL_NONZERO_EXIT' : 'SCHEDULER_TIMEOUT'))
    : null
  const projectId = parent?.projectId ?? spec.projectId ?? DEFAULT_PROJECT_ID
  const row: SessionRow = {
    id,
    projectId,
    chainId: parent?.chainId ?? id,
    attempt: (parent?.attempt ?? 0) + 1,
    retryCount: parent ? parent.retryCount + 1 : 0,
    kernelIds: Array.from({ length: clusterSize }, () => uuidv7()),
  }
  const phase = spec.phase === undefined ? defaultPhase(status, row, policy) : spec.phase
  const waits = phase === 'SCHEDULED' || phase === 'HELD'
  return {
    row,
    parentId: parent?.id ?? null,
    session: {
      id,
      project_id: projectId,
      resource_group: 'default',
      creation_id: `creation-${id}`,
      name: spec.name ?? 'a session',
      session_type: sessionType,
      command: ['true'],
      environ: [{ name: 'GREETING', value: 'hello' }],
      resource_slots: { cpu: '1', mem: '1048576' },
      cluster_mode: 'SINGLE_NODE',
      cluster_size: clusterSize,
      priority: spec.priority ?? 10,
      labels: spec.labels ?? {},
      status,
      result: failed ? 'FAILURE' : status === 'TERMINATED' ? 'SUCCESS' : 'UNDEFINED',
      status_reason: failed ? 'exit code 3' : null,
      status_data: failed ? { error: { name: 'kernel-exited', message: 'exit code 3', exitCode: 3 } } : null,
      exit_code: status === 'ERROR' ? 3 : status === 'TERMINATED' ? 0 : null,
      failure_cause: cause,
      parent_session_id: parent?.id ?? null,
      chain_id: row.chainId,
      attempt: row.attempt,
      origin: parent ? 'AUTO_RETRY' : 'INITIAL',
      retry_count: row.retryCount,
      max_retries: policy.maxRetries,
      retry_policy: policy,
      retry_cause: parent ? 'KERNEL_NONZERO_EXIT' : null,
      retry_decided: sessionType !== 'BATCH' || (over && phase !== null),
      created_at: createdAt,
      status_changed_at: later(over ? 3_000 : 1_000),
      started_at: ran ? later(2_000) : null,
      terminated_at: over ? later(3_000) : null,
    },
    kernels: row.kernelIds.map((kernelId, index) => ({
      id: kernelId,
      session_id: id,
      role: index === 0 ? 'main' : 'sub',
      index: index === 0 ? 1 : index,
      agent_id: agentId,
      assignment: agentId ? 1 : 0,
      status,
      exit_code: status === 'ERROR' ? 3 : status === 'TERMINATED' ? 0 : null,
      resource_slots: { cpu: '1', mem: '1048576' },
      slots_held: agentId !== null && !over,
      confirmed_gone: agentId === null || over,
      started_at: ran ? later(2_000) : null,
      terminated_at: over ? later(3_000) : null,
    })),
    decision:
      phase === null || phase === 'DISPATCHED' || !over || sessionType !== 'BATCH'
        ? null
        : {
            session_id: id,
            project_id: projectId,
            chain_id: row.chainId,
            phase,
            cause,
            explanation: `as made for a test: ${phase}`,
            base_delay_ms: waits ? 60_000 : null,
            jitter_ms: waits ? 1_000 : null,
            delay_ms: waits ? 61_000 : null,
            due_at: waits ? later(64_000) : null,
            ready_at: waits ? later(64_000) : null,
            hold_reason: phase === 'HELD' ? 'QUOTA' : null,
            details: { growth: null, avoid: { agents: [], groups: [] } },
            decided_at: later(3_000),
          },
  }
}

function defaultPhase(status: SessionStatus, row: SessionRow, policy: RetryPolicy): RetryPhase | null {
  if (status === 'TERMINATED') return 'SUCCEEDED'
  if (!isTerminal(status)) return null
  if (policy.maxRetries === 0) return 'NONE'
  return row.retryCount < policy.maxRetries ? 'SCHEDULED' : 'EXHAUSTED'
}

async function insertSession(tx: Queryable, { row, session, kernels, decision, parentId }: Built): Promise<void> {
  await insertRows(tx, 'sessions', [session])
  await insertRows(tx, 'kernels', kernels)
  const held = kernels.filter((kernel) => kernel['slots_held'])
  if (held.length > 0) {
    await tx.query(
      `UPDATE agent_slots SET used = used + CASE slot WHEN 'cpu' THEN 1 ELSE 1048576 END * $2::int WHERE agent_id = $1`,
      [held[0]!['agent_id'], held.length],
    )
  }
  if (decision) await insertRows(tx, 'retry_decisions', [decision])
  if (parentId === null) return
  // The parent's retry has become this session.
  await tx.query(
    `INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, cause, explanation, delay_ms, due_at,
       child_session_id, dispatched_at)
     VALUES ($1, $2, $3, 'DISPATCHED', 'KERNEL_NONZERO_EXIT', 'retry', 1000, reprise_now(), $4, reprise_now())
     ON CONFLICT (session_id) DO UPDATE SET phase = 'DISPATCHED', child_session_id = EXCLUDED.child_session_id,
       hold_reason = NULL, dispatched_at = reprise_now()`,
    [parentId, row.projectId, row.chainId, row.id],
  )
  await tx.query('UPDATE sessions SET retry_decided = true WHERE id = $1', [parentId])
}
