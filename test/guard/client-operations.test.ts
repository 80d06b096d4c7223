import { readFile } from 'node:fs/promises'
import { buildSchema, Kind, TypeInfo, visit, visitWithTypeInfo } from 'graphql'
import { expect, test } from 'vitest'
import { CLIENT_ENUMS, generateClientEnums } from '../../scripts/client-enums.ts'
import { CLIENT_ERRORS, generateClientErrors } from '../../scripts/client-errors.ts'
import { generateOperations, readDocuments } from '../../scripts/operations.ts'

test('the operations of the client and of the web UI are what their documents and schema.graphql give', async () => {
  const made = [...(await generateOperations())]
  expect(made.length).toBeGreaterThan(3)
  const committed = await Promise.all(made.map(([path]) => readFile(path, 'utf8').catch(() => null)))
  const stale = made.filter(([, text], index) => text !== committed[index]).map(([path]) => path)
  expect(stale, '`npm run generate` writes them').toEqual([])
})

test('the error codes of the client are those of the server', async () => {
  const committed = await readFile(CLIENT_ERRORS, 'utf8')
  expect(committed === generateClientErrors(), '`npm run generate` writes them').toBe(true)
})

test('the values that the command line takes are those of the schema', async () => {
  const committed = await readFile(CLIENT_ENUMS, 'utf8')
  expect(committed === generateClientEnums(), '`npm run generate` writes them').toBe(true)
})

const EQUAL_FIELDS_MAX = 8

test('fields that several documents of the web UI read of a type are in a fragment', async () => {
  const info = new TypeInfo(buildSchema(await readFile('schema.graphql', 'utf8')))
  const read: { path: string; type: string; fields: Set<string> }[] = []
  for (const [path, document] of await readDocuments('src/ui')) {
    visit(
      document,
      visitWithTypeInfo(info, {
        SelectionSet({ selections }) {
          const fields = selections.flatMap((each) => (each.kind === Kind.FIELD ? [each.name.value] : []))
          read.push({ path, type: info.getParentType()!.name, fields: new Set(fields) })
        },
      }),
    )
  }
  expect(read.length).toBeGreaterThan(100)
  const repeated = read.flatMap(({ path, type, fields }, index) =>
    read
      .slice(index + 1)
      .filter((other) => other.type === type && other.path !== path)
      .filter((other) => fields.intersection(other.fields).size > EQUAL_FIELDS_MAX)
      .map((other) => `${type}: ${path} and ${other.path}`),
  )
  expect(repeated).toEqual([])
})
