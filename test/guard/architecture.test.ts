import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { blocksOfTest } from '../support/document-blocks.ts'
import { edgesOf, readSourceFiles, ROOT } from './source-files.ts'

const PAGE = 'docs/architecture.md'
const blocks = await blocksOfTest('test/guard/architecture.test.ts')
/** `id[path]`, or an id that has its path elsewhere. */
const NODE = String.raw`(\w+)(?:\[([^\]]+)\])?`

describe(`${PAGE}: the diagram`, () => {
  let paths: Map<string, string>
  let solid: [string, string][]
  let dotted: [string, string][]

  beforeAll(() => {
    const diagram = blocks.find(({ page }) => page === PAGE)!
    const lines = diagram.text.split('\n').filter((line) => / -->| -\. /.test(line))
    paths = new Map()
    solid = []
    dotted = []
    for (const line of lines) {
      const nodes = line.split(/ --> | -\. .+? \.-> /).map((text) => new RegExp(`^ *${NODE}$`).exec(text))
      for (const [, id, path] of nodes.map((node) => node!)) if (path) paths.set(id!, `src/${path}`)
      const ids = nodes.map((node) => node![1]!)
      const edges = ids.slice(1).map((id, index): [string, string] => [ids[index]!, id])
      const kind = line.includes('-->') ? solid : dotted
      kind.push(...edges)
    }
  })

  test('has each solid arrow as an import', async () => {
    const imports = new Set(edgesOf(await readSourceFiles()).map(({ from, to }) => `${from} → ${to}`))
    const drawn = solid.map(([from, to]) => `${paths.get(from)} → ${paths.get(to)}`)
    expect(drawn.length).toBeGreaterThan(15)
    expect(drawn.filter((edge) => !imports.has(edge))).toEqual([])
  })

  test('joins files that there are by its dotted arrows', () => {
    expect(dotted.length).toBeGreaterThan(5)
    expect(dotted.flat().filter((id) => !paths.has(id))).toEqual([])
  })
})

test('README "Layout" has a line for each folder of the sources, and for no other', async () => {
  const layout = blocks.find(({ heading }) => heading === 'Layout')!
  const named = [...layout.text.matchAll(/^(src\/\S+\/) {2,}\S/gm)].map(([, folder]) => folder)
  const entries = await readdir(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .map(
      ({ parentPath, name }) =>
        `${join(parentPath, name)
          .slice(ROOT.length + 1)
          .replaceAll('\\', '/')}/`,
    )
    .filter((folder) => !folder.startsWith('src/generated/') && !/^src\/graphql\/modules\/./.test(folder))
  expect(new Set(named)).toEqual(new Set(folders))
})
