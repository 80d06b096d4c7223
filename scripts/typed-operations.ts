import { codegen } from '@graphql-codegen/core'
import * as documents from '@graphql-codegen/typed-document-node'
import * as operations from '@graphql-codegen/typescript-operations'
import { parse, type DocumentNode } from 'graphql'

/**
 * The path of the enums and inputs of all operations, from the project's root. Each is generated once, even if several
 * modules use it.
 */
export const SCHEMA_TYPES = 'src/client/schema-types.generated.ts'

const CONFIG = {
  dedupeFragments: true,
  inlineFragmentTypes: 'combine',
  enumType: 'string-literal',
  strictScalars: true,
  scalars: {
    UUID: 'string',
    DateTime: 'string',
    AirflowBackoff: 'boolean | number',
    Bytes: { input: 'number | string', output: 'number' },
    Duration: 'number | string',
    ExitCodes: 'number | string',
    JSON: 'unknown',
  },
  useTypeImports: true,
  importExtension: '.ts',
} as const

interface Source {
  schema: string
  documents: readonly DocumentNode[]
}

/**
 * Generates a module with the documents and the types of their variables and results. `path` is relative to the
 * project's root.
 */
export async function typedOperations({
  path,
  documentMode,
  ...source
}: Source & { path: string; documentMode: 'string' | 'documentNode' }): Promise<string> {
  return generate(path, source, [{ operations: {} }, { documents: {} }], {
    documentMode,
    optimizeDocumentNode: true,
    importSchemaTypesFrom: SCHEMA_TYPES,
    namespacedImportName: 'Types',
  })
}

/** Generates the module of the enums and inputs that the documents name. */
export async function schemaTypes(source: Source): Promise<string> {
  return generate(SCHEMA_TYPES, source, [{ operations: {} }], { generateOperationTypes: false })
}

async function generate(
  path: string,
  { schema, documents: given }: Source,
  plugins: object[],
  config: object,
): Promise<string> {
  const text = await codegen({
    schema: parse(schema),
    documents: given.map((document, index) => ({ document, location: `${path}#${index}` })),
    filename: path,
    plugins: plugins as { [name: string]: object }[],
    pluginMap: { operations, documents },
    config: { ...CONFIG, ...config },
  })
  return `${text.trim()}\n`
}
