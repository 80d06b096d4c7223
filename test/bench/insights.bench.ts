import { FIGURE_GROUPINGS, type FigureGrouping, isOfFailures } from '../../src/domain/insight/figures.ts'
import { readRetryInsights, readUsageRows } from '../../src/services/insight/read-figures.ts'
import type { Viewer } from '../../src/services/service-context.ts'
import { createSessions } from '../../src/services/session/create-sessions.ts'
import type { Database } from '../../src/store/database.ts'
import type { PrismaClient } from '../../src/store/prisma.ts'
import { storeSums } from '../../src/store/sql/insight/roll-up.sql.ts'
import type { Measurement } from './bench.ts'
import { ALL_SERVICES } from '../support/servers/test-server.ts'
import { type BenchServer, openNoopServer, type ServiceName } from './bench-server.ts'
import type { BenchGround } from './ground.ts'
import { compareSides, type Side } from './quick/compare.ts'
import { countTo, percentile } from './waiting.ts'

const ROUNDS = 15
const PROJECTS = 10
const MONTH_MS = 30 * 86_400_000
/** Each answer has at most this long. */
const AT_MOST_MS = 100

/** What failures, retries and users came to in a month of so many attempts, by each property. */
export async function* insights(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const { db } = await ground.database()
  ground.progress(`${size} attempts`)
  const projectId = await addFigures(ground, db, size)
  const { rows } = await db.query<{ sums: number }>('SELECT count(*)::int AS sums FROM rolled_figures')
  const notes = { attempts: size, sums: rows[0]!.sums }
  // Without a filter, nothing is read through Prisma.
  const prisma = null as unknown as PrismaClient
  for (const [who, visible] of [
    ['all projects', null],
    ['one project', projectId],
  ] as const) {
    const context = { db, prisma, viewer: { projectId: visible } as Viewer }
    for (const groupBy of FIGURE_GROUPINGS) {
      const window = { from: new Date(Date.now() - MONTH_MS), to: new Date() }
      const input = { groupBy, window, ...(groupBy === 'LABEL' && { labelKey: 'team' }) }
      ground.progress(`by ${groupBy}, ${who}`)
      const of = (what: string, figure: number) =>
        ({ what: `${what} by ${groupBy}, ${who}`, figure, unit: 'ms', target: { atMost: AT_MOST_MS }, notes }) as const
      yield of('insights', await median(ground, async () => (await readRetryInsights(context, input))[0]?.retried()))
      if (!isOfFailures(groupBy)) yield of('usage', await median(ground, () => readUsageRows(context, input)))
    }
  }
}

async function median(ground: BenchGround, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    ground.signal.throwIfAborted()
    const begun = performance.now()
    await work()
    times.push(performance.now() - begun)
  }
  return percentile(times, 0.5)
}

/** What insight does beside decisions. */
const OF_INSIGHT: readonly ServiceName[] = ['group-failures', 'roll-up-figures', 'find-advice', 'weekly-summaries']
/** What a decision notes for it. */
const NOTES = [
  ['retry_decisions', 'retry_decisions_note_failures'],
  ['retry_decisions', 'retry_decisions_note_figures'],
  ['kernels', 'kernels_note_figures'],
]
const ROUNDS_OF_DECISIONS = 7
const CREATED_AT_ONCE = 500
const DECIDED = 'SELECT count(*) FROM retry_decisions'

/** Attempts that fail, from their creation to their decision, beside the same server without any insight. */
export async function* insightCost(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const [insightful, plain] = [await ground.database(), await ground.database()]
  for (const [table, trigger] of NOTES) await plain.db.query(`DROP TRIGGER ${trigger} ON ${table}`)
  // A vacuum of one side would run while the other is timed. Each side's is before it.
  await plain.db.query('ALTER SYSTEM SET autovacuum = off')
  await plain.db.query('SELECT pg_reload_conf()')
  const others = ALL_SERVICES.filter((name) => !OF_INSIGHT.includes(name))
  await using ours = await openNoopServer(ground, { db: insightful.db }, ...others, ...OF_INSIGHT)
  await using without = await openNoopServer(ground, { db: plain.db }, ...others)
  const decide =
    ({ context }: BenchServer) =>
    async (timed: Parameters<Side>[0]) => {
      await context.db.query('VACUUM ANALYZE')
      const { rows } = await context.db.query<{ count: number }>(DECIDED)
      await timed(async () => {
        for (let done = 0; done < size; done += CREATED_AT_ONCE) {
          const failing = { name: 'bench', command: ['noop', 'exit', '1'], retryPolicy: { maxRetries: 0 } }
          await createSessions(
            context,
            Array.from({ length: CREATED_AT_ONCE }, () => failing),
          )
        }
        await countTo(ground, context.db, 'decided', DECIDED, rows[0]!.count + size)
        return size
      })
    }
  const rounds = ROUNDS_OF_DECISIONS
  const compared = { what: 'failures decided, with insight', unit: 'attempts', rounds, by: 'time' } as const
  const measured = await compareSides(ground, { ...compared, ours: decide(ours), bare: decide(without) })
  yield { ...measured, ratioAtLeast: 0.95 }
}

const CHUNK = 50_000
/** Of properties: how many values they have; names, users and groups in each project. */
const VALUES: Partial<Record<FigureGrouping, number>> = {
  NAME: 200,
  USER: 40,
  AGENT: 300,
  IMAGE: 80,
  SESSION_GROUP: 200,
  FAILURE_GROUP: 100,
}

/** Writes the figures of attempts without their sessions, and sums them up. @returns one of the projects */
async function addFigures(ground: BenchGround, db: Database, size: number): Promise<string> {
  await db.query(
    `INSERT INTO projects (id, name, domain_id) SELECT gen_random_uuid(), 'bench-' || n, (SELECT id FROM domains LIMIT 1)
     FROM generate_series(1, $1::int) AS n`,
    [PROJECTS],
  )
  for (let from = 0; from < size; from += CHUNK) {
    ground.progress(`${from} attempts`)
    await db.transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica')
      await tx.query(ATTEMPTS_SQL, [from, Math.min(size, from + CHUNK), size])
      await tx.query(SUMS_SQL, [from])
    })
  }
  await db.query('VACUUM ANALYZE')
  return (await db.query<{ id: string }>(`SELECT id FROM projects WHERE name = 'bench-1'`)).rows[0]!.id
}

const idOf = (seed: string) => `md5(${seed})::uuid`
const oneOf = (grouping: FigureGrouping) => `(random() * random() * ${VALUES[grouping]})::int`

/** An eighth fails, of which two thirds are retried, half of these with success. Some values are frequent, most are rare. */
const ATTEMPTS_SQL = `
INSERT INTO attempt_figures (session_id, project_id, chain_id, attempt, batch, started_at, ended_at, name, user_id, resource_group,
  image, agent_id, group_id, labels, outcome, cause, exit_code, rule, failure_group_id, retry, retry_outcome, lost,
  saved_after_ms, waited_ms, cpus, memory_bytes, gpus, used_cpu_ms, peak_memory_bytes)
SELECT ${idOf('n::text')}, (ARRAY(SELECT id FROM projects WHERE name LIKE 'bench-%' ORDER BY id))[1 + n % ${PROJECTS}], ${idOf('n::text')}, 1, true,
  ended_at - ran, ended_at, 'name-' || n % ${PROJECTS} || '-' || ${oneOf('NAME')}, ${idOf(`'user' || (n % ${PROJECTS}) / 2 || ${oneOf('USER')}`)}, 'group-' || n % 6,
  'image:' || ${oneOf('IMAGE')}, ${idOf(`'agent' || (random() * ${VALUES.AGENT})::int`)},
  CASE WHEN n % 3 = 0 THEN ${idOf(`'group' || n % ${PROJECTS} || ${oneOf('SESSION_GROUP')}`)} END,
  jsonb_build_object('team', 'team-' || (random() * random() * 40)::int),
  CASE WHEN failed THEN 'FAILED' ELSE 'SUCCEEDED' END::attempt_outcome,
  CASE WHEN failed THEN (ARRAY['KERNEL_NONZERO_EXIT', 'OOM_KILLED', 'AGENT_TRANSIENT', 'IMAGE_PULL_FAILURE', 'UNKNOWN'])[1 + (random() * random() * 4)::int] END::failure_cause,
  CASE WHEN failed THEN (random() * random() * 255)::int END,
  CASE WHEN failed AND n % 2 = 0 THEN '{"action": "RETRY", "match": {"exitCodes": [' || n % 40 || ']}}' END,
  CASE WHEN failed THEN ${idOf(`'failures' || n % ${PROJECTS} || ${oneOf('FAILURE_GROUP')}`)} END, (random() * random() * random() * 5)::int2,
  retried, failed AND retried IS NULL AND n % 2 = 0, CASE WHEN retried = 'SUCCEEDED' THEN (exp(random() * 8) * 10000)::bigint END,
  (random() * 60000)::bigint, 1 + n % 8, (1 + n % 16) * 1073741824.0, CASE WHEN n % 20 = 0 THEN 1 ELSE 0 END,
  (extract(epoch FROM ran) * 800)::bigint, 104857600
FROM generate_series($1::int, $2::int - 1) AS n
CROSS JOIN LATERAL (SELECT random() < 0.125 AS failed, random() AS luck, exp(random() * 9) * interval '1 s' AS ran,
  date_trunc('second', now() - interval '30 days' * (1 - n::float8 / $3)) AS ended_at, n AS again) AS it
CROSS JOIN LATERAL (SELECT CASE WHEN failed AND luck < 0.67
  THEN CASE WHEN luck < 0.33 THEN 'SUCCEEDED' ELSE 'FAILED' END END::attempt_outcome AS retried) AS how`

const SUMS_SQL = `
WITH ${storeSums(`SELECT a.*, 1 AS sign, true AS over FROM attempt_figures a WHERE a.session_id = ANY(ARRAY(
  SELECT ${idOf('n::text')} FROM generate_series($1::int, $1 + ${CHUNK} - 1) AS n))`)}) SELECT`
