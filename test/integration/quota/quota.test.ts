/** Quotas: reading and setting them, creation beyond them, what they count, and how long they are locked. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import type { QuotaKey } from '../../../src/domain/quota.ts'
import { countPending, lockQuotas, quotaKey, readQuotas } from '../../../src/store/sql/quota.sql.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'
import { DEFAULT_DOMAIN_ID } from '../../support/sessions/factories.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

describe('quotas over GraphQL', () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startGraphQLServer()
  })
  afterAll(() => server?.close())

  const SHOWN = `scope name slots { slot amount } maxRunning maxPending maxCheckpointBytes
  usage { slots { slot amount } running pending checkpointBytes }`
  const SET = `mutation ($input: SetQuotaInput!) { setQuota(input: $input) { __typename
  ... on SetQuotaPayload { quota { ${SHOWN} } }
  ... on ValidationError { issues { path } } ... on Error { code } } }`

  async function set(input: object, token?: string) {
    const { data, errors } = await server.query(SET, { input }, token)
    expect(errors).toBeUndefined()
    return data.setQuota
  }

  const NOTHING = { slots: [], running: 0, pending: 0, checkpointBytes: 0 }

  test('limits are set one by one, read with their usage, and cleared', async () => {
    await server.factory.session({ status: 'RUNNING', clusterSize: 2 })
    await server.factory.session()
    await server.factory.session({ status: 'TERMINATED' })
    const project = { scope: 'PROJECT', name: 'default' }
    await set({
      ...project,
      slots: [
        { slot: 'mem', amount: '2g' },
        { slot: 'gpu', amount: '0' },
      ],
    })
    const quota = {
      ...project,
      slots: [
        { slot: 'gpu', amount: '0' },
        { slot: 'mem', amount: '2147483648' },
      ],
      maxRunning: 0,
      maxPending: null,
      maxCheckpointBytes: null,
      usage: {
        slots: [
          { slot: 'cpu', amount: '2' },
          { slot: 'mem', amount: '2097152' },
        ],
        running: 1,
        pending: 1,
        checkpointBytes: 0,
      },
    }
    expect(await set({ ...project, maxRunning: 0 })).toEqual({ __typename: 'SetQuotaPayload', quota })
    const read = `{ quotas { ${SHOWN} } quota(scope: PROJECT, name: "default") { ${SHOWN} }
    projects { edges { node { quota { ${SHOWN} } } } } }`
    const { data } = await server.query(read)
    expect(data).toEqual({ quotas: [quota], quota, projects: { edges: [{ node: { quota } }] } })
    await set({ ...project, slots: null, maxRunning: null })
    const cleared = {
      ...project,
      slots: [],
      maxRunning: null,
      maxPending: null,
      maxCheckpointBytes: null,
      usage: quota.usage,
    }
    expect((await server.query(read)).data).toMatchObject({ quotas: [], quota: cleared })
    const { rows } = await server.db.query(`SELECT details FROM audit_log WHERE action = 'quota.set' ORDER BY id DESC`)
    expect(rows[0]!.details).toMatchObject({
      ...project,
      before: { slots: { gpu: '0', mem: '2147483648' }, maxRunning: 0, maxPending: null },
      after: { slots: {}, maxRunning: null },
    })
  })

  test('a limit on checkpoints is shown like slots, and stored checkpoints count against it', async () => {
    const project = { scope: 'PROJECT', name: 'default' }
    expect(await set({ ...project, maxCheckpointBytes: '1.5g' })).toMatchObject({
      quota: { maxCheckpointBytes: 1.5 * 2 ** 30, usage: { checkpointBytes: 0 } },
    })
    // An amount of bytes is written as it is read.
    expect(await set({ ...project, maxCheckpointBytes: 2 ** 31 })).toMatchObject({
      quota: { maxCheckpointBytes: 2 ** 31 },
    })
    for (const maxCheckpointBytes of ['-1', 'much', '1e400', '', `1${'0'.repeat(18)}`])
      expect(await set({ ...project, maxCheckpointBytes })).toMatchObject({ issues: [{ path: 'maxCheckpointBytes' }] })
    expect(await set({ ...project, maxCheckpointBytes: null })).toMatchObject({ quota: { maxCheckpointBytes: null } })
  })

  test('all faults are reported at once', async () => {
    const faulty = {
      slots: [
        { slot: '', amount: '1' },
        { slot: 'cpu', amount: '-1' },
        { slot: 'cpu', amount: '1' },
      ],
    }
    expect(await set({ scope: 'PROJECT', name: '', maxRunning: -1, maxPending: -1, ...faulty })).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: 'slots.0.slot' }, { path: 'maxRunning' }, { path: 'maxPending' }, { path: 'name' }],
    })
    expect(await set({ scope: 'PROJECT', name: 'default', slots: faulty.slots.slice(1) })).toMatchObject({
      issues: [{ path: 'slots.0.amount' }, { path: 'slots.1.slot' }],
    })
    expect(await set({ scope: 'USER', name: 'nobody', maxRunning: 1 })).toMatchObject({ code: 'USER_NOT_FOUND' })
    expect(await set({ scope: 'DOMAIN', name: 'a\0b', maxRunning: 1 })).toMatchObject({ code: 'DOMAIN_NOT_FOUND' })
  })

  test('only an administrator of the cluster sets them, and a project sees those that limit it', async () => {
    const other = await server.factory.project('other-tenant')
    await set({ scope: 'PROJECT', name: 'other-tenant', maxPending: 1 })
    await set({ scope: 'DOMAIN', name: 'default', maxPending: 9 })
    const member = await server.factory.token({ role: 'ADMIN', projectId: DEFAULT_PROJECT_ID })
    expect(await set({ scope: 'PROJECT', name: 'default', maxPending: 99 }, member)).toMatchObject({
      code: 'FORBIDDEN',
    })
    const read = `query ($name: String!) { quotas { scope name } quota(scope: PROJECT, name: $name) { name } }`
    expect((await server.query(read, { name: 'other-tenant' }, member)).data).toEqual({
      quotas: [{ scope: 'DOMAIN', name: 'default' }],
      quota: null,
    })
    const foreign = await server.factory.token({ role: 'VIEWER', projectId: other })
    expect((await server.query(read, { name: 'other-tenant' }, foreign)).data).toEqual({
      quotas: [
        { scope: 'PROJECT', name: 'other-tenant' },
        { scope: 'DOMAIN', name: 'default' },
      ],
      quota: { name: 'other-tenant' },
    })
    await set({ scope: 'PROJECT', name: 'other-tenant', maxPending: null })
    await set({ scope: 'DOMAIN', name: 'default', maxPending: null })
  })

  test('creation beyond a limit returns an error for that session, beside the created ones', async () => {
    await server.factory.project('small')
    await set({ scope: 'PROJECT', name: 'small', maxPending: 1 })
    const sessions = ['a', 'b'].map((name) => ({ name, command: ['true'], project: 'small' }))
    const { data } = await server.query(
      `mutation ($input: CreateSessionsInput!) { createSessions(input: $input) { ... on CreateSessionsPayload {
      results { __typename ... on Error { code message } } } } }`,
      { input: { sessions } },
    )
    expect(data.createSessions.results).toEqual([
      { __typename: 'CreateSessionPayload' },
      {
        __typename: 'QuotaExceededError',
        code: 'QUOTA_EXCEEDED',
        message: 'project small has 1 pending sessions, and may have 1',
      },
    ])
  })

  test('the quotas of a page of projects are one statement', async () => {
    const read = async (first: number) => {
      const query = `{ projects(first: ${first}) { edges { node { quota { ${SHOWN} } } } } }`
      const { result, statements } = await recordStatements(() => server.query(query))
      return { result, statements: statements.filter((sql) => !/session_events|api_tokens/.test(sql)) }
    }
    const few = await read(1)
    for (let n = 0; n < 30; n++) await server.factory.project()
    const many = await read(30)
    expect(many.result.data.projects.edges).toHaveLength(30)
    expect(many.result.data.projects.edges.at(-1).node.quota.usage).toEqual(NOTHING)
    expect(many.statements).toHaveLength(few.statements.length)
  })
})

describe('usage of quotas', () => {
  const given = useScheduling()
  const PROJECT = { scope: 'PROJECT', scopeId: DEFAULT_PROJECT_ID } as const
  const DOMAIN = { scope: 'DOMAIN', scopeId: DEFAULT_DOMAIN_ID } as const

  it('counts pending and running sessions and held slots, for each of several scopes', async () => {
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
      outputBytes: 0,
    })
    expect(usage.get(quotaKey(DOMAIN))).toEqual({
      slots: { cpu: '3', fpga: '0.4' },
      running: 2,
      pending: 1,
      checkpointBytes: 0,
      outputBytes: 0,
    })
    expect(usage.get(quotaKey(USER))).toEqual({
      slots: { cpu: '2.5', fpga: '0.2' },
      running: 1,
      pending: 0,
      checkpointBytes: 0,
      outputBytes: 0,
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
    expect(await usageOf(USER)).toEqual({ slots: {}, running: 1, pending: 0, checkpointBytes: 0, outputBytes: 0 })
  })

  it('only quotas that limit the growing figure are locked for the transaction', async () => {
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
})
