import { fakeAgent, type FakeAgent } from '../agents/fake-agent.ts'
import { kernelRows } from '../database/session-rows.ts'
import { testServer, type ServiceName, type TestServer } from '../servers/test-server.ts'
import type { Database } from '../../../src/store/database.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import type { StoppedClock } from './stopped-clock.ts'

/** All services but those that check whether agents and servers are alive: they are, whatever the clock shows. */
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

export interface Ending {
  exitCode: number
  oomKilled?: boolean
}

/** Sessions that the real services move, at times that a test sets, on a fake agent. */
export interface FakeWork {
  readonly server: TestServer
  create(input: Partial<CreateSessionInput>): Promise<string>
  /** Lets the newest attempt wait, be prepared, start, and write this log. */
  start(chainId: string, seconds: { queued: number; preparing: number }, log?: string): Promise<void>
  /** Ends the newest attempt after this time. */
  end(chainId: string, afterSeconds: number, ending: Ending): Promise<void>
  /** Runs all due work. */
  settle(): Promise<void>
}

export async function runFakeWork(db: Database, clock: StoppedClock, name: string): Promise<FakeWork> {
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

/** Obeys the orders; starts happen at the present time of the clock. */
async function comply(agent: FakeAgent, clock: StoppedClock): Promise<void> {
  const ran = new Set([...agent.kernels].flatMap(([id, { status }]) => (status === 'RUNNING' ? [id] : [])))
  agent.obey(await agent.sync())
  for (const [id, { status }] of agent.kernels) {
    if (status === 'RUNNING' && !ran.has(id)) agent.observe(id, { startedAt: clock.now.toISOString() })
  }
  await agent.sync()
}
