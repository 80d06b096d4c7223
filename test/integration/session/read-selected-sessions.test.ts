/** What our own statement reads of sessions is, column by column, what Prisma reads. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Prisma, type Session } from '../../../src/generated/prisma/client.ts'
import { type SessionKey, sessionReader } from '../../../src/services/session/read-sessions.ts'
import type { PrismaClient } from '../../../src/store/prisma.ts'
import { plainSelection } from '../../../src/store/sql/session/read-sessions.sql.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { createFactories } from '../../support/sessions/factories.ts'

let database: TestDatabase
let prisma: PrismaClient

beforeAll(async () => {
  database = await testDatabase()
  prisma = database.prisma
})
afterAll(async () => {
  await database.close()
})

const every = (columns: object) => Object.fromEntries(Object.keys(columns).map((name) => [name, true]))
const SESSION = every(Prisma.SessionScalarFieldEnum)
const WHOLE = { ...SESSION, decision: { select: every(Prisma.RetryDecisionScalarFieldEnum) } }

test.each(['id', 'chainId', 'parentSessionId'] satisfies SessionKey[])('the same rows by %s as Prisma', async (by) => {
  const { db } = database
  const factory = createFactories(db)
  const chain = await factory.chain(3, { status: 'ERROR', phase: 'EXHAUSTED', labels: { team: 'a' }, clusterSize: 2 })
  const running = await factory.session({ status: 'RUNNING' })
  const child = chain.at(-1)!
  await db.query(
    `UPDATE sessions SET batch_timeout = 1.5, starts_at = now(), environ = '[{"name": "A", "value": "\\"é\\""}]',
       command = ARRAY['sh', '-c', 'a,"b" {c}', ''], avoid_agents = ARRAY[id], image = 'x', avoid_groups = '{a,"b c"}' WHERE id = $1`,
    [child.id],
  )
  const values = [...chain, running].map((row) => (by === 'chainId' ? row.chainId : row.id))
  const read = { projectId: null, by, values, select: WHOLE, selectKey: '' }
  const ours = await sessionReader({ db, prisma })(read)
  const orderBy = { attempt: 'asc' } as const
  const theirs = (await prisma.session.findMany({
    where: { [by]: { in: values } },
    select: WHOLE,
    orderBy,
  })) as unknown as Session[]
  const sorted = (rows: readonly { id: string }[]) => rows.toSorted((a, b) => a.id.localeCompare(b.id))
  expect(sorted(ours)).toEqual(sorted(theirs))
  expect(ours.length).toBeGreaterThanOrEqual(2)
  expect(ours.map(({ attempt }) => attempt)).toEqual(theirs.map(({ attempt }) => attempt))
})

test("another project's sessions are not read", async () => {
  const { db } = database
  const factory = createFactories(db)
  const [own, other] = [await factory.project(), await factory.project()]
  const session = await factory.session({ status: 'PENDING', projectId: own })
  const read = { by: 'id', values: [session.id], select: SESSION, selectKey: '' } as const
  expect(await sessionReader({ db, prisma })({ ...read, projectId: own })).toHaveLength(1)
  expect(await sessionReader({ db, prisma })({ ...read, projectId: other })).toEqual([])
})

test('what goes on to other things is left to Prisma', () => {
  expect(plainSelection({ id: true, decision: { select: { phase: true } } })).toEqual({
    session: ['id'],
    decision: ['phase'],
  })
  expect(plainSelection({ id: true, name: false })).toEqual({ session: ['id'], decision: null })
  expect(plainSelection({ id: true, project: true })).toBeUndefined()
  expect(plainSelection({ id: true, decision: true })).toBeUndefined()
  expect(plainSelection({ id: true, kernels: { select: { id: true } } })).toBeUndefined()
})
