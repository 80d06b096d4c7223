import { access } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { documentPages } from '../support/document-blocks.ts'
import { proseOf } from './document-tables.ts'
import { ROOT } from './source-files.ts'

/** Links between pages lead somewhere, as GitHub resolves them, and every page is found from the index. */

interface Page {
  path: string
  /** Without its fenced blocks. */
  prose: string
  /** Of its headings, as GitHub makes them. */
  anchors: Set<string>
  links: { target: string; anchor: string | undefined }[]
}

const pages = await Promise.all((await documentPages()).map(readPage))
const byPath = new Map(pages.map((page) => [page.path, page]))

async function readPage(path: string): Promise<Page> {
  const prose = await proseOf(path)
  const headings = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!)
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [file, anchor] = link.split('#')
      return { target: file === '' ? path : relative(ROOT, join(ROOT, dirname(path), file!)), anchor }
    })
  return { path, prose, anchors: anchorsOf(headings), links }
}

/** Lower case, without punctuation, `-` for each blank; what comes twice is numbered. */
function anchorsOf(headings: readonly string[]): Set<string> {
  const anchors = new Set<string>()
  for (const heading of headings) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = plain.replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '').replaceAll(' ', '-')
    let unique = anchor
    for (let times = 1; anchors.has(unique); times++) unique = `${anchor}-${times}`
    anchors.add(unique)
  }
  return anchors
}

const isThere = (path: string) =>
  access(join(ROOT, path)).then(
    () => true,
    () => false,
  )

test('there are pages, and links between them', () => {
  expect(pages.length).toBeGreaterThan(20)
  expect(pages.flatMap(({ links }) => links).length).toBeGreaterThan(100)
  expect(pages.flatMap(({ links }) => links.filter(({ anchor }) => anchor)).length).toBeGreaterThan(15)
})

describe.each(pages)('$path', ({ path, prose, links }) => {
  test('links to files and headings that there are', async () => {
    const found = await Promise.all(
      links.map(async ({ target, anchor }) => {
        if (!(await isThere(target))) return `${target} is not there`
        if (anchor === undefined || byPath.get(target)?.anchors.has(anchor)) return null
        return `${target} has no heading #${anchor}`
      }),
    )
    expect(found.filter((fault) => fault !== null)).toEqual([])
  })

  test.skipIf(path === 'CHANGELOG.md')('names files of the sources that there are', async () => {
    const named = [...prose.matchAll(/`((?:src|test|scripts|prisma|bin|docs)\/[\w./-]*[\w/-])`/g)].map(
      ([, file]) => file!,
    )
    const missing = await Promise.all(named.map(async (file) => ((await isThere(file)) ? [] : [file])))
    expect(missing.flat()).toEqual([])
  })

  test('has rows that are as long as the head of their table', () => {
    const lines = prose.split('\n')
    const cells = (line: string) => line.split(/(?<!\\)\|/).length
    const wrong = lines.filter((line, index) => {
      const before = lines[index - 1]
      return line.startsWith('|') && before?.startsWith('|') && cells(line) !== cells(before)
    })
    expect(wrong).toEqual([])
  })
})

test('the index has every page of docs/, and the README has them too', () => {
  const listed = (path: string) => new Set(byPath.get(path)!.links.map(({ target }) => target))
  const own = pages.map(({ path }) => path).filter((path) => path.startsWith('docs/') && path !== 'docs/README.md')
  expect(own.filter((path) => !listed('docs/README.md').has(path))).toEqual([])
  expect([...own, 'docs/README.md'].filter((path) => !listed('README.md').has(path))).toEqual([])
})
