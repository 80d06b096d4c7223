import { monitorEventLoopDelay } from 'node:perf_hooks'
import { RETRY_POLICY_PRESETS } from '../../src/domain/retry/policy/resolve-policy.ts'
import { SHIPPED_POLICY } from '../../src/domain/retry/policy/policy.ts'
import { type BacktestInput, type BacktestReport, backtestRetryPolicy } from '../../src/services/insight/backtest.ts'
import type { Viewer } from '../../src/services/service-context.ts'
import type { ReadContext } from '../../src/services/session/read-sessions.ts'
import { createPrisma, databaseOf } from '../../src/store/prisma.ts'
import type { Database } from '../../src/store/database.ts'
import type { Measurement } from './bench.ts'
import { openServer } from './bench-server.ts'
import type { BenchGround } from './ground.ts'
import { grow } from './grow.ts'

const ATTEMPTS = 3
const SECONDS_MAX = 30
/** The month that is made, and a day. */
const SPAN_MS = 32 * 86_400_000
/** A request beside a backtest waits no longer for the event loop, even where other programs need the cores, too. */
const BLOCKED_MS_MAX = 200

/** A month of finished chains under other policies, by the connections of the API. */
export async function* backtests(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const { db, connectionString } = await ground.database()
  ground.progress(`${size} chains of ${ATTEMPTS} attempts`)
  await grow(db, { sessions: size * ATTEMPTS, chainAttempts: ATTEMPTS, agents: 2, pendingRetries: 0 })
  await makeFailuresReal(db)
  const prisma = createPrisma({ connectionString, connectionsMax: 4, onError: () => {} })
  try {
    const { context } = openServer(ground, db)
    const viewer = { ...context.viewer, role: 'ADMIN', projectId: null } as Viewer
    const reading: ReadContext = { ...context, viewer, db: databaseOf(prisma), prisma }
    const from = new Date(Date.now() - SPAN_MS)
    for (const [what, input] of TRIED) {
      ground.progress(what)
      const { seconds, blockedMs, report } = await timed(() =>
        backtestRetryPolicy(reading, { ...input, window: { from } }),
      )
      const notes = { ...figuresOf(report), 'longest block of the event loop (ms)': Math.round(blockedMs) }
      if (report.backtest.recorded.chains !== size) throw new Error(`${report.backtest.recorded.chains} chains`)
      yield { what, figure: seconds, unit: 's', target: { atMost: SECONDS_MAX }, notes }
      yield { what: `${what}: block`, figure: blockedMs, unit: 'ms', target: { atMost: BLOCKED_MS_MAX } }
    }
  } finally {
    await prisma.$disconnect()
  }
}

const TRIED: readonly [string, BacktestInput][] = [
  ['a smaller budget', { policy: { maxRetries: 1 } }],
  [
    'a preset of 13 rules, beside Airflow',
    { policy: { preset: RETRY_POLICY_PRESETS[0] }, airflow: { retries: 5, retryExponentialBackoff: true } },
  ],
  [
    'a rule before their own, random jitter',
    {
      base: 'OWN_POLICY',
      policy: { jitter: 'FULL', rules: [{ match: { exitCodes: [3], reason: 'kernel*' }, action: 'FAIL' }] },
    },
  ],
]

function figuresOf({ backtest: { same, earlier, longer, unknown } }: BacktestReport): Record<string, number> {
  const unknowns = unknown.reduce((sum, { chains }) => sum + chains, 0)
  return { same: same.chains, earlier: earlier.chains, longer: longer.chains, unknown: unknowns }
}

async function timed(work: () => Promise<BacktestReport>) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const begun = performance.now()
  const report = await work()
  const seconds = (performance.now() - begun) / 1_000
  delay.disable()
  return { report, seconds, blockedMs: delay.max / 1e6 }
}

/** Six exit codes, a lost agent now and then, and policies as sessions store them. */
async function makeFailuresReal(db: Database): Promise<void> {
  await db.query(
    `UPDATE sessions SET exit_code = code, status_reason = 'kernel main1 exited with ' || code,
       retry_policy = $1::jsonb || jsonb_build_object('maxRetries', 2 + code),
       epoch_started_at = (SELECT created_at FROM sessions f WHERE f.id = sessions.chain_id),
       status_data = CASE WHEN code = 5 THEN '{"error": {"name": "agent-lost", "message": "agent lost"}}'
         ELSE jsonb_build_object('error', jsonb_build_object('name', 'kernel-exited', 'message', 'exited', 'exitCode', code)) END
     FROM (SELECT id AS own, abs(hashtext(chain_id::text)) % 6 AS code FROM sessions) AS made
     WHERE made.own = sessions.id AND result = 'FAILURE'`,
    [JSON.stringify(SHIPPED_POLICY)],
  )
  await db.query('VACUUM ANALYZE sessions')
}
