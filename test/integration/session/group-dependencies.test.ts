/** Groups that wait for groups: when their members begin, and what becomes of them if they never can. */
import { describe, expect, test } from 'vitest'
import type { GroupCondition } from '../../../src/domain/session/session-group.ts'
import { explainPendingSessions } from '../../../src/services/session/explain-pending.ts'
import { requireGroup } from '../../../src/services/session/read-groups.ts'
import { addGroupMembers, createGroup, type GroupInput } from '../../../src/services/session/session-groups.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

const WORK = { name: 'work', command: ['true'] }

async function create(name: string, indexes: string, more: Partial<GroupInput> = {}): Promise<string> {
  const input = { sessions: [WORK], group: { name, indexes, ...more } }
  return (await createGroup(given.server.context, input)).groupId
}

const after = (groupId: string, condition: GroupCondition) => ({ dependsOn: [{ groupId, condition }] })

async function states(groupId: string): Promise<string> {
  const rows = await given.sql(
    `SELECT s.status, c.state FROM chains c JOIN sessions s ON s.id = c.tail_id WHERE c.group_id = $1 ORDER BY c.group_index`,
    [groupId],
  )
  return rows.map(({ status, state }) => (state === 'LIVE' ? status : state)).join(' ')
}

/** Lets the scheduler and the agent work off what there is. */
async function settle(): Promise<void> {
  const { server, agent } = given
  for (let round = 0; round < 3; round++) {
    await server.settle()
    await agent.comply()
  }
  await server.settle()
}

/** Ends the running members with these indexes, each with its exit code. */
async function end(groupId: string, exits: Record<number, number>): Promise<void> {
  const { agent, db } = given
  const members = await given.sql('SELECT group_index, tail_id FROM chains WHERE group_id = $1', [groupId])
  for (const { group_index: index, tail_id: id } of members as { group_index: number; tail_id: string }[]) {
    if (exits[index] === undefined) continue
    for (const kernel of await kernelRows(db, id))
      agent.observe(kernel.id, { status: 'EXITED', exitCode: exits[index] })
  }
  await settle()
}

const groupOf = (id: string) => requireGroup(given.server.context, id)

describe('a group that depends on another one', () => {
  test('begins when that one has succeeded, and says until then what it waits for', async () => {
    const [first, other] = [await create('first', '1-2'), await create('other', '1')]
    const dependsOn = [first, other].map((groupId) => ({ groupId }))
    const second = await create('second', '1-3', { dependsOn })
    await settle()
    expect(await states(first)).toBe('RUNNING RUNNING')
    expect(await states(second)).toBe('PENDING PENDING PENDING')
    const [waiting] = (await given.sql('SELECT id FROM sessions WHERE group_id = $1 LIMIT 1', [second])) as {
      id: string
    }[]
    const reasons = await explainPendingSessions(given.server.context, [waiting!.id])
    expect(reasons.get(waiting!.id)?.text).toMatch(/^waits for group (first|other), which its own group depends on$/)
    await end(first, { 1: 0, 2: 0 })
    expect(await states(second)).toBe('PENDING PENDING PENDING')
    await end(other, { 1: 0 })
    expect(await states(second)).toBe('RUNNING RUNNING RUNNING')
    const late = await create('late', '1', after(first, 'ALL_SUCCEEDED'))
    await settle()
    expect(await states(late)).toBe('RUNNING')
  })

  test('fails if that one does, unless only its end matters', async () => {
    const first = await create('first', '1-2')
    const [strict, lenient] = [
      await create('strict', '1-2', after(first, 'ALL_SUCCEEDED')),
      await create('lenient', '1-2', after(first, 'ENDED')),
    ]
    await settle()
    await end(first, { 1: 0, 2: 3 })
    expect(await states(first)).toBe('SUCCEEDED FAILED')
    expect(await states(strict)).toBe('CANCELLED CANCELLED')
    expect(await groupOf(strict)).toMatchObject({
      outcome: 'FAILED',
      reason: 'depends on group first, which did not succeed',
      endedAt: expect.any(Date) as Date,
    })
    expect(await states(lenient)).toBe('RUNNING RUNNING')
    const late = await create('late', '1', after(first, 'ALL_SUCCEEDED'))
    await settle()
    expect(await groupOf(late)).toMatchObject({ outcome: 'FAILED' })
    expect(await states(late)).toBe('CANCELLED')
  })

  test('may have each member wait for its like', async () => {
    const first = await create('first', '1-3')
    const second = await create('second', '1-2', { ...after(first, 'SAME_INDEX'), open: true })
    await settle()
    await end(first, { 2: 0 })
    expect(await states(second)).toBe('PENDING RUNNING')
    const { context } = given.server
    await addGroupMembers(context, { groupId: second, sessions: [WORK], indexes: '3', close: true })
    await settle()
    expect(await states(second)).toBe('PENDING RUNNING PENDING')
    await end(first, { 1: 4, 3: 0 })
    expect(await states(second)).toBe('FAILED RUNNING RUNNING')
    const missing = { issues: [{ message: `Group ${first} has no member with the index 4.` }] }
    await expect(create('third', '2-4', after(first, 'SAME_INDEX'))).rejects.toMatchObject(missing)
  })

  test('is refused if there is no such group in its project', async () => {
    const nobody = '019aaaaa-0000-7000-8000-000000000000'
    await expect(create('lost', '1', after(nobody, 'ENDED'))).rejects.toMatchObject({ code: 'GROUP_NOT_FOUND' })
    const first = await create('first', '1')
    const twice = { dependsOn: [{ groupId: first }, { groupId: first, condition: 'ENDED' as const }] }
    const issues = [{ path: 'group.dependsOn', message: 'Each group at most once' }]
    await expect(create('twice', '1', twice)).rejects.toMatchObject({ issues })
    await given.sql(
      `INSERT INTO projects (id, domain_id, name) SELECT gen_random_uuid(), domain_id, 'apart' FROM projects LIMIT 1`,
    )
    const apart = { sessions: [{ ...WORK, project: 'apart' }], group: { name: 'apart', ...after(first, 'ENDED') } }
    await expect(createGroup(given.server.context, apart)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    expect(await given.sql('SELECT FROM session_groups')).toHaveLength(1)
  })

  test('never misses the end of that one, even if it is created at that moment', async () => {
    for (let round = 0; round < 4; round++) {
      const first = await create('first', '1')
      await settle()
      const [ending] = await given.sql('SELECT tail_id FROM chains WHERE group_id = $1', [first])
      for (const kernel of await kernelRows(given.db, String(ending!['tail_id'])))
        given.agent.observe(kernel.id, { status: 'EXITED', exitCode: 0 })
      await given.agent.sync()
      const made = Promise.all(Array.from({ length: 4 }, () => create('second', '1', after(first, 'ALL_SUCCEEDED'))))
      const [seconds] = await Promise.all([made, given.server.settle()])
      await settle()
      for (const second of seconds) {
        expect(await states(second)).toBe('RUNNING')
        await end(second, { 1: 0 })
      }
    }
  })
})
