import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lexicographicSortSchema, printSchema } from 'graphql'
import { expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'
import { ROOT } from './source-files.ts'

test('schema.graphql is what the code serves', async () => {
  const committed = await readFile(join(ROOT, 'schema.graphql'), 'utf8')
  const served = `${printSchema(lexicographicSortSchema(schema))}\n`
  expect(committed, '`npm run generate` writes it').toBe(served)
})
