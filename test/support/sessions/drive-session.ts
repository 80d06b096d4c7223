import type { SessionStatus } from '../../../src/domain/session/lifecycle.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import type { FakeAgent } from '../agents/fake-agent.ts'
import { kernelRows } from '../database/session-rows.ts'
import type { TestServer } from '../servers/test-server.ts'

/** The statuses in which a session waits for something else than the scheduler. */
export type Driven = Extract<SessionStatus, 'PENDING' | 'PREPARING' | 'PREPARED' | 'CREATING' | 'RUNNING'>

const STEPS: readonly [Driven, (server: TestServer, agent: FakeAgent) => Promise<unknown>][] = [
  ['PENDING', async () => {}],
  ['PREPARING', (server) => server.run('schedule-sessions', 'prepare-sessions')],
  ['CREATING', async (server, agent) => [await agent.comply(), await server.run('promote-to-prepared')]],
  ['RUNNING', async (server, agent) => [await agent.comply(), await server.run('promote-to-running')]],
]

/**
 * Drives all sessions until those that nothing holds up have this status. They are PREPARED, and not started, if their
 * agent is lost by then; it is back at once.
 */
export async function driveAll(server: TestServer, agent: FakeAgent, status: Driven): Promise<void> {
  for (const [reached, step] of STEPS) {
    if (reached === 'CREATING' && status === 'PREPARED') return prepareOnly(server, agent)
    await step(server, agent)
    if (reached === status) return
  }
}

async function prepareOnly({ db, run }: TestServer, agent: FakeAgent): Promise<void> {
  await agent.comply()
  await db.query(`UPDATE agents SET status = 'LOST' WHERE id = $1`, [agent.id])
  await run('promote-to-prepared')
  await db.query(`UPDATE agents SET status = 'ALIVE' WHERE id = $1`, [agent.id])
}

/** Creates a session and drives it to this status with the given agent. */
export async function sessionIn(
  server: TestServer,
  agent: FakeAgent,
  status: Driven,
  input: Partial<CreateSessionInput> = {},
): Promise<string> {
  const id = await server.create(input)
  await driveAll(server, agent, status)
  return id
}

/** Drives a session from RUNNING to its decision, failed with this exit code. */
export async function failWith(server: TestServer, agent: FakeAgent, exitCode: number): Promise<void> {
  agent.exitAll(exitCode)
  await agent.sync()
  await server.run('promote-to-running', 'detect-termination', 'terminate-sessions')
  await agent.comply()
  await server.run('promote-to-terminated', 'decide-retries')
}

/** Every running session ends with this exit code; nobody has decided yet whether it is retried. */
export async function endAll(server: TestServer, agent: FakeAgent, exitCode: number): Promise<void> {
  agent.exitAll(exitCode)
  await agent.sync()
  await withoutDecisions(server, () => server.run('detect-termination'))
}

/** Meanwhile the database refuses all decisions: sessions end, and nobody decides whether they are retried. */
export async function withoutDecisions({ db }: Pick<TestServer, 'db'>, work: () => Promise<unknown>): Promise<void> {
  await db.query('ALTER TABLE retry_decisions ADD CONSTRAINT none_of_a_test CHECK (false) NOT VALID')
  try {
    await work()
  } finally {
    await db.query('ALTER TABLE retry_decisions DROP CONSTRAINT none_of_a_test')
  }
}

/**
 * A session with a kernel that could not be prepared: it is SCHEDULED once more, as its second assignment, and its
 * agent has no order for it yet.
 */
export async function sessionTriedAgain(server: TestServer, agent: FakeAgent): Promise<string> {
  const id = await sessionIn(server, agent, 'PREPARING')
  const [kernel] = await kernelRows(server.db, id)
  agent.observe(kernel!.id, { status: 'FAILED', error: { name: 'code-unavailable', message: 'no answer' } })
  await agent.sync()
  await server.run('prepare-sessions')
  await agent.sync()
  return id
}
