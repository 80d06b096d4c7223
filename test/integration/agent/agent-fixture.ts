import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type Agent, createAgent } from '../../../src/agent/agent.ts'
import { createNoopExecutor } from '../../../src/agent/executors/noop-executor.ts'
import { createProcessExecutor } from '../../../src/agent/executors/process/process-executor.ts'
import type { ProcessLimits } from '../../../src/agent/executors/process/process-host.ts'
import type { LogStreamName } from '../../../src/domain/agent/protocol.ts'
import type { SessionStatus } from '../../../src/domain/session/lifecycle.ts'
import { createLogger } from '../../../src/observability/log.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import type { Database } from '../../../src/store/database.ts'
import type { PrismaClient } from '../../../src/store/prisma.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { kernelRows, sessionRow, type SessionRow } from '../../support/database/session-rows.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { testServer, type TestServer } from '../../support/servers/test-server.ts'
import { faultyGateway, type FaultyGateway } from './faulty-gateway.ts'
import { killProcessesIn } from './processes.ts'

const log = await createLogger({ level: 'silent', format: 'json' })

/** Another machine, so to speak. */
export interface Place {
  agentDir: string
  address: string
}

export interface AgentFixture {
  readonly db: Database
  readonly prisma: PrismaClient
  readonly server: TestServer
  readonly gateway: FaultyGateway
  readonly agentDir: string
  /** An instance of the one agent that `agentDir` belongs to, or of one elsewhere. */
  newAgent(options?: {
    executor?: 'process' | 'noop'
    cpu?: string
    mem?: string
    elsewhere?: Place
    limits?: Partial<ProcessLimits>
    chainsDir?: string
    name?: string
  }): Agent
  /** A session of one kernel. */
  create(command: string[], input?: Partial<CreateSessionInput>): Promise<{ sessionId: string; kernelId: string }>
  reaches(sessionId: string, status: SessionStatus): Promise<SessionRow>
  /** The log that the server has stored. @throws where a piece is missing or there twice */
  text(kernelId: string, stream?: LogStreamName): Promise<string>
  /** Sets the configuration of the only resource group until the next test. */
  configure(settings: { fence_after_ms?: number; stop_grace_ms?: number; reschedules_max?: number }): Promise<void>
}

/**
 * A real server on a database of the file's own, with its services running unless `live` is false, and agents to be
 * started.
 */
export function useAgentProgram({ live = true } = {}): AgentFixture {
  let database: TestDatabase
  let server: TestServer
  let gateway: FaultyGateway
  let agentDir: string
  let agents: Agent[]
  let agentDirs: Set<string>
  let running: AsyncDisposable | undefined
  beforeAll(async () => {
    database = await testDatabase()
  })
  afterAll(() => database.close())
  beforeEach(async () => {
    await database.fresh()
    server = testServer(database.db)
    gateway = faultyGateway(server.gateway)
    agentDir = await temporaryDirectory('agent')
    agents = []
    agentDirs = new Set([agentDir])
    await server.run('watch-agents')
    if (live) running = server.start()
  })
  afterEach(async () => {
    await Promise.all(agents.map((agent) => agent.stop()))
    await running?.[Symbol.asyncDispose]()
    await gateway.idle()
    for (const dir of agentDirs) await endKernels(dir)
  })

  return {
    get db() {
      return database.db
    },
    get prisma() {
      return database.prisma
    },
    get server() {
      return server
    },
    get gateway() {
      return gateway
    },
    get agentDir() {
      return agentDir
    },
    newAgent({
      executor = 'process',
      cpu = '4',
      mem,
      elsewhere = { agentDir, address: '127.0.0.1' },
      limits = {},
      chainsDir,
      name = 'agent-1',
    } = {}) {
      agentDirs.add(elsewhere.agentDir)
      const agent = createAgent({
        gateway,
        createExecutor: (hooks) =>
          executor === 'noop'
            ? createNoopExecutor(hooks)
            : createProcessExecutor({ agentDir: elsewhere.agentDir, chainsDir, log, limits }, hooks),
        agentDir: elsewhere.agentDir,
        name,
        resourceGroup: 'default',
        address: elsewhere.address,
        version: '0',
        slots: { cpu, ...(mem !== undefined && { mem }) },
        labels: {},
        log,
      })
      agents.push(agent)
      return agent
    },
    async create(command, input = {}) {
      const sessionId = await server.create({ command, ...input })
      const [kernel] = await kernelRows(database.db, sessionId)
      return { sessionId, kernelId: kernel!.id }
    },
    reaches: (sessionId, status) =>
      eventually(
        async () => {
          const row = await sessionRow(database.db, sessionId)
          return row.status === status && row
        },
        { what: `session ${status}` },
      ),
    text: (kernelId, stream = 'STDOUT') => readKept(database.db, kernelId, stream),
    async configure(settings) {
      for (const [name, value] of Object.entries(settings)) {
        await database.db.query(`UPDATE resource_groups SET ${name} = $1`, [value])
      }
    },
  }
}

async function readKept(db: Database, kernelId: string, stream: LogStreamName): Promise<string> {
  const statement = `SELECT "offset"::float8 AS offset, bytes, text FROM kernel_logs
    WHERE kernel_id = $1 AND stream = $2 ORDER BY kernel_logs."offset"`
  const { rows } = await db.query<{ offset: number; bytes: number; text: string }>(statement, [kernelId, stream])
  let end = 0
  for (const { offset, bytes } of rows) {
    if (offset !== end) throw new Error(`${stream} is kept up to ${end}, and then from ${offset}`)
    end += bytes
  }
  return rows.map(({ text }) => text).join('')
}

/** Kills the processes that the test left. The fork server of a stopped agent would end, but looks only every 2 s. */
async function endKernels(agentDir: string): Promise<void> {
  const executor = createProcessExecutor({ agentDir, log }, { changed: () => {} })
  await executor.recover()
  for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
  await eventually(() => executor.observe().length === 0)
  await executor.close()
  await killProcessesIn(agentDir)
}
