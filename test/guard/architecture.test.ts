import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { blocksOfTest } from '../support/document-blocks.ts'
import { tableRows } from './document-tables.ts'
import { edgesOf, readSourceFiles, ROOT } from './source-files.ts'

const PAGE = 'docs/architecture.md'
const blocks = await blocksOfTest('test/guard/architecture.test.ts')
const diagrams = blocks.filter(({ language }) => language === 'mermaid')
/** `id[path]`, or an id that has its path elsewhere. */
const NODE = String.raw`(\w+)(?:\[([^\]]+)\])?`

test(`${PAGE} has a diagram of the main job, and one of where things enter`, () => {
  expect(diagrams.map(({ heading }) => heading)).toEqual(['The main job', 'Where things enter'])
})

describe.each(diagrams)(`${PAGE}: the diagram of "$heading"`, (diagram) => {
  let paths: Map<string, string>
  let solid: [string, string][]
  let dotted: [string, string][]

  beforeAll(() => {
    const lines = diagram.text.split('\n').filter((line) => / -->| -\. /.test(line))
    paths = new Map()
    solid = []
    dotted = []
    for (const line of lines) {
      const nodes = line.split(/ --> | -\. .+? \.-> /).map((text) => new RegExp(`^ *${NODE}$`).exec(text))
      for (const [, id, path] of nodes.map((node) => node!)) if (path) paths.set(id!, path)
      const ids = nodes.map((node) => node![1]!)
      const edges = ids.slice(1).map((id, index): [string, string] => [ids[index]!, id])
      const kind = line.includes('-->') ? solid : dotted
      kind.push(...edges)
    }
  })

  test('has each solid arrow as an import', async () => {
    const imports = new Set(edgesOf(await readSourceFiles()).map(({ from, to }) => `${from} → ${to}`))
    const drawn = solid.map(([from, to]) => `${paths.get(from)} → ${paths.get(to)}`)
    expect(drawn.length).toBeGreaterThan(12)
    expect(drawn.filter((edge) => !imports.has(edge))).toEqual([])
  })

  test('joins files that are on it by its dotted arrows', () => {
    expect(dotted.length).toBeGreaterThanOrEqual(5)
    expect(dotted.flat().filter((id) => !paths.has(id))).toEqual([])
  })
})

describe(`${PAGE}: the folders of the sources`, async () => {
  const nouns = (await tableRows(PAGE, 'Nouns')).map(([noun]) => noun!)
  const isNoun = (name: string) => nouns.includes(name)
  const entries = await readdir(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) =>
      join(parentPath, name)
        .slice(ROOT.length + 1)
        .replaceAll('\\', '/'),
    )
    .filter((folder) => !folder.startsWith('src/generated'))

  test('those of the domain are nouns', () => {
    const named = folders.flatMap((folder) => /^src\/domain\/([\w-]+)$/.exec(folder)?.slice(1) ?? [])
    expect(named.length).toBeGreaterThan(4)
    expect(named.filter((name) => !isNoun(name))).toEqual([])
  })

  test('the others have a line of the layout each, and there is none for what is not there', () => {
    const layout = blocks.find(({ heading }) => heading === 'Layout')!
    const named = new Set([...layout.text.matchAll(/^(src\/\S+)\/ {2,}\S/gm)].map(([, folder]) => folder!))
    const others = folders.filter((folder) => {
      const [, floor, ...below] = folder.split('/')
      const byNoun = (floor === 'graphql' && below[0] === 'modules') || (floor === 'ui' && below[0] === 'pages')
      return !(byNoun && below.length > 1) && !isNoun(below.at(-1) ?? '')
    })
    expect(others.length).toBeGreaterThan(30)
    expect(others.filter((folder) => !named.has(folder))).toEqual([])
    expect([...named].filter((folder) => !folders.includes(folder))).toEqual([])
  })
})
