import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  buildSchema,
  isInterfaceType,
  isObjectType,
  Kind,
  parse,
  visit,
  type DocumentNode,
  type FragmentDefinitionNode,
} from 'graphql'
import { SCHEMA_TYPES, schemaTypes, typedOperations } from './typed-operations.ts'

const ROOT = join(import.meta.dirname, '..')
const CLIENT = 'src/client/operations'
const CLIENT_OPERATIONS = 'src/client/operations.generated.ts'
const CACHE_TYPES = 'src/ui/api/cache-types.generated.ts'

/**
 * Generates code from the operations of the client and of the web UI, by path from the project's root: one module for
 * the client; a module beside each `.graphql` of the UI, so that a page loads only its own operations; one module with
 * the enums and inputs of both; and the type information of the UI's cache.
 */
export async function generateOperations(): Promise<Map<string, string>> {
  const [schema, client, ui] = await Promise.all([
    readFile(join(ROOT, 'schema.graphql'), 'utf8'),
    readDocuments(CLIENT),
    readDocuments('src/ui'),
  ])
  const fragments = new Map(
    [...ui.values()]
      .flatMap(({ definitions }) => definitions)
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  )
  const own = [...client.values()]
  const made = new Map([
    [SCHEMA_TYPES, await schemaTypes({ schema, documents: [...own, ...ui.values()] })],
    [
      CLIENT_OPERATIONS,
      await typedOperations({ schema, path: CLIENT_OPERATIONS, documents: own, documentMode: 'string' }),
    ],
    [CACHE_TYPES, cacheTypes(schema)],
  ])
  for (const [source, document] of ui) {
    const path = source.replace(/\.graphql$/, '.generated.ts')
    const documents = [withFragments(document, fragments)]
    made.set(path, await typedOperations({ schema, path, documents, documentMode: 'documentNode' }))
  }
  return made
}

/** The documents in a folder and below it, by path from the project's root. */
export async function readDocuments(folder: string): Promise<Map<string, DocumentNode>> {
  const paths = (await readdir(join(ROOT, folder), { recursive: true }))
    .filter((path) => path.endsWith('.graphql'))
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .toSorted()
  const documents = new Map<string, DocumentNode>()
  for (const path of paths) documents.set(path, parse(await readFile(join(ROOT, path), 'utf8'), { noLocation: true }))
  return documents
}

/** Adds the fragments of other files that a document spreads, directly or through other fragments. */
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

function cacheTypes(text: string): string {
  const schema = buildSchema(text)
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'))
  const keyless = types.filter((type) => isObjectType(type) && !('id' in type.getFields()))
  const lines = keyless.map(({ name }) => `  '${name}',\n`).toSorted()
  const interfaces = types.filter((type) => isInterfaceType(type))
  const implementors = interfaces.map((type) => {
    const names = schema.getPossibleTypes(type).map(({ name }) => `    '${name}',\n`)
    return `  ${type.name}: [\n${names.toSorted().join('')}  ],\n`
  })
  return [
    '/** Object types without an id: the cache keeps them as parts of what they belong to. */',
    `export const KEYLESS_TYPES = [\n${lines.join('')}] as const\n`,
    '/** Which types a fragment on an interface is about. */',
    `export const POSSIBLE_TYPES = {\n${implementors.toSorted().join('')}}\n`,
  ].join('\n')
}
