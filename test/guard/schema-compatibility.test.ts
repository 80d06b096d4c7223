import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  buildSchema,
  findBreakingChanges,
  isEnumType,
  isInputObjectType,
  isIntrospectionType,
  isInterfaceType,
  isObjectType,
  isSpecifiedScalarType,
  type GraphQLSchema,
} from 'graphql'
import { describe, expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'
import { ROOT } from './source-files.ts'

/**
 * Clients are written against what was released. `released.graphql` is the schema of the last release; a change that
 * breaks one of them stands in CHANGELOG.md under "Breaking", in the words that this test prints.
 */

interface Described {
  name: string
  description: string | null | undefined
  deprecationReason?: string | null | undefined
}

function everything(of: GraphQLSchema): Described[] {
  return Object.values(of.getTypeMap()).flatMap((type) => {
    if (isIntrospectionType(type) || isSpecifiedScalarType(type)) return []
    const parts: Described[] = [type]
    const under = (item: Described) => ({ ...item, name: `${type.name}.${item.name}` })
    if (isEnumType(type)) parts.push(...type.getValues().map(under))
    if (isInputObjectType(type)) parts.push(...Object.values(type.getFields()).map(under))
    if (isObjectType(type) || isInterfaceType(type)) {
      for (const field of Object.values(type.getFields())) {
        parts.push(under(field))
        parts.push(...field.args.map((argument) => under({ ...argument, name: `${field.name}(${argument.name})` })))
      }
    }
    return parts
  })
}

const served = everything(schema)

describe('schema.graphql', () => {
  test('breaks no client of the last release, unless the change log says so', async () => {
    const released = buildSchema(await readFile(join(ROOT, 'test/guard/released.graphql'), 'utf8'))
    const breaking = breakingSection(await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8'))
    const unsaid = findBreakingChanges(released, schema).filter(({ description }) => !breaking.includes(description))
    expect(unsaid.map(({ description }) => `- ${description}`)).toEqual([])
  })

  test('describes everything', () => {
    expect(served.length).toBeGreaterThan(300)
    expect(served.filter(({ description }) => !description?.trim()).map(({ name }) => name)).toEqual([])
  })

  test('says of what is deprecated what to use instead', () => {
    const unhelpful = served.filter(({ deprecationReason }) => deprecationReason?.startsWith('Use `') === false)
    expect(unhelpful.map(({ name }) => name)).toEqual([])
  })
})

test('a field that goes, an argument that becomes required and a value that goes are seen as breaking', () => {
  const before = buildSchema('enum E { A B } type Query { a(b: Int): Int c: E }')
  const after = buildSchema('enum E { A } type Query { a(b: Int!): Int }')
  expect(findBreakingChanges(before, after)).toHaveLength(3)
})

/** The newest: what has not been released yet. */
function breakingSection(changes: string): string {
  const [, unreleased = ''] = changes.split(/^## /m)
  const [, breaking = ''] = unreleased.split(/^### Breaking$/m)
  return breaking.split(/^### /m)[0]!
}
