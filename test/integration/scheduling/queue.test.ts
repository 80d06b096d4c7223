/** The queue as it is shown: in the order in which a real scheduler starts sessions, and with the times that they have. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { QUEUE_SHOWN_MAX } from '../../../src/domain/limits.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { placeOf, readQueues, readUsualDurations } from '../../../src/services/session/read-queue.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { createFactories, DEFAULT_DOMAIN_ID, DEFAULT_PROJECT_ID } from '../../support/sessions/factories.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()
const cpu = (amount: string) => [{ slot: 'cpu', amount }]

describe('the queue', () => {
  const queue = async () => (await readQueues(given.server.context, ['default'])).get('default')!
  const shown = async () => (await queue()).order.map(({ id }) => id)

  /** Chains of this name that have succeeded, each after so many seconds. */
  async function succeeded(name: string, seconds: readonly number[], projectId = DEFAULT_PROJECT_ID): Promise<void> {
    const factory = createFactories(given.db)
    for (const ran of seconds) {
      const { id } = await factory.session({ status: 'TERMINATED', name, projectId })
      await given.sql(`UPDATE sessions SET started_at = terminated_at - make_interval(secs => $2) WHERE id = $1`, [
        id,
        ran,
      ])
    }
    await given.sql(`UPDATE agents SET status = 'TERMINATED' WHERE id <> $1`, [given.agent.id])
  }

  /** The order in which the scheduler starts all that waits, where one session at a time fits. */
  async function started(): Promise<string[]> {
    const { server, agent, sql } = given
    const order: string[] = []
    for (;;) {
      await driveAll(server, agent, 'RUNNING')
      const rows = await sql(`SELECT id FROM sessions WHERE status = 'RUNNING'`)
      if (rows.length === 0) return order
      expect(rows).toHaveLength(1)
      order.push(rows[0]!['id'] as string)
      await failWith(server, agent, 0)
    }
  }

  it.each(['FIFO', 'LIFO', 'DRF'] as const)('has the order in which %s starts sessions', async (sequencer) => {
    const { server, sql, db } = given
    const other = randomUUID()
    await insertRows(db, 'projects', [{ id: other, domain_id: DEFAULT_DOMAIN_ID, name: 'other' }])
    await sql(`UPDATE resource_groups SET sequencer = $1`, [sequencer])
    for (const projectId of [DEFAULT_PROJECT_ID, other]) await succeeded('w', [9, 9, 9, 9, 9, 9, 9, 9], projectId)
    const ids: string[] = []
    for (const [priority, project] of [[10], [50], [10, 'other'], [50, 'other'], [10], [90]] as [number, string?][])
      ids.push(await server.create({ name: 'w', resourceSlots: cpu('64'), priority, ...(project && { project }) }))
    // It was overtaken so often that it is before the others of its priority.
    await sql(`UPDATE sessions SET skips = 50 WHERE id = $1`, [ids[4]])
    const order = await shown()
    expect(order.toSorted()).toEqual(ids.toSorted())
    expect(order[0]).toBe(ids[5])
    expect(await started()).toEqual(order)
  })

  it('has a place and an expected start for each session, by what runs and what is before it', async () => {
    const { server, agent, sql } = given
    await succeeded('hour', [3600, 3600, 3600, 3600, 3600, 3600, 3600, 3600])
    await succeeded('new', [1, 2, 3])
    const running = await server.create({ name: 'hour', resourceSlots: cpu('64') })
    await driveAll(server, agent, 'RUNNING')
    await sql(`UPDATE sessions SET started_at = reprise_now() - interval '2400 s' WHERE id = $1`, [running])
    const create = (name: string) => server.create({ name, resourceSlots: cpu('64') })
    const ids = [await create('hour'), await create('new'), await create('hour')]
    const later = await server.create({ startsAt: new Date(Date.now() + 3_600_000) })
    await server.run('schedule-sessions')
    const read = await queue()
    const [{ now }] = (await sql('SELECT reprise_now() AS now')) as [{ now: Date }]
    const inSeconds = (id: string) => {
      const { before, expectedStartAt, whyUnknown } = placeOf(read, { id, nextTryAt: null })
      const seconds = expectedStartAt && Math.round((expectedStartAt.getTime() - now.getTime()) / 60_000) * 60
      return [before, seconds, whyUnknown]
    }
    // It has run for 2400 of 3600 seconds.
    expect(inSeconds(ids[0]!)).toEqual([0, 1200, null])
    expect(inSeconds(ids[1]!)).toEqual([1, 4800, null])
    const unknown = expect.stringContaining('1 session before it or running has no usual duration') as string
    expect(inSeconds(ids[2]!)).toEqual([2, null, unknown])
    expect(placeOf(read, { id: later, nextTryAt: new Date() })).toMatchObject({
      before: null,
      whyUnknown: expect.stringContaining('it is not in line') as string,
    })
    await sql(`UPDATE resource_groups SET drained_at = reprise_now(), drain_reason = 'moving'`)
    expect(placeOf(await queue(), { id: ids[0]!, nextTryAt: null })).toMatchObject({
      before: 0,
      expectedStartAt: null,
      whyUnknown: 'resource group default is being drained: moving',
    })
  })

  it('costs the same number of statements however long it is, and ends after its first sessions', async () => {
    const { server } = given
    await server.create({ resourceSlots: cpu('64') })
    await driveAll(server, given.agent, 'RUNNING')
    await server.create({ resourceSlots: cpu('64') })
    const one = await recordStatements(queue)
    const many = Array.from({ length: 1_000 }, (_, n) => ({
      name: `w${n}`,
      command: ['true'],
      resourceSlots: cpu('64'),
    }))
    await createSessions(server.context, many)
    const all = await recordStatements(queue)
    expect(all.statements.length).toBe(one.statements.length)
    expect(all.statements.length).toBeLessThanOrEqual(6)
    expect(all.result.order).toHaveLength(QUEUE_SHOWN_MAX)
    const last = await given.sql('SELECT id FROM sessions ORDER BY created_at DESC, id DESC LIMIT 1')
    expect(placeOf(all.result, { id: last[0]!['id'] as string, nextTryAt: null })).toMatchObject({
      before: null,
      whyUnknown: `more than ${QUEUE_SHOWN_MAX} sessions are before it`,
    })
  })

  it('knows how long a name usually takes from its last successes alone', async () => {
    await succeeded(
      'fit',
      Array.from({ length: 60 }, (_, n) => n),
    )
    const names = ['fit', 'none'].map((name) => ({ projectId: DEFAULT_PROJECT_ID, name }))
    const { result, statements } = await recordStatements(() => readUsualDurations(given.server.context, names))
    // The last 50 took 10 to 59 seconds.
    expect(result).toEqual([
      { successes: 50, usual: { median: 34.5, p95: expect.closeTo(56.55, 5) as number } },
      { successes: 0, usual: null },
    ])
    expect(statements).toHaveLength(1)
  })
})
