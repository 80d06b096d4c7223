import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codegen } from '@graphql-codegen/core'
import * as documents from '@graphql-codegen/typed-document-node'
import * as operations from '@graphql-codegen/typescript-operations'
import { parse } from 'graphql'

const ROOT = join(import.meta.dirname, '..')
const OPERATIONS = join(ROOT, 'src/client/operations')

export const CLIENT_OPERATIONS = join(ROOT, 'src/client/operations.generated.ts')

/** The client's operations with the types of their variables and results, as TypeScript. */
export async function generateClientOperations(): Promise<string> {
  const names = (await readdir(OPERATIONS)).filter((name) => name.endsWith('.graphql')).toSorted()
  const texts = await Promise.all(names.map((name) => readFile(join(OPERATIONS, name), 'utf8')))
  const text = await codegen({
    schema: parse(await readFile(join(ROOT, 'schema.graphql'), 'utf8')),
    documents: texts.map((source, index) => ({ document: parse(source), location: names[index]! })),
    filename: CLIENT_OPERATIONS,
    plugins: [{ operations: {} }, { documents: {} }],
    pluginMap: { operations, documents },
    config: {
      documentMode: 'string',
      dedupeFragments: true,
      inlineFragmentTypes: 'combine',
      enumType: 'string-literal',
      strictScalars: true,
      scalars: { UUID: 'string', DateTime: 'string', AirflowBackoff: 'boolean | number', ExitCodes: 'number | string' },
      useTypeImports: true,
    },
  })
  return `${text.trim()}\n`
}
