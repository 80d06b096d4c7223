import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codegen } from '@graphql-codegen/core'
import * as documents from '@graphql-codegen/typed-document-node'
import * as operations from '@graphql-codegen/typescript-operations'
import { buildSchema, isObjectType, Kind, parse, visit, type DocumentNode, type FragmentDefinitionNode } from 'graphql'

const ROOT = join(import.meta.dirname, '..')
const KEYLESS_TYPES = 'src/ui/api/cache-keys.generated.ts'

/**
 * By path from the project's root: beside each `.graphql` of the UI a module with its documents and their types, so that
 * a page loads the operations of its own; and the types that the cache cannot tell apart.
 */
export async function generateUiOperations(): Promise<Map<string, string>> {
  const paths = (await readdir(join(ROOT, 'src/ui'), { recursive: true }))
    .filter((path) => path.endsWith('.graphql'))
    .map((path) => `src/ui/${path.replaceAll('\\', '/')}`)
    .toSorted()
  const parsed = new Map<string, DocumentNode>()
  for (const path of paths) parsed.set(path, parse(await readFile(join(ROOT, path), 'utf8'), { noLocation: true }))
  const fragments = new Map(
    [...parsed.values()]
      .flatMap(({ definitions }) => definitions)
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  )
  const schema = await readFile(join(ROOT, 'schema.graphql'), 'utf8')
  const made = new Map([[KEYLESS_TYPES, keylessTypes(schema)]])
  for (const [path, document] of parsed) {
    const generated = path.replace(/\.graphql$/, '.generated.ts')
    made.set(generated, await generate(schema, generated, withFragments(document, fragments)))
  }
  return made
}

async function generate(schema: string, path: string, document: DocumentNode): Promise<string> {
  const text = await codegen({
    schema: parse(schema),
    documents: [{ document, location: path }],
    filename: path,
    plugins: [{ operations: {} }, { documents: {} }],
    pluginMap: { operations, documents },
    config: {
      documentMode: 'documentNode',
      optimizeDocumentNode: true,
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

/** With the fragments of other files that it spreads, and those that these do. */
function withFragments(document: DocumentNode, all: Map<string, FragmentDefinitionNode>): DocumentNode {
  const definitions = [...document.definitions]
  const present = new Set(definitions.map((definition) => ('name' in definition ? definition.name?.value : undefined)))
  for (const definition of definitions) {
    visit(definition, {
      FragmentSpread({ name: { value } }) {
        const fragment = all.get(value)
        if (present.has(value)) return
        if (!fragment) throw new Error(`There is no fragment ${value} in src/ui`)
        present.add(value)
        definitions.push(fragment)
      },
    })
  }
  return { ...document, definitions }
}

function keylessTypes(schema: string): string {
  const types = Object.values(buildSchema(schema).getTypeMap()).filter((type) => isObjectType(type))
  const keyless = types.filter((type) => !type.name.startsWith('__') && !('id' in type.getFields()))
  const lines = keyless.map(({ name }) => `  '${name}',\n`).toSorted()
  return `/** Object types without an id: the cache keeps them as parts of what they belong to. */\nexport const KEYLESS_TYPES = [\n${lines.join('')}] as const\n`
}
