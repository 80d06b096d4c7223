import { styleText } from 'node:util'
import type { Client } from '../../client/node/index.ts'

export interface Attempt {
  sessionId: string
  attempt: number
  status: string
  result: string
  exitCode: number | null
  failureCause: string | null
  retryState: { phase: string; reason: string | null; scheduledAt: string | null }
  kernels: { oomKilled: boolean; logs: { edges: { node: { text: string } }[] } }[]
}

const CHAIN_QUERY = `query Chain($id: UUID!) { session(id: $id) { retryChain {
  sessionId attempt status result exitCode failureCause retryState { phase reason scheduledAt }
  kernels { oomKilled logs(first: 100) { edges { node { text } } } } } } }`

/** All attempts of the chain that this session belongs to, oldest first. */
export async function readChain(client: Client, sessionId: string): Promise<Attempt[]> {
  const data = await client.request<{ session: { retryChain: Attempt[] } | null }>(CHAIN_QUERY, { id: sessionId })
  if (!data.session) throw new Error(`session ${sessionId} is gone`)
  return data.session.retryChain
}

export function logOf(attempt: Attempt): string {
  return attempt.kernels.flatMap(({ logs }) => logs.edges.map(({ node }) => node.text)).join('')
}

/** One line per attempt, indented below the previous one. */
export function drawChain(name: string, chain: readonly Attempt[]): string {
  const lines = chain.map((attempt, depth) => {
    const branch = depth === 0 ? '' : `${'   '.repeat(depth - 1)}└─ `
    return `      ${branch}${depth === 0 ? name : ''}${depth === 0 ? ': ' : ''}${describe(attempt)}`
  })
  return lines.join('\n')
}

function describe({ attempt, status, result, exitCode, failureCause, retryState }: Attempt): string {
  const outcome = [failureCause, exitCode === null ? null : `exit ${exitCode}`].filter((part) => part !== null)
  const words = [
    `attempt ${attempt}`,
    styleText(colourOf(status), result === 'SUCCESS' ? 'SUCCEEDED' : status),
    ...outcome,
  ]
  if (isOver(status)) words.push(styleText('dim', `[${retryState.phase}]`))
  return words.join(' ')
}

function colourOf(status: string): 'green' | 'red' | 'yellow' | 'cyan' {
  if (status === 'TERMINATED') return 'green'
  if (status === 'ERROR') return 'red'
  return status === 'CANCELLED' ? 'yellow' : 'cyan'
}

function isOver(status: string): boolean {
  return ['TERMINATED', 'ERROR', 'CANCELLED'].includes(status)
}
