/** Retries that a switch or a rate limit holds: who set it, why, and until when. */
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { setRetrySwitch, type SetRetrySwitchInput } from '../../../src/services/retry/retry-switches.ts'
import type { Viewer } from '../../../src/services/service-context.ts'
import { decisionRow } from '../../support/database/session-rows.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { dueRetries } from '../../support/sessions/due-retries.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

describe('a held retry', () => {
  const given = useScheduling()
  const CLUSTER = { scope: 'CLUSTER' } as const
  const PROJECT = { scope: 'PROJECT', name: 'default' } as const
  const due = (count: number) => dueRetries(given.server.context, { count })
  const dispatch = () => given.server.run('dispatch-retries')
  const set = (input: SetRetrySwitchInput, viewer: Partial<Viewer> = {}) =>
    setRetrySwitch({ ...given.server.context, viewer: { ...given.server.context.viewer, ...viewer } }, input)

  it('a held retry has who holds it, why and until when; another change of the switch is another span', async () => {
    const [id] = await due(1)
    const until = new Date(Date.now() + 7_200_000)
    await set({ ...PROJECT, disabled: true, reason: 'storm', until }, { name: 'bob' })
    await dispatch()
    const first = { scope: 'PROJECT', name: 'default', by: 'bob', reason: 'storm', until: until.toISOString() }
    const end = until.toISOString().replace(/\.\d+/, '')
    const words = `held: retries are switched off (project default), set by bob, until ${end}: storm`
    const decided = async () => (await given.sql('SELECT held_by FROM retry_decisions WHERE session_id = $1', [id]))[0]
    expect((await decided())!['held_by']).toEqual({ ...first, since: expect.stringMatching(/^20/) })
    await set({ ...CLUSTER, rateLimit: { perSecond: 5, burst: 5 }, reason: 'no matter' })
    await set({ ...PROJECT, disabled: true, reason: 'still a storm' }, { name: 'eve' })
    await dispatch()
    const spans = await given.sql('SELECT held_by, to_at IS NULL AS open FROM retry_waits ORDER BY number')
    const second = { scope: 'PROJECT', name: 'default', by: 'eve', reason: 'still a storm', until: null }
    expect(spans).toMatchObject([
      { held_by: first, open: false },
      { held_by: second, open: true },
    ])
    const reasons = await given.sql(
      `SELECT data ->> 'reason' AS reason FROM session_events WHERE type = 'session.retry_held' ORDER BY id`,
    )
    expect(reasons).toEqual([
      { reason: words },
      { reason: 'held: retries are switched off (project default), set by eve: still a storm' },
    ])
    await set({ ...PROJECT, disabled: false })
    await dispatch()
    expect((await decided())!['held_by']).toBeNull()
    expect((await decisionRow(given.db, id!))!.explanation).toMatch(
      /; held [\d.]+ s: retries are switched off, set by bob: storm; held [\d.]+ s: retries are switched off, set by eve: still a storm$/,
    )
  })

  it('a rate limit that holds a retry has who set it', async () => {
    await due(2)
    await set({ ...CLUSTER, rateLimit: { perSecond: 0.01, burst: 1 }, reason: 'slowly' })
    await dispatch()
    expect(await given.sql('SELECT held_by FROM retry_decisions WHERE held_by IS NOT NULL')).toMatchObject([
      { held_by: { scope: 'CLUSTER', name: null, by: 'ada', reason: 'slowly', until: null } },
    ])
  })
})

describe('over the API', () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startGraphQLServer()
  })
  afterAll(() => server?.close())

  test('a held retry shows the switch that holds it: state, spans, outlook and timeline, over REST as well', async () => {
    const { id } = await server.factory.session({ status: 'ERROR', phase: 'HELD' })
    const heldBy = {
      scope: 'PROJECT',
      name: 'default',
      by: 'ada',
      reason: 'storm',
      since: '2026-11-29T00:00:00.000Z',
      until: '2040-01-01T00:00:00.000Z',
    }
    await server.db.query(
      `UPDATE retry_decisions SET hold_reason = 'DISABLED', held_by = $2, explanation = 'why' WHERE session_id = $1`,
      [id, heldBy],
    )
    await server.db.query(
      `INSERT INTO retry_waits (session_id, number, reason, scope, held_by) VALUES ($1, 1, 'DISABLED', 'PROJECT', $2)`,
      [id, heldBy],
    )
    const FIELDS = '{ scope name by reason since until }'
    const { data, errors } = await server.query(
      `query ($id: UUID!) { session(id: $id) { retryState { reason } chain { outlook { reason }
        timeline { edges { node { kind reason } } } }
        retryDecision { holdReason heldBy ${FIELDS} holds { reason heldBy ${FIELDS} } } } }`,
      { id },
    )
    expect(errors).toBeUndefined()
    const words = 'retries are switched off (project default), set by ada, until 2040-01-01T00:00:00Z: storm'
    expect(data.session).toMatchObject({
      retryState: { reason: `held: ${words}; why` },
      chain: { outlook: { reason: `held: ${words}; why` } },
      retryDecision: { holdReason: 'DISABLED', heldBy, holds: [{ reason: words, heldBy }] },
    })
    expect(data.session.chain.timeline.edges).toContainEqual({ node: { kind: 'HELD', reason: words } })
  })
})
