/** Measuring a log by what has been added to it: always what there is, whatever came in which order or has gone. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogTextIndex, type LogTextOf, readLogText } from '../../../src/services/agent/kernel-logs.ts'
import type { Database, Queryable } from '../../../src/store/database.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { analysedPlanOf, rowsRead } from '../../support/database/plans.ts'
import { recordedDatabase } from '../../support/database/recorded-database.ts'
import { eventually } from '../../support/eventually.ts'
import { createFactories } from '../../support/sessions/factories.ts'

let database: TestDatabase
let kernelId: string

beforeAll(async () => {
  database = await testDatabase()
  kernelId = (await createFactories(database.db).session({ status: 'RUNNING' })).kernelIds[0]!
})
afterAll(() => database?.close())

/** Lines `from` to `to`, one piece each; those of every third go to standard error. */
async function write(from: number, to: number, on: Queryable = database.db): Promise<void> {
  await on.query(
    `INSERT INTO kernel_logs (kernel_id, assignment, stream, "offset", bytes, text, at)
     SELECT $1, 1, CASE WHEN n % 3 = 0 THEN 'STDERR' ELSE 'STDOUT' END::log_stream, n * 500, 1,
       'line ' || n || ' ' || repeat('é', n % 200) || E'\\n', now() FROM generate_series($2::int, $3::int) AS n`,
    [kernelId, from, to],
  )
}

async function wholeText({ stream }: LogTextOf): Promise<Buffer> {
  const { rows } = await database.db.query<{ text: string }>(
    `SELECT coalesce(string_agg(text, '' ORDER BY id), '') AS text FROM kernel_logs
     WHERE kernel_id = $1 AND ($2::log_stream IS NULL OR stream = $2)`,
    [kernelId, stream],
  )
  return Buffer.from(rows[0]!.text)
}

const bothAndEach = () => ([null, 'STDOUT', 'STDERR'] as const).map((stream): LogTextOf => ({ kernelId, stream }))

/** What is measured is what there is, and each part of it is found. */
async function expectExact(index: ReturnType<typeof createLogTextIndex>, db: Database = database.db): Promise<void> {
  for (const of of bothAndEach()) {
    const measured = await index.measure({ db }, of)
    const whole = await wholeText(of)
    expect(measured.bytes).toBe(whole.length)
    for (const first of [0, 1, 262_143, 262_144, 262_145, 600_000, whole.length - 10]) {
      if (first < 0 || first >= whole.length) continue
      const last = Math.min(first + 999, whole.length - 1)
      const parts: Uint8Array[] = []
      for await (const part of readLogText({ db }, of, measured, { first, last })) parts.push(part)
      expect(Buffer.concat(parts).equals(whole.subarray(first, last + 1)), `${of.stream} from ${first}`).toBe(true)
    }
  }
}

test('what is added is all that is looked at again', async () => {
  const index = createLogTextIndex()
  await expectExact(index)
  await write(1, 6_000)
  await expectExact(index)
  const looksAt = async () => {
    const recorded = recordedDatabase(database.db)
    await index.measure(recorded, { kernelId, stream: null })
    const [statement] = [...recorded.statements.values()]
    return rowsRead(await analysedPlanOf(database.db, statement!))
  }
  // Transactions of other databases may keep it from being settled for a while.
  await eventually(async () => (await looksAt()) < 10)
  await write(6_001, 6_050)
  const rows = await looksAt()
  expect(rows).toBeGreaterThanOrEqual(50)
  expect(rows).toBeLessThan(60)
  await expectExact(index)
})

test('what is committed late is counted, though later pieces were measured before it', async () => {
  const index = createLogTextIndex()
  const slow = await database.connect()
  try {
    await slow.query('BEGIN')
    await write(7_001, 7_010, slow)
    await write(7_011, 7_020)
    for (let time = 0; time < 3; time++) await expectExact(index)
    await slow.query('COMMIT')
  } finally {
    await slow.end()
  }
  for (let time = 0; time < 3; time++) await expectExact(index)
})

test('of a log that has lost its beginning, or is gone, nothing is remembered', async () => {
  const index = createLogTextIndex()
  for (let time = 0; time < 3; time++) await expectExact(index)
  const some = 'SELECT id FROM kernel_logs WHERE kernel_id = $1 ORDER BY id LIMIT 2000'
  await database.db.query(`DELETE FROM kernel_logs WHERE id IN (${some})`, [kernelId])
  for (let time = 0; time < 3; time++) await expectExact(index)
  await database.db.query('DELETE FROM kernel_logs')
  await expectExact(index)
  await write(1, 100)
  await expectExact(index)
})
