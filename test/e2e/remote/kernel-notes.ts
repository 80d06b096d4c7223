import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RemoteFleet } from './remote-fleet.ts'

/** Notes of a kernel's program: a line each 50 ms, and one when it is told to stop. */
export interface Life {
  attempt: number
  /** Milliseconds by the machine's clock. */
  firstAt: number
  lastAt: number
  /** Of all lines. */
  times: number[]
  told: boolean
}

/** Runs `turns` times 50 ms, and notes it; attempts from `succeedsFrom` on run short. */
export function notingProgram(fleet: RemoteFleet, name: string, turns: { first: number; later: number }): string {
  const file = join(fleet.shared, name)
  return [
    `note() { echo "$REPRISE_ATTEMPT $(date +%s%3N) $1" >> ${file}; }`,
    `trap 'note told; exit 143' TERM`,
    `n=${turns.first}; test "$REPRISE_ATTEMPT" -gt 1 && n=${turns.later}`,
    'i=0; while [ $i -lt $n ]; do note alive; i=$((i+1)); sleep 0.05; done; note done',
  ].join('\n')
}

export async function lives(fleet: RemoteFleet, name: string): Promise<Life[]> {
  const text = await readFile(join(fleet.shared, name), 'utf8').catch(() => '')
  const lines = text.trim().split('\n').filter(Boolean)
  const notes = lines.map((line) => {
    const [attempt, at, what] = line.split(' ')
    return { attempt: Number(attempt), at: Number(at), what }
  })
  return [...Map.groupBy(notes, ({ attempt }) => attempt)].map(([attempt, own]) => ({
    attempt,
    firstAt: Math.min(...own.map(({ at }) => at)),
    lastAt: Math.max(...own.map(({ at }) => at)),
    times: own.map(({ at }) => at),
    told: own.some(({ what }) => what === 'told'),
  }))
}

/** Ends what a failed test has left running, so that its agents have nothing to keep alive. */
export async function endKernelsOf(fleet: RemoteFleet): Promise<void> {
  const { sessions } = await fleet.graphql(
    '{ sessions(filter: { status: [PENDING, SCHEDULED, PREPARING, PREPARED, CREATING, RUNNING] }, first: 100) { edges { node { sessionId } } } }',
  )
  for (const { node } of sessions.edges) {
    const input = { sessionId: node.sessionId, force: true }
    await fleet.graphql(
      'mutation ($input: TerminateSessionInput!) { terminateSession(input: $input) { __typename } }',
      { input },
    )
  }
}
