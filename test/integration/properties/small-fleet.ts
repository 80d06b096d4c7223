import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import type { Database } from '../../../src/store/database.ts'
import type { PrismaClient } from '../../../src/store/prisma.ts'
import { cancelRetry, retryNow, updateRetry } from '../../../src/services/retry/change-retry.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { RepriseError } from '../../../src/domain/errors.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { fakeAgent, type FakeAgent } from '../../support/agents/fake-agent.ts'
import { ALL_SERVICES, testServer, type TestServer } from '../../support/servers/test-server.ts'

/** Events in a fleet of two agents. A number picks one of the present items, modulo their count. */
export type Happening =
  | { does: 'create'; maxRetries: number; kernels: number; mode: 'SINGLE_NODE' | 'MULTI_NODE'; cpu: string }
  | { does: 'round' }
  | { does: 'exit'; pick: number; code: number }
  | { does: 'cannot'; pick: number }
  | { does: 'vanish'; pick: number }
  | { does: 'repeat'; pick: number }
  | { does: 'silence'; agent: number }
  | { does: 'return'; agent: number }
  | { does: 'shrink'; agent: number; cpu: string }
  | { does: 'terminate'; pick: number }
  | { does: 'cancel'; pick: number }
  | { does: 'hurry'; pick: number }
  | { does: 'change'; pick: number; maxRetries: number }
  | { does: 'resubmit'; pick: number }
  | { does: 'switch'; disabled: boolean }
  | { does: 'wait'; seconds: number }
  | { does: 'restart' }

interface Node {
  agent: FakeAgent
  silent: boolean
  silentSeconds: number
  /** Everything it ever said. */
  said: [string, ReturnType<FakeAgent['kernels']['get']>][]
}

const FENCE_AFTER_SECONDS = 120
/** Free capacity for the largest session on one agent. */
const FULL = '7.5'

export interface SmallFleet {
  happen(happening: Happening): Promise<void>
  /** Everybody is back and well; goes on until nothing is left to do. */
  drain(): Promise<void>
  /** Ids of kernels that really run, by agent: a kernel that runs twice is there twice. */
  running(): string[]
}

export async function smallFleet({ db, prisma }: { db: Database; prisma: PrismaClient }): Promise<SmallFleet> {
  let server: TestServer = testServer(db)
  const nodes: Node[] = []
  for (let n = 0; n < 2; n++) {
    const agent = fakeAgent(server.gateway, { slots: { cpu: FULL } })
    await agent.register()
    nodes.push({ agent, silent: false, silentSeconds: 0, said: [] })
  }
  await server.run('watch-agents')

  async function sync(node: Node): Promise<void> {
    if (node.silent) return
    node.said.push(...[...node.agent.kernels].map(([id, report]): Node['said'][number] => [id, { ...report }]))
    node.agent.obey(await node.agent.sync())
  }

  async function round(): Promise<number> {
    const done = await server.run(...ALL_SERVICES)
    for (const node of nodes) await sync(node)
    return done.reduce((sum, one) => sum + one, 0)
  }

  async function wait(seconds: number): Promise<void> {
    await advanceClock(db, seconds, { silentAgents: nodes.filter(({ silent }) => silent).map(({ agent }) => agent.id) })
    for (const node of nodes.filter(({ silent }) => silent)) {
      node.silentSeconds += seconds
      if (node.silentSeconds >= FENCE_AFTER_SECONDS) node.agent.exitAll(143)
    }
  }

  async function pickId(table: string, pick: number): Promise<string | undefined> {
    const { rows } = await db.query<{ id: string }>(table)
    return rows[pick % Math.max(1, rows.length)]?.id
  }

  /** A refusal is an answer. */
  async function ask(work: (sessionId: string) => Promise<unknown>, sessionId: string | undefined): Promise<void> {
    if (sessionId === undefined) return
    await work(sessionId).catch((error: unknown) => {
      if (!(error instanceof RepriseError)) throw error
    })
  }

  /** A kernel that some agent has, where there is one. */
  function someKernel(pick: number): { node: Node; id: string } | undefined {
    const all = nodes.flatMap((node) => [...node.agent.kernels.keys()].map((id) => ({ node, id })))
    return all[pick % Math.max(1, all.length)]
  }

  const SESSIONS = 'SELECT id FROM sessions ORDER BY id'
  const PENDING_RETRIES = `SELECT session_id AS id FROM retry_decisions WHERE phase IN ('SCHEDULED', 'HELD') ORDER BY 1`

  async function happen(it: Happening): Promise<void> {
    switch (it.does) {
      case 'create':
        await server.create({
          clusterSize: it.kernels,
          clusterMode: it.mode,
          resourceSlots: [{ slot: 'cpu', amount: it.cpu }],
          retryPolicy: { maxRetries: it.maxRetries, retryDelay: 2 },
        })
        return
      case 'round':
        await round()
        return
      case 'exit': {
        const kernel = someKernel(it.pick)
        const running = kernel?.node.agent.kernels.get(kernel.id)?.status === 'RUNNING'
        if (kernel && running) kernel.node.agent.observe(kernel.id, { status: 'EXITED', exitCode: it.code })
        return
      }
      case 'cannot': {
        const kernel = someKernel(it.pick)
        const prepared = kernel?.node.agent.kernels.get(kernel.id)?.status === 'PREPARED'
        if (kernel && prepared) kernel.node.agent.observe(kernel.id, { status: 'FAILED' })
        return
      }
      case 'vanish': {
        const kernel = someKernel(it.pick)
        kernel?.node.agent.kernels.delete(kernel.id)
        return
      }
      case 'repeat':
        for (const node of nodes) {
          const old = node.said[it.pick % Math.max(1, node.said.length)]
          // A message that was delayed: it has the state of its time.
          if (old && !node.agent.kernels.has(old[0]) && old[1]!.status !== 'RUNNING')
            node.agent.kernels.set(old[0], old[1]!)
        }
        return
      case 'silence':
        nodes[it.agent]!.silent = true
        return
      case 'return':
        Object.assign(nodes[it.agent]!, { silent: false, silentSeconds: 0 })
        await sync(nodes[it.agent]!)
        return
      case 'shrink':
        if (!nodes[it.agent]!.silent) await nodes[it.agent]!.agent.register({ cpu: it.cpu })
        return
      case 'terminate':
        await ask((sessionId) => terminateSession(server.context, { sessionId }), await pickId(SESSIONS, it.pick))
        return
      case 'cancel':
        await ask((sessionId) => cancelRetry(server.context, { sessionId }), await pickId(PENDING_RETRIES, it.pick))
        return
      case 'hurry':
        await ask((sessionId) => retryNow(server.context, { sessionId }), await pickId(PENDING_RETRIES, it.pick))
        return
      case 'change': {
        const policy = { maxRetries: it.maxRetries }
        const change = (sessionId: string) => updateRetry(server.context, { sessionId, policy })
        return ask(change, await pickId(PENDING_RETRIES, it.pick))
      }
      case 'resubmit': {
        const context = { ...server.context, prisma, sync: NO_SYNC_POINTS }
        const again = (sessionId: string) =>
          resubmitSessions(context, { sessionIds: [sessionId], includeSucceeded: true })
        return ask(again, await pickId(SESSIONS, it.pick))
      }
      case 'switch':
        await setRetrySwitch(server.context, { scope: 'CLUSTER', disabled: it.disabled })
        return
      case 'wait':
        await wait(it.seconds)
        return
      case 'restart':
        server = testServer(db)
    }
  }

  return {
    happen,
    async drain() {
      for (const [agent, node] of nodes.entries()) {
        await happen({ does: 'return', agent })
        await node.agent.register()
      }
      await happen({ does: 'switch', disabled: false })
      let idle = 0
      for (let turn = 0; idle < 2; turn++) {
        if (turn > 300) throw new Error('it does not come to an end')
        const done = await round()
        if (turn % 3 === 0) for (const { agent } of nodes) agent.exitAll(turn % 2)
        const left = await db.query<{ n: number }>(
          `SELECT count(*) AS n FROM sessions WHERE status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED') OR NOT retry_decided`,
        )
        idle = done === 0 && left.rows[0]!.n === 0 ? idle + 1 : 0
        await wait(150)
      }
    },
    running: () =>
      nodes.flatMap(({ agent }) =>
        [...agent.kernels].flatMap(([id, { status }]) => (status === 'RUNNING' ? [id] : [])),
      ),
  }
}
