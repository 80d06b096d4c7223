import { readFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import {
  buildSchema,
  findBreakingChanges,
  getNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  Kind,
  lexicographicSortSchema,
  printSchema,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { rolldown } from 'rolldown'
import { describe, expect, test } from 'vitest'
import { CLIENT_ENUMS, generateClientEnums } from '../../scripts/client-enums.ts'
import { CLIENT_ERRORS, generateClientErrors } from '../../scripts/client-errors.ts'
import { generateOperations, readDocuments } from '../../scripts/operations.ts'
import * as operations from '../../src/client/operations.generated.ts'
import { schema } from '../../src/graphql/schema.ts'
import { UiEditedScheduleDocument } from '../../src/ui/pages/new-session/new-session.generated.ts'
import { edgesOf, readSourceFiles, ROOT } from './source-files.ts'

const files = await readSourceFiles()

/**
 * Clients are written against what was released. `released.graphql` is the schema of the last release; a change that
 * breaks one of them stands in CHANGELOG.md under "Breaking", in the words that this test prints.
 */
describe('compatibility of the schema', () => {
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
    test('breaks no client of the last release, unless the change log has it', async () => {
      const released = buildSchema(await readFile(join(ROOT, 'test/guard/released.graphql'), 'utf8'))
      const breaking = breakingSection(await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8'))
      const unsaid = findBreakingChanges(released, schema).filter(({ description }) => !breaking.includes(description))
      expect(unsaid.map(({ description }) => `- ${description}`)).toEqual([])
    })

    test('describes everything', () => {
      expect(served.length).toBeGreaterThan(300)
      expect(served.filter(({ description }) => !description?.trim()).map(({ name }) => name)).toEqual([])
    })

    test('is written as its linters expect', () => {
      const LOGIC = ['AND', 'OR', 'NOT']
      // Their values are the names of fields, and of the wire.
      const LOWER = ['KernelRole', 'RetryPolicyField']
      const named = served.filter(({ name }) => !LOGIC.includes(name.split('.')[1] ?? ''))
      const values = new Set(
        Object.values(schema.getTypeMap()).flatMap((type) =>
          isEnumType(type) ? type.getValues().map(({ name }) => `${type.name}.${name}`) : [],
        ),
      )
      const wrong = named.filter(({ name }) => {
        const [type, part, argument] = name.split(/[.()]/)
        if (!/^[A-Z][A-Za-z0-9]*$/.test(type!)) return true
        if (part === undefined) return false
        if (values.has(name) && !LOWER.includes(type!)) return !/^[A-Z][A-Z0-9_]*$/.test(part)
        return ![part, argument || part].every((word) => /^[a-z][A-Za-z0-9]*$/.test(word))
      })
      expect(wrong.map(({ name }) => name)).toEqual([])
      const small = served.filter(
        ({ description }) => /^[a-z]/.test(description!) && !/^[a-z]+[A-Z]/.test(description!),
      )
      expect(small.map(({ name }) => name)).toEqual([])
    })

    test('has no type that nothing leads to', () => {
      const text = printSchema(schema)
      const roots = ['Query', 'Mutation', 'Subscription']
      const types = Object.values(schema.getTypeMap()).filter(
        (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type) && !roots.includes(type.name),
      )
      const unused = types.filter(
        ({ name }) =>
          [...text.matchAll(new RegExp(`(?<!(?:type|input|enum|union|interface|scalar) )\\b${name}\\b`, 'g'))]
            .length === 0,
      )
      // Clients write them in fragments.
      expect(unused.map(({ name }) => name).toSorted()).toEqual([])
    })

    test('has one scalar for amounts of bytes', () => {
      const fields = Object.values(schema.getTypeMap())
        .filter((type) => isObjectType(type) || isInterfaceType(type) || isInputObjectType(type))
        .flatMap((type) => Object.values(type.getFields()).map((field) => ({ type, field })))
        .filter(({ field }) => /(^b|B)ytes$/.test(field.name))
      expect(fields.length).toBeGreaterThan(12)
      const others = fields.filter(({ field }) => String(getNamedType(field.type)) !== 'Bytes')
      expect(others.map(({ type, field }) => `${type.name}.${field.name}`)).toEqual([])
    })

    test('takes the reason of each change, except of what creates work, of links and of a former name', () => {
      const inputs = Object.values(schema.getMutationType()!.getFields()).map(({ args: [input] }) => input!.type)
      const types = new Set(inputs.map((type) => getNamedType(type)).filter((type) => isInputObjectType(type)))
      expect(types.size).toBeGreaterThan(40)
      const without = [...types].filter((type) => !('reason' in type.getFields()))
      expect(without.map(({ name }) => name).toSorted()).toEqual([
        'AbortResubmissionInput',
        'AddSessionsInput',
        'CreateDeploymentInput',
        'CreateDownloadInput',
        'CreateScheduleInput',
        'CreateSessionInput',
        'CreateSessionsInput',
      ])
    })

    test('names a replacement for each deprecated field', () => {
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
})

describe('the schema file', () => {
  test('schema.graphql matches the code', async () => {
    const committed = await readFile(join(ROOT, 'schema.graphql'), 'utf8')
    const served = `${printSchema(lexicographicSortSchema(schema))}\n`
    expect(committed, '`npm run generate` writes it').toBe(served)
  })
})

describe('the form of a schedule', () => {
  test('reads every field of its session, since an update has to repeat all of them', () => {
    const { definitions } = UiEditedScheduleDocument
    const read = definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .filter(({ typeCondition }) => typeCondition.name.value === 'ScheduledSession')
      .flatMap(({ selectionSet }) => selectionSet.selections)
      .flatMap((selection) => (selection.kind === Kind.FIELD ? selection.name.value : []))
    const type = schema.getType('ScheduledSession')
    // `retryPolicy` has it.
    const fields = isObjectType(type) ? Object.keys(type.getFields()).filter((name) => name !== 'maxRetries') : []
    expect(read.toSorted()).toEqual(fields.toSorted())
  })
})

describe('entries of the client', () => {
  const edges = edgesOf(files)

  /** Everything that an entry brings along, and the packages that it imports. */
  function reachable(entry: string): { paths: string[]; packages: string[] } {
    const paths = new Set([entry])
    for (const path of paths) for (const edge of edges) if (edge.from === path) paths.add(edge.to)
    const imports = files.filter(({ path }) => paths.has(path)).flatMap((file) => file.imports)
    const packages = imports.filter((name) => name !== null).filter((name) => !name.startsWith('.'))
    return { paths: [...paths], packages: [...new Set(packages)].toSorted() }
  }

  test('the entry for browsers brings nothing of Node along', () => {
    const { paths, packages } = reachable('src/client/browser.ts')
    expect(paths.length).toBeGreaterThan(20)
    expect(packages.filter((name) => isBuiltin(name))).toEqual([])
    expect(packages).toEqual([
      '@graphql-typed-document-node/core',
      'graphql',
      'graphql-ws/client',
      'graphql/language/printer.js',
      'uuid',
    ])
  })

  test('the entry for programs with operations of their own brings none of ours along', async () => {
    const { paths, packages } = reachable('src/client/connection/create-connection.ts')
    expect(paths.length).toBeGreaterThan(10)
    expect(paths.filter((path) => /operations|client\.ts$|\/node\//.test(path))).toEqual([])
    expect(packages).toEqual([
      '@graphql-typed-document-node/core',
      'graphql',
      'graphql-ws/client',
      'graphql/language/printer.js',
    ])
    await using build = await rolldown({
      input: join(ROOT, 'src/client/connection/create-connection.ts'),
      platform: 'browser',
    })
    const { output } = await build.generate({ minify: true })
    expect(output[0].code).toContain('graphql-transport-ws')
    const names = Object.keys(operations).flatMap((name) => name.match(/^(\w+)Document$/)?.[1] ?? [])
    expect(names.length).toBeGreaterThan(40)
    expect(names.filter((name) => new RegExp(`(query|mutation|subscription) ${name}\\b`).test(output[0].code))).toEqual(
      [],
    )
  })

  test('the entry for Node has everything', () => {
    const { paths, packages } = reachable('src/client/node/index.ts')
    const all = files
      .filter(({ path }) => path.startsWith('src/client/') && !path.endsWith('.d.ts'))
      .map(({ path }) => path)
    expect(all.filter((path) => !paths.includes(path))).toEqual(['src/client/browser.ts'])
    expect(packages.filter((name) => !isBuiltin(name))).toEqual([
      '@graphql-typed-document-node/core',
      'graphql',
      'graphql-ws/client',
      'graphql/language/printer.js',
      'uuid',
      'ws',
    ])
  })
})

describe('operations of the client', () => {
  test('the generated operations of the client and of the web UI match their documents and schema.graphql', async () => {
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
      .filter((other) => [...fields].filter((field) => other.fields.has(field)).length > EQUAL_FIELDS_MAX)
      .map((other) => `${type}: ${path} and ${other.path}`),
  )
  expect(repeated).toEqual([])
})
