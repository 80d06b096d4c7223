import { join } from 'node:path'
import type { Agent } from '../../../src/agent/agent.ts'
import { drainAgent, resumeAgent } from '../../../src/services/agent/agents.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { RepriseError } from '../../../src/domain/errors.ts'
import { retryNow } from '../../../src/services/retry/change-retry.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import type { AgentFixture } from './agent-fixture.ts'

/** Says what it finds, adds its attempt, and fails. */
export const ADD = `cd "$REPRISE_CHAIN_DIR"; echo "$REPRISE_CHECKPOINT$REPRISE_CHECKPOINT_ATTEMPT:$(cat steps 2>/dev/null | tr '\\n' ,)"
  echo $REPRISE_ATTEMPT >>steps; exit 3`

/** An agent with a data directory of its own. */
export interface Machine {
  readonly name: string
  readonly agentDir: string
  readonly chainsDir: string
  agent: Agent
}

/** Chains whose attempts a test places on agents that have a store each, unless they are given one in common. */
export function chainsOnMachines(given: AgentFixture) {
  /** @param chainsDir named to the agent; missing: in its data directory */
  async function machine(name: string, chainsDir?: string): Promise<Machine> {
    const agentDir = await temporaryDirectory(name)
    const made = { name, agentDir, chainsDir: chainsDir ?? join(agentDir, 'chains') }
    const started = { ...made, agent: newAgent(made) }
    await started.agent.start()
    await eventually(async () => (await given.db.query('SELECT FROM agents WHERE name = $1', [name])).rowCount === 1)
    return started
  }

  function newAgent({ name, agentDir, chainsDir }: Omit<Machine, 'agent'>): Agent {
    const isNamed = chainsDir !== join(agentDir, 'chains')
    return given.newAgent({ name, elsewhere: { agentDir, address: '127.0.0.1' }, ...(isNamed && { chainsDir }) })
  }

  async function restart(where: Machine): Promise<void> {
    where.agent = newAgent(where)
    await where.agent.start()
  }

  /** From now on all work goes to these. */
  async function workGoesTo(...machines: Machine[]): Promise<void> {
    const { rows } = await given.db.query<{ agentId: string; name: string }>('SELECT id AS "agentId", name FROM agents')
    const isChosen = ({ name }: { name: string }) => machines.some((chosen) => chosen.name === name)
    for (const row of rows) if (!isChosen(row)) await drainAgent(given.server.context, { agentId: row.agentId })
    for (const row of rows) if (isChosen(row)) await resumeAgent(given.server.context, { agentId: row.agentId })
  }

  async function begin(command: string, input: Partial<CreateSessionInput> = {}): Promise<string> {
    const retryPolicy = { maxRetries: 5, retryDelay: 3600, ...(input.retryPolicy as object | undefined) }
    return (await given.create(['sh', '-c', command], { ...input, retryPolicy })).sessionId
  }

  async function retry(chainId: string): Promise<void> {
    const { rows } = await given.db.query<{ sessionId: string }>(
      'SELECT tail_id AS "sessionId" FROM chains WHERE chain_id = $1',
      [chainId],
    )
    try {
      await retryNow(given.server.context, rows[0]!)
    } catch (error) {
      // A held retry that is due may be dispatched at the same moment.
      if (!(error instanceof RepriseError && error.code === 'NO_PENDING_RETRY')) throw error
    }
  }

  /** Lets the retry begin there. */
  async function retryOn(chainId: string, ...machines: Machine[]): Promise<void> {
    await workGoesTo(...machines)
    await retry(chainId)
  }

  /** The output of an attempt, once it has ended and nothing of it is under way. */
  async function attempt(chainId: string, number: number): Promise<string> {
    const ended = `SELECT k.id FROM sessions s JOIN kernels k ON k.session_id = s.id
      WHERE s.chain_id = $1 AND s.attempt = $2 AND (s.status = 'TERMINATED' OR s.retry_decided)
      AND NOT EXISTS (SELECT FROM kernels other WHERE other.session_id = s.id AND NOT other.confirmed_gone)`
    const find = async () => (await given.db.query<{ id: string }>(ended, [chainId, number])).rows[0]
    return (await given.text((await eventually(find, { what: `attempt ${number}` })).id)).trim()
  }

  async function record(chainId: string) {
    const { rows } = await given.db.query<{
      attempt: number
      files: number
      bytes: number
      relay_attempt: number | null
      relay_sha256: string | null
      of: string[]
    }>(
      `SELECT c.attempt, c.files, c.bytes, c.relay_attempt, c.relay_sha256,
        ARRAY(SELECT a.name FROM agents a WHERE a.chain_store = c.store ORDER BY 1) AS of
      FROM checkpoints c WHERE c.chain_id = $1`,
      [chainId],
    )
    return rows[0]
  }

  async function found(chainId: string, number: number) {
    const { rows } = await given.db.query<{ state: string; from_attempt: number | null; note: string | null }>(
      `SELECT c.state, c.from_attempt, c.note FROM session_checkpoints c JOIN sessions s ON s.id = c.session_id
        WHERE s.chain_id = $1 AND s.attempt = $2`,
      [chainId, number],
    )
    return rows[0]
  }

  return { machine, restart, workGoesTo, begin, retry, retryOn, attempt, record, found }
}
