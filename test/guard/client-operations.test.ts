import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { CLIENT_OPERATIONS, generateClientOperations } from '../../scripts/client-operations.ts'

test('the operations of the client are what its documents and schema.graphql give', async () => {
  const committed = await readFile(CLIENT_OPERATIONS, 'utf8')
  expect(committed === (await generateClientOperations()), '`npm run generate` writes them').toBe(true)
})
