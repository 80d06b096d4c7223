import { randomUUID } from 'node:crypto'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { createPrisma } from '../../../src/store/prisma.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { stoppedClock, type StoppedClock } from './stopped-clock.ts'
import { fakeAgent, type FakeAgent } from '../agents/fake-agent.ts'
import { insertRows } from '../database/insert-rows.ts'
import { kernelRows } from '../database/session-rows.ts'
import { type ServiceName, testServer, type TestServer } from '../servers/test-server.ts'

/** The moment at which the pictures are taken. */
export const SCREENSHOT_TIME = new Date('2026-03-17T14:29:50Z')
const BEGUN_AT = new Date('2026-03-17T12:04:10Z')

export interface ScreenshotWork {
  /** Ids of chains by name. */
  readonly chains: ReadonlyMap<string, string>
  close(): Promise<void>
}

interface Attempt {
  queued?: number
  preparing?: number
  ran: number
  exitCode: number
  oomKilled?: boolean
  log?: string
}

const PATIENT = { maxRetries: 6, retryDelay: 30, backoff: 'EXPONENTIAL', jitter: 'NONE' } as const

/** An afternoon of a research group, moved by the real services, at times that are always the same. */
export async function createScreenshotWork(connectionString: string): Promise<ScreenshotWork> {
  const connect = { connectionString, connectionsMax: 4, onError: () => {} }
  const db = openDatabase(connect)
  const prisma = createPrisma(connect)
  const clock = stoppedClock(db, BEGUN_AT)
  await clock.set(BEGUN_AT)
  const work = await runFakeWork(db, clock, 'node-7')
  const chains = new Map<string, string>()

  async function create(name: string, input: Partial<CreateSessionInput>): Promise<string> {
    const chainId = await work.create({ name, command: ['python3', `${name.split('-')[0]}.py`], ...input })
    chains.set(name, chainId)
    return chainId
  }

  await playFinished(work, clock, create)
  const reco = await create('reco-skim-17', {
    command: ['python3', 'reco.py', '--skim', '17'],
    labels: labels({ team: 'cms', stage: 'reco' }),
    resourceSlots: slots({ cpu: '2', mem: '4g' }),
    retryPolicy: PATIENT,
  })
  for (const ran of [41, 38, 44]) {
    await attempt(work, clock, reco, { ran, exitCode: 137, oomKilled: true, log: recoLog(3, false) })
  }
  await clock.set(new Date('2026-03-17T14:24:30Z'))
  const { rows } = await db.query<{ id: string }>(
    'SELECT id FROM sessions WHERE chain_id = $1 ORDER BY attempt DESC LIMIT 1',
    [reco],
  )
  await resubmitSessions(
    { ...work.server.context, prisma, sync: NO_SYNC_POINTS },
    {
      sessionIds: [rows[0]!.id],
      clientKey: randomUUID(),
      overrides: { resourceSlots: slots({ cpu: '2', mem: '8g' }) },
    },
  )
  await attempt(work, clock, reco, { ran: 61, exitCode: 3, log: recoLog(7, true) })
  await attempt(work, clock, reco, { ran: 74, exitCode: 3, log: recoLog(8, true) })
  await playPresent(work, clock, create)
  await attempt(work, clock, reco, { ran: 66, exitCode: 3, log: recoLog(9, true) }, SCREENSHOT_TIME)
  await clock.set(SCREENSHOT_TIME)
  await addMonth(db)
  return {
    chains,
    async close() {
      clock.start()
      await prisma.$disconnect()
      await db.close()
    },
  }
}

type Create = (name: string, input: Partial<CreateSessionInput>) => Promise<string>

/** Chains that have ended by then. */
async function playFinished(work: FakeWork, clock: StoppedClock, create: Create): Promise<void> {
  const report = await create('nightly-report', { labels: labels({ team: 'ops' }) })
  await attempt(work, clock, report, { ran: 96, exitCode: 0 })
  const backfill = await create('backfill-nlp-7', { labels: labels({ team: 'nlp' }), retryPolicy: PATIENT })
  await attempt(work, clock, backfill, { ran: 240, exitCode: 75 })
  await attempt(work, clock, backfill, { ran: 610, exitCode: 0 })
  const etl = await create('etl-ads-51', { labels: labels({ team: 'ads', stage: 'load' }), retryPolicy: PATIENT })
  for (const ran of [64, 59, 71, 66, 62, 70, 68]) {
    await attempt(work, clock, etl, { ran, exitCode: 1, log: 'connecting to warehouse-3\nconnection refused\n' })
  }
  const long = `calibrate-detector-geometry-${'of-every-layer-'.repeat(8)}against-survey`
  const calibration = await create(long, {
    labels: labels({ team: 'cms' }),
    retryPolicy: { ...PATIENT, maxRetries: 1 },
  })
  await attempt(work, clock, calibration, { ran: 22, exitCode: 139 })
  await attempt(work, clock, calibration, { ran: 19, exitCode: 139 })
}

/** Chains that go on: two that are held, one that runs, one that waits for what no agent has. */
async function playPresent(work: FakeWork, clock: StoppedClock, create: Create): Promise<void> {
  const { db, context } = work.server
  await db.query(`INSERT INTO projects (id, domain_id, name) SELECT gen_random_uuid(), id, 'risk' FROM domains LIMIT 1`)
  const held = [
    await create('merge-risk-9', { project: 'risk', retryPolicy: PATIENT }),
    await create('price-risk-2', { project: 'risk', retryPolicy: { ...PATIENT, retryDelay: 10 } }),
  ]
  await setRetrySwitch(context, { scope: 'PROJECT', name: 'risk', disabled: true, reason: 'the price feed is down' })
  for (const chainId of held) await attempt(work, clock, chainId, { ran: 12, exitCode: 4 })
  const merge = await create('merge-nlp-2', {
    labels: labels({ team: 'nlp' }),
    retryPolicy: { ...PATIENT, retryDelay: 600 },
  })
  await attempt(work, clock, merge, { ran: 31, exitCode: 137, oomKilled: true })
  const train = await create('train-vision-812', {
    labels: labels({ team: 'vision' }),
    resourceSlots: slots({ cpu: '8', mem: '16g' }),
  })
  await work.start(train, { queued: 1, preparing: 3 }, 'epoch 1: loss 0.412\n')
  await create('render-survey-3', { labels: labels({ team: 'vision' }), resourceSlots: slots({ cpu: '64' }) })
  await work.settle()
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/**
 * Of each cause: failures a day, the hours that each ran, the share of retries that succeed, and the class of the time to
 * success.
 */
const CAUSES = {
  KERNEL_NONZERO_EXIT: { failed: 22, hours: 0.6, mended: 0.24, bucket: 46 },
  OOM_KILLED: { failed: 9, hours: 1.7, mended: 0.55, bucket: 52 },
  AGENT_TRANSIENT: { failed: 4, hours: 2.4, mended: 0.83, bucket: 54 },
  IMAGE_PULL_FAILURE: { failed: 3, hours: 0, mended: 0.92, bucket: 33 },
} as const
const CPUS = 4
/** Of a failure, how many first retries there are, how many second ones, and so on. */
const RETRIES = [0.42, 0.22, 0.11, 0.06]

/** The figures of a month of work that has been deleted: quiet weekends, and one day on which agents were lost. */
async function addMonth(db: Database): Promise<void> {
  const { rows } = await db.query<{ id: string }>(`SELECT id FROM projects WHERE name = 'default'`)
  const projectId = rows[0]!.id
  const today = Math.floor(SCREENSHOT_TIME.getTime() / DAY_MS) * DAY_MS
  for (let ago = 0; ago < 30; ago++) {
    const day = new Date(today - ago * DAY_MS)
    const place = { project_id: projectId, label: '', at: day }
    const causes = Object.entries(CAUSES).map(([key, cause]) => ({ key, ...figuresOf(cause, key, ago, day) }))
    const figures = causes.map(({ key, sums }) => ({ ...place, grouping: 'CAUSE', key, ...sums }))
    const all = causes.map(({ sums }) => sums).reduce(added)
    const [attempts, useful] = [all['failed']! * 7, all['failed']! * 6 * 0.9 * HOUR_MS]
    const whole = { ...all, attempts, useful_ms: useful, spent_ms: useful + all['lost_ms']! }
    await insertRows(db, 'rolled_figures', [...figures, { ...place, grouping: 'PROJECT', key: projectId, ...whole }])
    const retries = causes.flatMap(({ key, byRetry }) =>
      byRetry.map((each) => ({ ...place, grouping: 'CAUSE', key, ...each })),
    )
    const counts = RETRIES.map((_, retry) => ({
      ...place,
      grouping: 'PROJECT',
      key: projectId,
      retry,
      bucket: -1,
      ...causes.map(({ byRetry }) => countsOf(byRetry[retry]!)).reduce(added),
    }))
    await insertRows(db, 'rolled_retries', [...retries, ...counts])
  }
}

type Sums = Record<string, number>
const added = (a: Sums, b: Sums): Sums =>
  Object.fromEntries(Object.entries(a).map(([name, sum]) => [name, sum + b[name]!]))
const countsOf = ({
  retries,
  saved,
  retries_failed,
}: {
  retries: number
  saved: number
  retries_failed: number
}): Sums => ({
  retries,
  saved,
  retries_failed,
})

function figuresOf(cause: (typeof CAUSES)[keyof typeof CAUSES], key: string, ago: number, day: Date) {
  const isQuiet = day.getUTCDay() % 6 === 0
  const outage = key === 'AGENT_TRANSIENT' && ago === 11 ? 9 : 1
  // Rounded so that the sums of many days come out right.
  const whole = (amount: number, nth: number) => Math.floor(amount + ((ago * 0.618 + nth * 0.37) % 1))
  const failed = whole(cause.failed * outage * (isQuiet ? 0.3 : 1) * (1 + 0.4 * Math.sin(ago * cause.failed)), 0)
  const byRetry = RETRIES.map((share, retry) => {
    const retries = whole(failed * share, retry)
    const saved = Math.min(retries, whole(retries * cause.mended * (1 - retry * 0.15), retry + 1))
    return { retry, bucket: -1, retries, saved, retries_failed: retries - saved }
  })
  const all = byRetry.map(countsOf).reduce(added)
  const lost = failed * cause.hours * HOUR_MS
  const spent = { sessions: 0, running_ms: 0, cpu_ms: 0, memory_mib_ms: 0, gpu_ms: 0, used_cpu_ms: 0 }
  const times = {
    waited_ms: failed * 0.25 * HOUR_MS,
    useful_ms: 0,
    spent_ms: lost,
    lost_ms: lost,
    lost_cpu_ms: lost * CPUS,
  }
  return {
    sums: {
      ...spent,
      ...all,
      attempts: failed,
      failed,
      lost: whole(all['retries_failed']! * 0.3, 1),
      ...times,
      lost_memory_mib_ms: 0,
      lost_gpu_ms: 0,
    } as Sums,
    byRetry: [...byRetry, { retry: -1, bucket: cause.bucket, retries: 0, saved: all['saved']!, retries_failed: 0 }],
  }
}

/** Plays the newest attempt of a chain from its due time to its end, or to `endsAt`. */
async function attempt(
  work: FakeWork,
  clock: StoppedClock,
  chainId: string,
  { queued = 0.4, preparing = 2.5, ran, log, ...ending }: Attempt,
  endsAt?: Date,
): Promise<void> {
  const { rows } = await work.server.db.query<{ due: Date | null }>(
    `SELECT max(due_at) FILTER (WHERE phase = 'SCHEDULED') AS due FROM retry_decisions WHERE chain_id = $1`,
    [chainId],
  )
  const due = rows[0]!.due
  if (due !== null && due > clock.now) await clock.set(due)
  await work.server.run('dispatch-retries')
  await work.start(chainId, { queued, preparing }, log)
  await work.end(chainId, endsAt ? (endsAt.getTime() - clock.now.getTime()) / 1000 - 9 : ran, ending)
}

const labels = (byKey: Record<string, string>) => Object.entries(byKey).map(([key, value]) => ({ key, value }))
const slots = (amounts: Record<string, string>) => Object.entries(amounts).map(([slot, amount]) => ({ slot, amount }))

function recoLog(steps: number, fails: boolean): string {
  const lines = Array.from({ length: steps * 3 }, (_, at) => {
    const step = Math.floor(at / 3) + 1
    return [
      `\u001B[36mstep ${step} of 9\u001B[0m: reading block ${170 + step}`,
      `  tracks ${4_012 + 137 * at}, hits per track ${(11.2 + (at % 7) / 10).toFixed(1)}`,
      `  loss ${(0.412 - at * 0.011).toFixed(3)}`,
    ][at % 3]
  })
  const end = fails
    ? [
        'Traceback (most recent call last):',
        '  File "reco.py", line 71, in main',
        '\u001B[31mValueError: track 17 has no hits\u001B[0m',
      ]
    : []
  return `${[...lines, ...end].join('\n')}\n`
}

/** The services that move sessions. Those that watch agents and servers are left out: the stopped clock would mislead them. */
const SERVICES: readonly ServiceName[] = [
  'schedule-sessions',
  'prepare-sessions',
  'promote-to-pulling',
  'promote-to-prepared',
  'start-sessions',
  'promote-to-running',
  'detect-termination',
  'terminate-sessions',
  'promote-to-terminated',
  'decide-retries',
  'dispatch-retries',
  'resubmit-sessions',
]

interface Ending {
  exitCode: number
  oomKilled?: boolean
}

/** Sessions that the real services move, by a clock that a test sets, on an agent whose reports it makes. */
interface FakeWork {
  readonly server: TestServer
  create(input: Partial<CreateSessionInput>): Promise<string>
  /** The newest attempt of the chain waits, is prepared, writes the log, and then runs. */
  start(chainId: string, seconds: { queued: number; preparing: number }, log?: string): Promise<void>
  /** The newest attempt of the chain ends after this time. */
  end(chainId: string, afterSeconds: number, ending: Ending): Promise<void>
  /** Starts what is due. */
  settle(): Promise<void>
}

async function runFakeWork(db: Database, clock: StoppedClock, name: string): Promise<FakeWork> {
  const server = testServer(db)
  const agent = fakeAgent(server.gateway, { slots: { cpu: '32', mem: String(128 * 2 ** 30) } })
  await agent.register()
  await db.query('UPDATE agents SET name = $1', [name])

  async function settle(): Promise<void> {
    for (let round = 0; round < 4; round++) {
      await server.run(...SERVICES)
      await comply(agent, clock)
    }
  }

  async function newest(chainId: string): Promise<{ sessionId: string; kernelId: string }> {
    const { rows } = await db.query<{ id: string }>(
      'SELECT id FROM sessions WHERE chain_id = $1 ORDER BY attempt DESC LIMIT 1',
      [chainId],
    )
    const sessionId = rows[0]!.id
    const [kernel] = await kernelRows(db, sessionId)
    return { sessionId, kernelId: kernel!.id }
  }

  return {
    server,
    settle,
    create: (input) => server.create(input),
    async start(chainId, { queued, preparing }, log) {
      await clock.pass(queued)
      await server.run('schedule-sessions', 'prepare-sessions')
      await clock.pass(preparing)
      await settle()
      if (log === undefined) return
      const { kernelId } = await newest(chainId)
      await db.query(
        `INSERT INTO kernel_logs (kernel_id, stream, "offset", bytes, text, at)
         VALUES ($1, 'STDOUT', 0, octet_length($2), $2, reprise_now())`,
        [kernelId, log],
      )
    },
    async end(chainId, afterSeconds, ending) {
      await clock.pass(afterSeconds)
      const { kernelId } = await newest(chainId)
      agent.observe(kernelId, { status: 'EXITED', ...ending })
      await agent.sync()
      await settle()
    },
  }
}

/** Obeys the server; kernels start at the current time of the clock. */
async function comply(agent: FakeAgent, clock: StoppedClock): Promise<void> {
  const ran = new Set([...agent.kernels].flatMap(([id, { status }]) => (status === 'RUNNING' ? [id] : [])))
  agent.obey(await agent.sync())
  for (const [id, { status }] of agent.kernels) {
    if (status === 'RUNNING' && !ran.has(id)) agent.observe(id, { startedAt: clock.now.toISOString() })
  }
  await agent.sync()
}
