/** Failures counted together by what they have in common, and the chains that each group is of. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const SPAN = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' }
/** What the factory makes is over three seconds after its creation. */
const endsAt = (seconds: number) => ({ createdAt: new Date(START + (seconds - 3) * 1_000) })

let server: TestServer
let agentId: string

beforeAll(async () => {
  server = await startGraphQLServer()
  const { factory, db } = server
  const policy = { retryPolicy: { maxRetries: 3 } }
  // Failed twice, once out of memory, and succeeded.
  const labels = { team: 'cms', stage: 'reco' }
  const saved = { ...policy, name: 'saved', labels }
  const first = await factory.session({
    ...saved,
    ...endsAt(10),
    status: 'ERROR',
    failureCause: 'OOM_KILLED',
    phase: null,
  })
  const second = await factory.session({ ...saved, ...endsAt(20), status: 'ERROR', parent: first, phase: null })
  await factory.session({ ...saved, ...endsAt(30), status: 'TERMINATED', parent: second })
  // Failed for good, in two chains of one name.
  const lost = { ...policy, name: 'lost', labels: { team: 'cms' }, status: 'ERROR', phase: 'EXHAUSTED' } as const
  const third = await factory.session({ ...lost, ...endsAt(86_399) })
  await factory.session({ ...lost, ...endsAt(40) })
  // Beside the span, of the same chain as one within; not a failure; and of another project.
  await factory.session({ ...lost, ...endsAt(86_400), parent: third })
  await factory.session({ name: 'lost', ...endsAt(50), status: 'TERMINATED' })
  const projectId = await factory.project('elsewhere')
  await factory.session({ name: 'elsewhere', ...endsAt(60), status: 'ERROR', phase: 'EXHAUSTED', projectId })
  await db.query(`UPDATE sessions SET exit_code = CASE WHEN failure_cause = 'OOM_KILLED' THEN NULL
    WHEN name = 'lost' THEN 7 ELSE 3 END WHERE result = 'FAILURE'`)
  agentId = await factory.agent('flaky')
  await db.query('UPDATE kernels SET agent_id = $1 WHERE session_id = $2', [agentId, third.id])
  await db.query(`SELECT refresh_chains(ARRAY(SELECT id FROM sessions WHERE attempt = 1))`)
})
afterAll(() => server?.close())

async function groups(by: string, more: object = {}, token?: string) {
  const { data, errors } = await server.query(
    `query ($by: FailureGrouping!, $from: DateTime, $to: DateTime, $project: String, $cause: [FailureCause!], $first: Int,
      $name: String) {
      failureGroups(by: $by, from: $from, to: $to, project: $project, cause: $cause, first: $first, name: $name) {
        cause exitCode name label { key value } agentId agentName failed chains lost latestAt } }`,
    { by, ...SPAN, project: 'default', ...more },
    token,
  )
  if (errors) throw new Error(errors[0]?.message)
  return data.failureGroups.map((group: object) =>
    Object.fromEntries(Object.entries(group).filter(([, value]) => value !== null)),
  )
}

async function listed(failed: object, more: object = {}): Promise<string[]> {
  const { data, errors } = await server.query(
    `query ($filter: ChainFilter!) { chains(filter: $filter, first: 100) {
      totalCount counts { count } edges { node { name } } } }`,
    { filter: { project: 'default', failed, ...more } },
  )
  expect(errors).toBeUndefined()
  const { totalCount, counts, edges } = data.chains
  expect(totalCount).toBe(edges.length)
  if (Object.keys(more).length === 0) {
    expect(counts.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(edges.length)
  }
  return edges.map(({ node }: { node: { name: string } }) => node.name).toSorted()
}

const at = { gte: SPAN.from, lt: SPAN.to }

describe('failures', () => {
  test('are counted by cause, the most frequent first, with the chains that they are of', async () => {
    expect(await groups('CAUSE')).toEqual([
      {
        cause: 'KERNEL_NONZERO_EXIT',
        failed: 3,
        chains: 3,
        lost: 2,
        latestAt: new Date(START + 86_399_000).toISOString(),
      },
      { cause: 'OOM_KILLED', failed: 1, chains: 1, lost: 0, latestAt: new Date(START + 10_000).toISOString() },
    ])
    expect(await listed({ at, cause: ['KERNEL_NONZERO_EXIT'] })).toEqual(['lost', 'lost', 'saved'])
    expect(await listed({ at, cause: ['KERNEL_NONZERO_EXIT'] }, { state: ['FAILED'] })).toEqual(['lost', 'lost'])
    // Its latest failure had another cause.
    expect(await listed({ at, cause: ['OOM_KILLED'] })).toEqual(['saved'])
  })

  test('are counted by exit code, as far as they have one', async () => {
    expect(await groups('EXIT_CODE')).toMatchObject([
      { exitCode: 7, failed: 2, chains: 2, lost: 2 },
      { exitCode: 3, failed: 1, chains: 1, lost: 0 },
    ])
    expect(await listed({ at, exitCode: [7] })).toEqual(['lost', 'lost'])
    // Of one and the same attempt: none failed so with this cause.
    expect(await listed({ at, exitCode: [3], cause: ['OOM_KILLED'] })).toEqual([])
  })

  test('are counted by name, by each label and by agent', async () => {
    expect(await groups('NAME')).toMatchObject([
      { name: 'lost', failed: 2, chains: 2 },
      { name: 'saved', failed: 2, chains: 1 },
    ])
    expect(await groups('LABEL')).toMatchObject([
      { label: { key: 'team', value: 'cms' }, failed: 4, chains: 3, lost: 2 },
      { label: { key: 'stage', value: 'reco' }, failed: 2, chains: 1, lost: 0 },
    ])
    expect(await groups('AGENT')).toMatchObject([
      { agentName: 'factory-agent', failed: 3, chains: 2 },
      { agentId, agentName: 'flaky', failed: 1, chains: 1 },
    ])
    expect(await listed({ at, agent: agentId })).toEqual(['lost'])
  })

  test('are those of the span, the causes and the sessions that are asked for, and as many groups', async () => {
    const later = { from: SPAN.to, to: '2026-01-03T00:00:00.000Z' }
    expect(await groups('NAME', later)).toMatchObject([{ name: 'lost', failed: 1 }])
    expect(await listed({ at: { gte: later.from, lte: later.from } })).toEqual(['lost'])
    expect(await listed({ at: { gt: later.from } })).toEqual([])
    expect(await listed({ at: { lt: SPAN.from } })).toEqual([])
    expect(await groups('NAME', { cause: ['OOM_KILLED'] })).toMatchObject([{ name: 'saved', failed: 1 }])
    expect(await groups('CAUSE', { name: 'lost' })).toMatchObject([{ failed: 2 }])
    expect(await groups('LABEL', { first: 1 })).toHaveLength(1)
    expect(await groups('NAME', { project: null })).toHaveLength(3)
    await expect(groups('NAME', { first: 101 })).rejects.toThrow('From 1 to 100')
    await expect(groups('NAME', { from: '2025-11-01T00:00:00Z' })).rejects.toThrow('at most 31 days')
  })

  test('are those that the viewer may see', async () => {
    const { rows } = await server.db.query<{ id: string }>(`SELECT id FROM projects WHERE name = 'elsewhere'`)
    const token = await server.factory.token({ role: 'VIEWER', projectId: rows[0]!.id })
    expect(await groups('NAME', { project: null }, token)).toMatchObject([{ name: 'elsewhere', failed: 1 }])
    expect(await groups('NAME', {}, token)).toEqual([])
  })
})
