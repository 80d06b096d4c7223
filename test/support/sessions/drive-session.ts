import type { SessionStatus } from '../../../src/domain/session/statuses.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import type { PlayedAgent } from '../agents/played-agent.ts'
import type { TestServer } from '../servers/test-server.ts'

const STEPS: readonly [SessionStatus, (server: TestServer, agent: PlayedAgent) => Promise<unknown>][] = [
  ['PENDING', async () => {}],
  ['SCHEDULED', (server) => server.run('schedule-sessions')],
  ['PREPARING', (server) => server.run('prepare-sessions')],
  ['PREPARED', async (server, agent) => [await agent.comply(), await server.run('promote-to-prepared')]],
  ['CREATING', (server) => server.run('start-sessions')],
  ['RUNNING', async (server, agent) => [await agent.comply(), await server.run('promote-to-running')]],
  [
    'TERMINATING',
    async (server, agent) => {
      agent.exitAll(1)
      await agent.sync()
      await server.run('detect-termination')
    },
  ],
]

/**
 * Drives all sessions until those that nothing holds up have this status; at TERMINATING they have failed with exit
 * code 1.
 */
export async function driveAll(server: TestServer, agent: PlayedAgent, status: SessionStatus): Promise<void> {
  for (const [reached, step] of STEPS) {
    await step(server, agent)
    if (reached === status) return
  }
  throw new Error(`nobody can be driven to ${status}`)
}

/** Creates a session and drives it to this status with the given agent. */
export async function sessionIn(
  server: TestServer,
  agent: PlayedAgent,
  status: SessionStatus,
  input: Partial<CreateSessionInput> = {},
): Promise<string> {
  const id = await server.create(input)
  await driveAll(server, agent, status)
  return id
}

/** Drives a session from RUNNING to its decision, failed with this exit code. */
export async function failWith(server: TestServer, agent: PlayedAgent, exitCode: number): Promise<void> {
  agent.exitAll(exitCode)
  await agent.sync()
  await server.run('promote-to-running', 'detect-termination', 'terminate-sessions')
  await agent.comply()
  await server.run('promote-to-terminated', 'decide-retries')
}
