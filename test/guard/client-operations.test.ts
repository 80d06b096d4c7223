import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { CLIENT_ENUMS, generateClientEnums } from '../../scripts/client-enums.ts'
import { CLIENT_ERRORS, generateClientErrors } from '../../scripts/client-errors.ts'
import { generateOperations } from '../../scripts/operations.ts'

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
