import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'
import * as operations from '../../src/client/operations.generated.ts'
import { edgesOf, readSourceFiles, ROOT } from './source-files.ts'

const files = await readSourceFiles()
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

test('the entry for Node is all of it', () => {
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
    'undici/lib/api/api-request.js',
    'undici/lib/core/errors.js',
    'undici/lib/dispatcher/agent.js',
    'uuid',
    'ws',
  ])
})
