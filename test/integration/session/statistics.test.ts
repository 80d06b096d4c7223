/** Statistics of sessions over time, the use of agents, and groups of failures. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { insertRows } from '../../support/database/insert-rows.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const START = Date.parse('2026-01-01T00:00:00Z')
/** A session of the factory ends three seconds after its creation. */
const endsAt = (seconds: number) => ({ createdAt: new Date(START + (seconds - 3) * 1_000) })

describe('statistics', () => {
  beforeEach(() => server.db.query('TRUNCATE sessions CASCADE'))

  const FIGURES = 'ended succeeded failed cancelled retries retriesSucceeded retryRate retrySuccessRate'
  const TEXT = `query ($from: DateTime, $to: DateTime, $bucketSeconds: Int, $project: String) {
  sessionStatistics(from: $from, to: $to, bucketSeconds: $bucketSeconds, project: $project) {
    from to bucketSeconds byStatus { status count } total { ${FIGURES} }
    byCause { cause failed retries retriesSucceeded retrySuccessRate } buckets { from to figures { ${FIGURES} } } } }`

  async function statistics(variables: object = {}, token?: string) {
    const { data, errors } = await server.query(TEXT, variables, token)
    expect(errors).toBeUndefined()
    return data.sessionStatistics
  }
  const DAY = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:05:00Z', bucketSeconds: 120 }

  /** Over in the first bucket: a failure, its retry, a success. In the second none. In the third: a retry, one cancelled. */
  async function knownSessions(projectId?: string) {
    const { factory, db } = server
    const policy = { retryPolicy: { maxRetries: 3 }, ...(projectId && { projectId }) }
    const first = await factory.session({ ...policy, ...endsAt(0), status: 'ERROR', failureCause: 'OOM_KILLED' })
    const second = await factory.session({ ...policy, ...endsAt(60), status: 'ERROR', parent: first })
    const third = await factory.session({ ...policy, ...endsAt(240), status: 'TERMINATED', parent: second })
    await db.query(`UPDATE sessions SET retry_cause = 'OOM_KILLED' WHERE id = $1`, [second.id])
    await factory.session({ ...policy, ...endsAt(119.999), status: 'TERMINATED' })
    const cancelled = await factory.session({ ...policy, ...endsAt(299), status: 'CANCELLED' })
    await db.query(`UPDATE sessions SET result = 'UNDEFINED', failure_cause = 'USER_CANCELLED' WHERE id = $1`, [
      cancelled.id,
    ])
    // Beside the span: just before, just after, and not over.
    await factory.session({ ...policy, ...endsAt(-0.001), status: 'ERROR' })
    await factory.session({ ...policy, ...endsAt(300), status: 'ERROR' })
    await factory.session({ ...policy, ...endsAt(0), status: 'RUNNING' })
    return third
  }

  describe('statistics', () => {
    test('show the causes of each bucket, and the pending sessions, also for a filter', async () => {
      const { factory, db } = server
      await knownSessions()
      const policy = { maxRetries: 3 }
      await factory.session({ ...endsAt(10), status: 'ERROR', phase: 'HELD', name: 'ours', retryPolicy: policy })
      for (let n = 0; n < 2; n++) {
        await factory.session({
          ...endsAt(10),
          status: 'ERROR',
          phase: 'SCHEDULED',
          labels: { team: 'a' },
          name: 'labelled',
          retryPolicy: policy,
        })
      }
      const { rows } = await db.query<{ id: string }>(
        `INSERT INTO users (id, name) VALUES (gen_random_uuid(), 'hedy') ON CONFLICT (name) DO UPDATE SET name = 'hedy'
       RETURNING id`,
      )
      await db.query(`UPDATE sessions SET user_id = $1 WHERE name = 'ours'`, [rows[0]!.id])
      const ask = async (filter: string) => {
        const { data, errors } = await server.query(
          `query ($from: DateTime!, $to: DateTime!) { sessionStatistics(from: $from, to: $to, bucketSeconds: 120 ${filter}) {
          total { ended held waiting } buckets { byCause { cause failed } figures { held } } } }`,
          { from: DAY.from, to: DAY.to },
        )
        expect(errors).toBeUndefined()
        return data.sessionStatistics
      }
      const whole = await ask('')
      // Three of `knownSessions` wait as well: those beside the span, and the cancelled one.
      expect(whole.total).toMatchObject({ ended: 8, held: 1, waiting: 5 })
      expect(whole.buckets.map(({ byCause }: any) => byCause)).toEqual([
        [
          { cause: 'KERNEL_NONZERO_EXIT', failed: 4 },
          { cause: 'OOM_KILLED', failed: 1 },
        ],
        [],
        [{ cause: 'KERNEL_NONZERO_EXIT', failed: 0 }],
      ])
      expect(whole.buckets[0].figures.held).toBeNull()
      const label = ', label: { key: "team", value: "a" }'
      expect((await ask(label)).total).toEqual({ ended: 2, held: 0, waiting: 2 })
      expect((await ask(', name: "ours"')).total).toEqual({ ended: 1, held: 1, waiting: 0 })
      expect((await ask(', user: "hedy"')).total).toEqual({ ended: 1, held: 1, waiting: 0 })
      expect((await ask(', resourceGroup: "default"')).total).toMatchObject({ ended: 8, held: 1 })
      expect((await ask(', resourceGroup: "elsewhere"')).total).toEqual({ ended: 0, held: 0, waiting: 0 })
    })

    test('count ended sessions, in total and by bucket', async () => {
      await knownSessions()
      const { total, buckets, byStatus, byCause, ...span } = await statistics(DAY)
      expect(span).toEqual({ from: '2026-01-01T00:00:00.000Z', to: '2026-01-01T00:05:00.000Z', bucketSeconds: 120 })
      const some = { ended: 5, succeeded: 2, failed: 2, cancelled: 1, retries: 2, retriesSucceeded: 1 }
      expect(total).toEqual({ ...some, retryRate: 0.4, retrySuccessRate: 0.5 })
      expect(byStatus).toEqual([
        { status: 'RUNNING', count: 1 },
        { status: 'TERMINATED', count: 2 },
        { status: 'ERROR', count: 2 },
        { status: 'CANCELLED', count: 1 },
      ])
      expect(byCause).toEqual([
        { cause: 'KERNEL_NONZERO_EXIT', failed: 1, retries: 1, retriesSucceeded: 1, retrySuccessRate: 1 },
        { cause: 'OOM_KILLED', failed: 1, retries: 1, retriesSucceeded: 0, retrySuccessRate: 0 },
      ])
      expect(buckets).toEqual([
        {
          from: '2026-01-01T00:00:00.000Z',
          to: '2026-01-01T00:02:00.000Z',
          figures: {
            ended: 3,
            succeeded: 1,
            failed: 2,
            cancelled: 0,
            retries: 1,
            retriesSucceeded: 0,
            retryRate: 1 / 3,
            retrySuccessRate: 0,
          },
        },
        {
          from: '2026-01-01T00:02:00.000Z',
          to: '2026-01-01T00:04:00.000Z',
          figures: {
            ended: 0,
            succeeded: 0,
            failed: 0,
            cancelled: 0,
            retries: 0,
            retriesSucceeded: 0,
            retryRate: null,
            retrySuccessRate: null,
          },
        },
        {
          from: '2026-01-01T00:04:00.000Z',
          to: '2026-01-01T00:05:00.000Z',
          figures: {
            ended: 2,
            succeeded: 1,
            failed: 0,
            cancelled: 1,
            retries: 1,
            retriesSucceeded: 1,
            retryRate: 0.5,
            retrySuccessRate: 1,
          },
        },
      ])
    })

    test('cover the last day by the hour by default', async () => {
      await server.factory.session({ status: 'TERMINATED', createdAt: new Date(Date.now() - 3_600_000) })
      await server.factory.session({ status: 'TERMINATED', createdAt: new Date(Date.now() - 90_000_000) })
      const { buckets, bucketSeconds, total } = await statistics()
      expect(buckets).toHaveLength(24)
      expect(bucketSeconds).toBe(3_600)
      expect(total.ended).toBe(1)
    })

    test('of another project are not counted', async () => {
      const { factory } = server
      const ours = await factory.project()
      await knownSessions(await factory.project('not-ours'))
      const token = await factory.token({ role: 'VIEWER', projectId: ours })
      for (const project of [undefined, 'not-ours']) {
        expect(await statistics({ ...DAY, project }, token)).toMatchObject({
          total: { ended: 0 },
          byStatus: [],
          byCause: [],
        })
      }
      await factory.session({ projectId: ours, ...endsAt(10), status: 'TERMINATED' })
      expect(await statistics(DAY, token)).toMatchObject({ total: { ended: 1 } })
      expect(await statistics({ ...DAY, project: 'not-ours' })).toMatchObject({ total: { ended: 5 } })
      expect(await statistics(DAY)).toMatchObject({ total: { ended: 6 } })
      expect(await statistics({ ...DAY, project: 'nowhere' })).toMatchObject({ total: { ended: 0 }, byStatus: [] })
    })

    test.each([
      ['backwards', { from: DAY.to, to: DAY.from }, '`to` must be later than `from`.'],
      ['of nothing', { from: DAY.to, to: DAY.to }, '`to` must be later than `from`.'],
      ['of a year', { from: '2025-01-01T00:00:00Z', to: DAY.to }, 'From `from` to `to` are at most 31 days.'],
      ['of no length', { ...DAY, bucketSeconds: 0 }, '`bucketSeconds` must be at least 1.'],
      [
        'of too many buckets',
        { bucketSeconds: 60 },
        'That makes 1440 buckets, and the limit is 500: `bucketSeconds` must be at least 173.',
      ],
    ])('%s are refused', async (_name, variables, message) => {
      const { errors } = await server.query(TEXT, variables)
      expect(errors?.[0]).toMatchObject({ message, extensions: { code: 'VALIDATION_FAILED' } })
    })
  })

  test('how much of the agents is in use, by agent and by group', async () => {
    const { db, factory } = server
    await factory.agent('idle')
    await factory.agent('lost')
    await db.query(`UPDATE agents SET status = 'LOST' WHERE name = 'lost'`)
    await insertRows(db, 'resource_groups', [{ name: 'empty' }])
    for (let n = 0; n < 5; n++) await factory.session({ status: 'RUNNING', clusterSize: 2 })
    const text = `{ agents { edges { node { name slots { slot used capacity utilisation } } } }
    resourceGroups { name slots { slot capacity used utilisation agents } } }`
    const { result, statements } = await recordStatements(() => server.query(text))
    const { agents, resourceGroups } = result.data
    const busy = agents.edges.find(({ node }: any) => node.name === 'factory-agent').node.slots
    const used = Number(busy[0].used)
    expect(used).toBeGreaterThanOrEqual(10)
    expect(busy[0]).toEqual({ slot: 'cpu', used: String(used), capacity: '1000', utilisation: used / 1_000 })
    expect(resourceGroups).toEqual([
      {
        name: 'default',
        slots: [
          { slot: 'cpu', capacity: '2000', used: String(used), utilisation: used / 2_000, agents: 2 },
          expect.objectContaining({ slot: 'mem', capacity: String(2 ** 41), agents: 2 }),
        ],
      },
      { name: 'empty', slots: [] },
    ])
    expect(statements.filter((sql) => sql.includes('trim_scale'))).toHaveLength(1)
  })
})

describe('groups of failures', () => {
  const SPAN = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' }
  let agentId: string
  beforeAll(async () => {
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

  async function groups(by: string, more: object = {}, token?: string) {
    const { data, errors } = await server.query(
      `query ($by: FailureGrouping!, $from: DateTime, $to: DateTime, $project: String, $cause: [FailureCause!], $first: Int,
      $name: String) {
      failureCounts(by: $by, from: $from, to: $to, project: $project, cause: $cause, first: $first, name: $name) {
        cause exitCode name label { key value } agentId agentName failed chains lost latestAt } }`,
      { by, ...SPAN, project: 'default', ...more },
      token,
    )
    if (errors) throw new Error(errors[0]?.message)
    return data.failureCounts.map((group: object) =>
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
      // Both filters hold for the same attempt: none failed like that with this cause.
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
})
