/** What quotas count, and how long they are locked. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import type { QuotaKey } from '../../../src/domain/quota.ts'
import { countPending, lockQuotas, quotaKey, readQuotas } from '../../../src/store/sql/quota.sql.ts'
import { DEFAULT_DOMAIN_ID } from '../../support/sessions/factories.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

const given = useScheduling()
const PROJECT = { scope: 'PROJECT', scopeId: DEFAULT_PROJECT_ID } as const
const DOMAIN = { scope: 'DOMAIN', scopeId: DEFAULT_DOMAIN_ID } as const

it('counts what is pending, what runs and the slots that are held, for each of several scopes', async () => {
  const { server, db, sql } = given
  const [userId, otherProject] = [randomUUID(), randomUUID()]
  await insertRows(db, 'users', [{ id: userId, name: 'ulla' }])
  await insertRows(db, 'projects', [{ id: otherProject, domain_id: DEFAULT_DOMAIN_ID, name: 'other' }])
  const USER = { scope: 'USER', scopeId: userId } as const
  const slots = (cpu: string, mem: string) => [
    { slot: 'cpu', amount: cpu },
    { slot: 'fpga', amount: mem },
  ]
  await sql(`INSERT INTO agent_slots (agent_id, slot, declared, capacity) VALUES ($1, 'fpga', 10, 10)`, [
    given.agent.id,
  ])
  const own = await server.create({ resourceSlots: slots('1.25', '0.1'), clusterSize: 2 })
  await sql('UPDATE sessions SET user_id = $1', [userId])
  await server.create({ resourceSlots: slots('0.5', '0.2'), project: 'other' })
  await server.run('schedule-sessions')
  await server.create()
  await sql(`UPDATE sessions SET status = 'TERMINATED', terminated_at = now() WHERE id = $1`, [await server.create()])

  const usageOf = async (key: QuotaKey) => (await readQuotas(db, [key]))[0]!.usage
  const quotas = await readQuotas(db, [PROJECT, DOMAIN, USER])
  const usage = new Map(quotas.map((quota) => [quotaKey(quota), quota.usage]))
  expect(usage.get(quotaKey(PROJECT))).toEqual({
    slots: { cpu: '2.5', fpga: '0.2' },
    running: 1,
    pending: 1,
    checkpointBytes: 0,
  })
  expect(usage.get(quotaKey(DOMAIN))).toEqual({
    slots: { cpu: '3', fpga: '0.4' },
    running: 2,
    pending: 1,
    checkpointBytes: 0,
  })
  expect(usage.get(quotaKey(USER))).toEqual({
    slots: { cpu: '2.5', fpga: '0.2' },
    running: 1,
    pending: 0,
    checkpointBytes: 0,
  })
  expect(await countPending(db, [PROJECT, USER])).toEqual(
    new Map([
      [quotaKey(PROJECT), 1],
      [quotaKey(USER), 0],
    ]),
  )
  await sql(
    `UPDATE kernels SET status = 'TERMINATED', slots_held = false, terminated_at = now() WHERE session_id = $1`,
    [own],
  )
  expect(await usageOf(USER)).toEqual({ slots: {}, running: 1, pending: 0, checkpointBytes: 0 })
})

it('quotas are held for the transaction, those that limit what is about to grow alone', async () => {
  const { db } = given
  await insertRows(db, 'resource_policies', [
    { scope: 'PROJECT', scope_id: DEFAULT_PROJECT_ID, max_pending: 3, slots: {} },
    { scope: 'DOMAIN', scope_id: DEFAULT_DOMAIN_ID, max_running: 0, slots: {} },
  ])
  const owners = { projectIds: [DEFAULT_PROJECT_ID], userIds: [] }
  const order: string[] = []
  const first = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holder = db.transaction(async (tx) => {
    expect(await lockQuotas(tx, owners, 'PENDING')).toEqual([
      { ...PROJECT, name: 'default', slots: {}, maxRunning: null, maxPending: 3, projectIds: [DEFAULT_PROJECT_ID] },
    ])
    locked.resolve()
    await first.promise
    order.push('holder')
  })
  await locked.promise
  await db.transaction(async (tx) => {
    expect(await lockQuotas(tx, owners, 'RUNNING')).toMatchObject([
      { ...DOMAIN, name: 'default', maxRunning: 0, projectIds: [DEFAULT_PROJECT_ID] },
    ])
  })
  const waiter = db.transaction(async (tx) => {
    await lockQuotas(tx, owners, 'PENDING')
    order.push('waiter')
  })
  first.resolve()
  await Promise.all([holder, waiter])
  expect(order).toEqual(['holder', 'waiter'])
})
