/** Every hand-written statement is prepared, and its columns are those of the row type that its callers read. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parserFor } from '../../../src/store/database.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type ColumnType, fits, neverIs, readColumnTypes } from '../../support/statements/column-types.ts'
import { type Column, describeStatement } from '../../support/statements/describe-statement.ts'
import { FORMS } from '../../support/statements/forms.ts'
import { evaluateInModules, statementConstants } from '../../support/statements/module-statements.ts'
import { findQueryCalls, type QueryCall } from '../../support/statements/query-calls.ts'
import { recordForms } from '../../support/statements/record-forms.ts'

let database: TestDatabase
let client: pg.Client
let typeOf: (column: Column, call: QueryCall) => ColumnType

beforeAll(async () => {
  database = await testDatabase()
  client = await database.connect()
  const columnTypes = await readColumnTypes(database.db)
  typeOf = ({ oid }, { plainDriver }) => columnTypes(oid, plainDriver ? pg.types.getTypeParser : parserFor)
})

afterAll(async () => {
  await client.end()
  await database.close()
})

/** What each call sends: a constant, or what it was seen to send. */
async function readStatements(calls: readonly QueryCall[]): Promise<Map<QueryCall, ReadonlySet<string>>> {
  const constants = calls.filter(({ constant }) => constant)
  const byPath = Object.entries(Object.groupBy(constants, ({ path }) => path))
  const values = await evaluateInModules(
    new Map(byPath.map(([path, some]) => [path, new Set(some!.map(({ statement }) => statement))])),
  )
  const forms = await recordForms(FORMS)
  return new Map(
    calls.map((call) => {
      const value = call.constant ? values.get(call.path)?.get(call.statement) : undefined
      const sent = forms.get(`${call.path}:${call.line}:${call.column}`)
      return [call, typeof value === 'string' ? new Set([value]) : (sent ?? new Set())]
    }),
  )
}

function differences(call: QueryCall, forms: readonly Column[][]): string[] {
  // Rows that nobody reads: something must be selected or returned even so.
  if (call.row === null) return forms.some(({ length }) => length > 1) ? ['has columns that no type names'] : []
  if (call.openKeys) return ['has a row type that allows any column']
  const faults = new Set<string>()
  for (const columns of forms) {
    const names = columns.map(({ name }) => name)
    for (const name of names) if (!call.row.has(name)) faults.add(`has ${name}, which the row type has not`)
    if (new Set(names).size < names.length) faults.add(`has a column twice: ${names.join()}`)
    for (const [name, { optional }] of call.row) {
      if (!optional && !names.includes(name)) faults.add(`lacks ${name} of the row type`)
    }
  }
  for (const [name, { kinds }] of call.row) {
    const types = forms
      .flat()
      .filter((column) => column.name === name)
      .map((column) => typeOf(column, call))
    const wrong = types.find((type) => !fits(type, kinds))
    const never = neverIs(types, kinds)
    if (types.length === 0) faults.add(`lacks ${name} of the row type`)
    else if (wrong) faults.add(`has ${name} as ${wrong.name}, parsed ${wrong.value}, which the row type does not tell`)
    else if (never) faults.add(`never has ${name} as ${never.is}, which the row type tells`)
  }
  return [...faults]
}

test('each statement has the columns of its row type, as what the driver makes of them', async () => {
  const calls = findQueryCalls()
  const statements = await readStatements(calls)
  const faults: string[] = []
  for (const [call, texts] of statements) {
    const place = `${call.path}:${call.line}`
    if (texts.size === 0) faults.push(`${place} sends what no form of test/support/statements/forms.ts has it send`)
    const described: Column[][] = []
    for (const text of texts) {
      await describeStatement(client, text).then(
        (columns) => described.push(columns),
        (error: Error) => faults.push(`${place} cannot be prepared: ${error.message}`),
      )
    }
    if (texts.size === 0 || described.length < texts.size) continue
    faults.push(...differences(call, described).map((fault) => `${place} ${fault}`))
  }
  expect(faults).toEqual([])

  const prepared = new Set([...statements.values()].flatMap((texts) => [...texts]))
  const named = await evaluateInModules(await statementConstants())
  const forgotten = [...named].flatMap(([path, values]) =>
    [...values]
      .filter(([, value]) => typeof value === 'string' && !prepared.has(value))
      .map(([name]) => `${path} ${name}`),
  )
  expect(forgotten, 'statements that no call sends').toEqual([])
  expect(calls.length).toBeGreaterThan(200)
})
