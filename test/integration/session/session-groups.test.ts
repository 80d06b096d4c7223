/** Groups of sessions: creation, counts, outcomes and ends, on a real database, whatever crashes. */
import { describe, expect, test } from 'vitest'
import { payloadOf } from '../../../src/domain/webhook.ts'
import { createSession } from '../../../src/services/session/create-sessions.ts'
import { judgeGroup } from '../../../src/domain/session/session-group.ts'
import {
  countRunningMembers,
  findGroup,
  readGroupPage,
  readMemberRanges,
  readMemberStates,
  readStarts,
  requireGroup,
} from '../../../src/services/session/read-groups.ts'
import {
  addGroupMembers,
  cancelSessionGroup,
  createGroup,
  type GroupInput,
} from '../../../src/services/session/session-groups.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { isAlone, readGroupWork, removeEmptyGroups } from '../../../src/store/sql/session/session-groups.sql.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { driveAll } from '../../support/sessions/drive-session.ts'
import { webhookServer } from '../../support/servers/webhook-fixture.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

const NOBODY = '019aaaaa-0000-7000-8000-000000000000'
const WORK = { name: 'work', command: ['true'] }

const create = (group: Partial<GroupInput>, sessions: object[] = [WORK]) =>
  createGroup(given.server.context, { sessions: sessions as never, group: { name: 'sweep', ...group } })

async function read(groupId: string) {
  const group = await requireGroup(given.server.context, groupId)
  const [running] = await countRunningMembers(given.server.context, [group])
  return { ...group, running }
}

/** The chains of a group by index. */
async function members(groupId: string) {
  return (await given.sql('SELECT * FROM chains WHERE group_id = $1 ORDER BY group_index', [groupId])) as {
    chain_id: string
    group_index: number
    state: string
    tail_id: string
  }[]
}

/** Ends the running members with these indexes, each with its exit code, and lets the scheduler work it off. */
async function end(groupId: string, exits: Record<number, number>): Promise<void> {
  const { server, agent, db } = given
  for (const member of await members(groupId)) {
    const exitCode = exits[member.group_index]
    if (exitCode === undefined) continue
    for (const kernel of await kernelRows(db, member.tail_id)) agent.observe(kernel.id, { status: 'EXITED', exitCode })
  }
  await agent.sync()
  await server.settle()
  await agent.comply()
  await server.settle()
}

const events = () => given.sql(`SELECT group_id, data FROM session_events WHERE type = 'group.ended' ORDER BY id`)

/** What a plain query over the members finds. */
async function counted(groupId: string) {
  const count = (states: string[], all: { state: string }[]) => all.filter(({ state }) => states.includes(state)).length
  const all = await members(groupId)
  return {
    total: all.length,
    live: count(['LIVE'], all),
    waiting: count(['WAITING_RETRY', 'HELD'], all),
    succeeded: count(['SUCCEEDED'], all),
    failed: count(['FAILED'], all),
    cancelled: count(['CANCELLED'], all),
  }
}

describe('a group', () => {
  test('is created with all of its members or not at all, and once for a key', async () => {
    const group = { key: 'sweep-7', indexes: '1-500', maxRunning: 50 }
    const first = await create(group)
    expect(first).toMatchObject({ created: true })
    expect(await create(group)).toMatchObject({ groupId: first.groupId, created: false, sessionIds: [] })
    await expect(create({ ...group, indexes: '1-501' })).rejects.toMatchObject({ code: 'CREATION_ID_REUSED' })
    const shown = await read(first.groupId)
    expect(shown).toMatchObject({ name: 'sweep', running: 0, counts: { total: 500, live: 500, failed: 0 } })
    const { running, ...stored } = shown
    expect(running).toBe(0)
    expect(await findGroup(given.server.context, { key: 'sweep-7', project: 'default' })).toEqual(stored)
    expect((await members(first.groupId)).map(({ group_index: index }) => index)).toEqual(
      Array.from({ length: 500 }, (_, at) => at + 1),
    )
    const page = await readGroupPage(given.server.context, { search: 'swe' }, { first: 5 })
    expect(page.edges.map(({ node }) => node.id)).toEqual([first.groupId])

    await expect(create({}, [WORK, { ...WORK, command: [] }])).rejects.toMatchObject({
      issues: [{ path: 'sessions.1.command' }],
    })
    await expect(create({}, [WORK, { ...WORK, dependsOn: [first.groupId] }])).rejects.toMatchObject({
      code: 'DEPENDENCY_NOT_FOUND',
    })
    await expect(create({ maxFailedPercent: 101 })).rejects.toMatchObject({
      issues: [{ path: 'group.maxFailedPercent' }],
    })
    await expect(create({ indexes: '5-1' })).rejects.toMatchObject({ issues: [{ path: 'group.indexes' }] })
    await expect(create({ indexes: '1-3' }, [WORK, WORK])).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    await expect(
      create({}, [
        { ...WORK, creationId: 'x' },
        { ...WORK, creationId: 'x' },
      ]),
    ).rejects.toMatchObject({
      code: 'CREATION_ID_REUSED',
    })
    expect((await given.sql('SELECT id FROM session_groups')).map(({ id }) => id)).toEqual([first.groupId])
    expect(await given.sql('SELECT DISTINCT group_id FROM sessions')).toEqual([{ group_id: first.groupId }])
  })

  test('tells its programs their index and its size, and counts its members as they move', async () => {
    const { server, agent } = given
    const { groupId } = await create({ indexes: '3,5,9', maxRunning: 2 })
    await driveAll(server, agent, 'PREPARING')
    const { orders } = await agent.sync()
    const environ = orders.flatMap((order) => {
      if (!('spec' in order)) return []
      return [Object.fromEntries(order.spec.environ.map(({ name, value }) => [name, value]))]
    })
    expect(environ.map(({ REPRISE_INDEX: index, REPRISE_GROUP_SIZE: size }) => `${index} of ${size}`)).toEqual([
      '3 of 3',
      '5 of 3',
    ])
    expect(await read(groupId)).toMatchObject({ running: 2, counts: { live: 3 } })
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 3: 0, 5: 0 })
    expect(await read(groupId)).toMatchObject({ running: 1, counts: { succeeded: 2, live: 1 }, outcome: null })
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 9: 0 })
    expect(await read(groupId)).toMatchObject({ outcome: 'SUCCEEDED', endedAt: expect.any(Date) })
    expect(await events()).toMatchObject([
      { group_id: groupId, data: { outcome: 'SUCCEEDED', counts: { total: 3, succeeded: 3 }, failures: [] } },
    ])
  })

  test('shows the state of each member as a letter, and of ranges as numbers', async () => {
    const { server, agent, db } = given
    const retryPolicy = { maxRetries: 1, retryDelay: 3600 }
    const { groupId } = await create({ indexes: '0-5,10', maxRunning: 3 }, [{ ...WORK, retryPolicy }])
    expect(await readStarts({ db }, [groupId])).toEqual([null])
    await driveAll(server, agent, 'RUNNING')
    await terminateSession(server.context, { sessionId: (await members(groupId))[6]!.tail_id })
    await end(groupId, { 0: 0, 1: 1 })
    const page = async (after: number, limit: number) =>
      (await readMemberStates({ db }, [groupId], { after, limit })).get(groupId)
    expect(await page(-1, 10)).toEqual({ states: 'SWRRRQC', indexes: '0-5,10', lastIndex: 10, hasNextPage: false })
    expect(await page(4, 1)).toEqual({ states: 'Q', indexes: '5', lastIndex: 5, hasNextPage: true })
    expect(await page(10, 1)).toEqual({ states: '', indexes: '', lastIndex: null, hasNextPage: false })
    const ranges = await readMemberRanges({ db }, [await read(groupId)], 4)
    expect(ranges).toEqual([
      { groupId, first: 0, last: 3, total: 4, live: 2, running: 2, waiting: 1, succeeded: 1, failed: 0, cancelled: 0 },
      { groupId, first: 4, last: 10, total: 3, live: 2, running: 1, waiting: 0, succeeded: 0, failed: 0, cancelled: 1 },
    ])
    expect(await readStarts({ db }, [groupId])).toEqual([expect.any(Date)])
  })

  test('does not count a retried attempt as a failure', async () => {
    const { server, agent } = given
    const { groupId } = await create({ maxFailed: 1 }, [{ ...WORK, retryPolicy: { maxRetries: 1, retryDelay: 0.001 } }])
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 0: 3 })
    expect(await read(groupId)).toMatchObject({ counts: { failed: 0 }, outcome: null })
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 0: 3 })
    expect(await read(groupId)).toMatchObject({ counts: { failed: 1 }, outcome: 'FAILED' })
    const [event] = await events()
    expect(event).toMatchObject({ data: { failures: [{ index: 0, cause: 'KERNEL_NONZERO_EXIT' }] } })
  })

  test.each([
    ['LET_RUN', { succeeded: 1, failed: 2, cancelled: 2 }],
    ['STOP', { succeeded: 0, failed: 2, cancelled: 3 }],
  ] as const)(
    'that has failed cancels what is queued, and lets run or stops the rest: %s',
    async (onFailure, counts) => {
      const { server, agent } = given
      const { groupId } = await create({ indexes: '0-4', maxRunning: 3, maxFailed: 2, onFailure })
      await driveAll(server, agent, 'RUNNING')
      await end(groupId, { 0: 1, 1: 1 })
      if (onFailure === 'LET_RUN') {
        expect(await read(groupId)).toMatchObject({ outcome: 'FAILED', endedAt: null, counts: { cancelled: 2 } })
        await end(groupId, { 2: 0 })
      }
      expect(await read(groupId)).toMatchObject({ outcome: 'FAILED', endedAt: expect.any(Date), counts })
      expect(await events()).toHaveLength(1)
    },
  )

  test('that waits for running members keeps no other from its turn, and takes no more members', async () => {
    const { server, agent } = given
    const { groupId } = await create({ open: true, maxFailed: 1 }, [WORK, WORK])
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 0: 1 })
    expect(await read(groupId)).toMatchObject({ outcome: 'FAILED', endedAt: null })
    expect(await readGroupWork(given.db, 10)).toEqual({ changes: false, releases: false, ending: [] })
    await expect(addGroupMembers(server.context, { groupId, sessions: [WORK] })).rejects.toMatchObject({
      code: 'GROUP_CLOSED',
    })
  })

  test('that has what it needs cancels the rest', async () => {
    const { server, agent } = given
    const { groupId } = await create({ indexes: '0-5', maxRunning: 3, minSucceeded: 2 })
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 0: 0, 1: 0 })
    expect(await read(groupId)).toMatchObject({
      outcome: 'SUCCEEDED',
      endedAt: expect.any(Date),
      counts: { succeeded: 2, cancelled: 4 },
    })
  })

  test('is cancelled with all of its members, once', async () => {
    const { server, agent } = given
    const { groupId } = await create({ indexes: '0-3', maxRunning: 2 })
    await driveAll(server, agent, 'RUNNING')
    await cancelSessionGroup(server.context, { groupId })
    await server.settle()
    await agent.comply()
    await server.settle()
    expect(await read(groupId)).toMatchObject({ outcome: 'CANCELLED', counts: { cancelled: 4, live: 0 } })
    await expect(cancelSessionGroup(server.context, { groupId })).rejects.toMatchObject({ code: 'GROUP_CLOSED' })
    await expect(cancelSessionGroup(server.context, { groupId: NOBODY })).rejects.toMatchObject({
      code: 'GROUP_NOT_FOUND',
    })
    expect(await events()).toHaveLength(1)
  })

  test('that is open takes members until it is closed', async () => {
    const { server, agent } = given
    const { groupId } = await create({ open: true }, [{ ...WORK, creationId: 'a' }])
    const more = { groupId, sessions: [{ ...WORK, creationId: 'b' }, WORK] }
    expect(await addGroupMembers(server.context, more)).toMatchObject({ added: 2 })
    expect(await addGroupMembers(server.context, { ...more, sessions: [more.sessions[0]!] })).toMatchObject({
      added: 0,
    })
    expect(await addGroupMembers(server.context, { groupId, sessions: [WORK], indexes: '2-4' })).toMatchObject({
      added: 2,
    })
    expect((await members(groupId)).map(({ group_index: index }) => index)).toEqual([0, 1, 2, 3, 4])
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 0: 0, 1: 0, 2: 0, 3: 0, 4: 0 })
    expect(await read(groupId)).toMatchObject({ outcome: null, counts: { succeeded: 5, total: 5 } })
    await addGroupMembers(server.context, { groupId, close: true })
    await server.settle()
    expect(await read(groupId)).toMatchObject({ outcome: 'SUCCEEDED' })
    await expect(addGroupMembers(server.context, { groupId, sessions: [WORK] })).rejects.toMatchObject({
      code: 'GROUP_CLOSED',
    })
  })

  test('runs again when members of it are resubmitted, and ends once more', async () => {
    const { server, agent } = given
    const { groupId } = await create({ indexes: '0-2', maxFailed: 1 })
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 0: 0, 1: 2, 2: 0 })
    expect(await read(groupId)).toMatchObject({ outcome: 'FAILED', epoch: 0 })
    const context = { ...server.context, prisma: given.database.prisma, sync: NO_SYNC_POINTS }
    await resubmitSessions(context, { filter: { group: groupId, result: ['FAILURE'] } } as never)
    await server.settle()
    expect(await read(groupId)).toMatchObject({
      outcome: null,
      endedAt: null,
      epoch: 1,
      counts: { live: 1, failed: 0 },
    })
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 1: 0 })
    expect(await read(groupId)).toMatchObject({ outcome: 'SUCCEEDED', epoch: 1, counts: { succeeded: 3 } })
    expect((await events()).map(({ data }) => (data as { epoch: number }).epoch)).toEqual([0, 1])
  })

  test('ends once more, also if the resubmitted members end before it is judged', async () => {
    const { server, agent, db } = given
    const { groupId } = await create({ indexes: '0-1' })
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 0: 0, 1: 2 })
    const { endedAt } = await read(groupId)
    const context = { ...server.context, prisma: given.database.prisma, sync: NO_SYNC_POINTS }
    await db.transaction(async (tx) => {
      // Another server is judging groups.
      expect(await isAlone(tx)).toBe(true)
      await resubmitSessions(context, { filter: { group: groupId, result: ['FAILURE'] } } as never)
      await driveAll(server, agent, 'RUNNING')
      await end(groupId, { 1: 0 })
      expect(await read(groupId)).toMatchObject({ outcome: 'FAILED', epoch: 0 })
    })
    await server.settle()
    const again = await read(groupId)
    expect(again).toMatchObject({ outcome: 'SUCCEEDED', epoch: 1, reason: '2 of 2 succeeded' })
    expect(again.endedAt!.getTime()).toBeGreaterThan(endedAt!.getTime())
    expect((await events()).map(({ data }) => (data as { outcome: string }).outcome)).toEqual(['FAILED', 'SUCCEEDED'])
  })

  test('has the counts of its members, whatever happens to them', async () => {
    const { server, agent } = given
    const retryPolicy = { maxRetries: 1, retryDelay: 3600 }
    const { groupId } = await create({ indexes: '0-9', maxRunning: 6 }, [{ ...WORK, retryPolicy }])
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 0: 0, 1: 1, 2: 1, 3: 0 })
    const [, one] = await members(groupId)
    await terminateSession(server.context, { sessionId: one!.tail_id })
    // Half of the changes are still to be added up.
    const before = await read(groupId)
    expect(before.counts).toEqual(await counted(groupId))
    await server.settle()
    expect((await read(groupId)).counts).toEqual(await counted(groupId))
    expect(before.counts).toMatchObject({ succeeded: 2, waiting: 1 })
    expect(judgeGroup(before)).toBeNull()
  })

  test('has one webhook at its end, instead of those of its members where that is asked for', async () => {
    const { server, agent, db } = given
    const hooks = webhookServer(db)
    const url = 'https://example.com/hook'
    const [all, ofGroups] = await Promise.all(
      [false, true].map((skipGroupMembers) => hooks.create({ url, eventTypes: ['*'], skipGroupMembers })),
    )
    const { groupId } = await create({ key: 'k', maxFailed: 1, indexes: '0-2' })
    const { sessionId: alone } = await createSession(server.context, { ...WORK, name: 'alone' })
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 0: 0, 1: 5, 2: 0 })
    await hooks.fanOut()
    const deliveries = (id: string) =>
      given.sql(
        `SELECT event_type AS type, occurred_at AS "occurredAt", session_id AS "sessionId", chain_id AS "chainId", facts
         FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY event_id`,
        [id],
      )
    const rows = await deliveries(ofGroups!.webhookId)
    const sessions = rows.filter(({ type }) => type !== 'group.ended').map(({ sessionId }) => sessionId)
    expect(new Set(sessions)).toEqual(new Set([alone]))
    const [ended, ...others] = rows.filter(({ type }) => type === 'group.ended')
    expect(others).toEqual([])
    expect(JSON.parse(payloadOf(ended as never))).toMatchObject({
      type: 'group.ended',
      data: {
        group_id: groupId,
        group_key: 'k',
        group_name: 'sweep',
        project: 'default',
        outcome: 'FAILED',
        counts: { total: 3, succeeded: 2, failed: 1, cancelled: 0 },
        failures: [{ index: 1, chain_id: expect.any(String), cause: 'KERNEL_NONZERO_EXIT' }],
      },
    })
    const types = (await deliveries(all!.webhookId)).map(({ type }) => type)
    expect(types.filter((type) => type === 'chain.failed')).toHaveLength(1)
    expect(types.filter((type) => type === 'group.ended')).toHaveLength(1)
  })

  test('is removed with the last of its members', async () => {
    const { server, agent } = given
    const { groupId } = await create({ indexes: '0-1' })
    await driveAll(server, agent, 'RUNNING')
    await end(groupId, { 0: 0, 1: 0 })
    expect(await removeEmptyGroups(given.db, 10)).toBe(0)
    await given.sql('DELETE FROM sessions WHERE group_id = $1 AND group_index = 0', [groupId])
    expect(await read(groupId)).toMatchObject({ counts: { succeeded: 2, total: 2 } })
    await given.sql('DELETE FROM sessions WHERE group_id = $1', [groupId])
    expect(await removeEmptyGroups(given.db, 10)).toBe(1)
  })
})

test('ten thousand members are created in one call', async () => {
  const { groupId } = await create({ indexes: '1-10000', maxRunning: 100 })
  expect((await read(groupId)).counts).toMatchObject({ total: 10_000, live: 10_000 })
})
