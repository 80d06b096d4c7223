import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lexicographicSortSchema, printSchema } from 'graphql'
import { schema } from '../src/graphql/schema.ts'

await writeFile(join(import.meta.dirname, '../schema.graphql'), `${printSchema(lexicographicSortSchema(schema))}\n`)
console.log('wrote schema.graphql')
