import { access, readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { GraphQLEnumType, GraphQLObjectType } from 'graphql'
import { describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { CLIENT_VARIABLES } from '../../src/client/node/environment.ts'
import { createClient } from '../../src/client/node/index.ts'
import { ERRORS } from '../../src/domain/errors.ts'
import { RETRY_PHASES } from '../../src/domain/session/failure.ts'
import { STATUSES, transitionDiagram } from '../../src/domain/session/lifecycle.ts'
import { schema } from '../../src/graphql/schema.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { CONFIGURATION, loadConfig } from '../../src/program/config.ts'
import { blocksOfTest, documentBlocks, documentPages, stands, TESTS_OF_BLOCKS } from '../support/document-blocks.ts'
import { codeIn, proseOf, tableRows } from './document-tables.ts'
import { ROOT } from './source-files.ts'

describe('pages and the code', async () => {
  const blocks = await blocksOfTest('test/guard/documentation.test.ts')

  /** Both directions at once: what is missing on the page and what stands there too much are both differences. */

  test('docs/configuration.md: | `NAME` | default | meaning | unit |', async () => {
    const expected = CONFIGURATION.map(({ name, default: value, meaning, unit }) => [name, value, meaning, unit ?? ''])
    expect((await tableRows('docs/configuration.md')).toSorted(byName)).toEqual(expected.toSorted(byName))
  })

  test('docs/configuration.md: the example is a valid configuration', () => {
    const lines = blocks
      .find(({ page }) => page === 'docs/configuration.md')!
      .text.trim()
      .split('\n')
    const { warnings } = loadConfig(Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2))))
    expect(warnings).toEqual([])
  })

  test('docs/client.md: | `NAME` | default | meaning |', async () => {
    const expected = CLIENT_VARIABLES.map(({ name, default: value, meaning }) => [name, value, meaning])
    expect(await tableRows('docs/client.md', 'Which server')).toEqual(expected)
  })

  test('a server does not warn about variables of clients', () => {
    const { warnings } = loadConfig(Object.fromEntries(CLIENT_VARIABLES.map(({ name }) => [name, '1'])))
    expect(warnings).toEqual([])
  })

  test('docs/errors.md: | `CODE` | type | HTTP status | retryable (yes, no) | description in GraphQL |', async () => {
    const withoutLinks = (text: string) => text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    const rows = (await tableRows('docs/errors.md')).map((row) => row.map(withoutLinks))
    const codes = schema.getType('ErrorCode') as GraphQLEnumType
    const expected = Object.entries(ERRORS).map(([code, { type, httpStatus, retryable }]) => [
      code,
      type,
      String(httpStatus),
      retryable ? 'yes' : 'no',
      codes.getValue(code)?.description ?? '',
    ])
    expect(rows.toSorted(byName)).toEqual(expected.toSorted(byName))
  })

  test('docs/concepts.md: the diagram of the statuses is the one that the table prints', () => {
    expect(blocks.find(({ page }) => page === 'docs/concepts.md')!.text).toBe(`${transitionDiagram()}\n`)
  })

  test('docs/operation.md: | `metric` | type | labels | meaning |', async () => {
    const metrics = createMetrics().registry.getMetricsAsArray() as unknown as Metric[]
    const expected = metrics.map(({ name, type, labelNames = [], help }) => [
      name,
      type,
      labelNames.map((label) => `\`${label}\``).join(', '),
      help,
    ])
    expect((await tableRows('docs/operation.md', 'Metrics')).toSorted(byName)).toEqual(expected.toSorted(byName))
  })

  interface Metric {
    name: string
    type: string
    labelNames?: string[]
    help: string
  }

  test('docs/graphql.md has each query and each mutation once', async () => {
    const text = await readFile(join(ROOT, 'docs/graphql.md'), 'utf8')
    const rows = [...text.matchAll(/^\| [a-z, ]+ \| (`[^|]*) \|([^|]*) \|$/gm)]
    const named = (column: number) => rows.flatMap((row) => codeIn(row[column]!)).toSorted()
    expect(named(1)).toEqual(namesOf(schema.getQueryType()).toSorted())
    expect(named(2)).toEqual(namesOf(schema.getMutationType()).toSorted())
  })

  test('docs/subscriptions.md: | `subscription` | what it delivers |', async () => {
    const rows = await tableRows('docs/subscriptions.md')
    expect(rows.map(([name]) => name!).toSorted()).toEqual(namesOf(schema.getSubscriptionType()).toSorted())
  })

  function namesOf(type: GraphQLObjectType | null | undefined): string[] {
    return Object.keys(type!.getFields())
  }

  test('docs/client.md names each method of the client', async () => {
    const named = codeIn(await proseOf('docs/client.md')).map((code) => code.replace(/\(.*/, ''))
    const plurals = named.map((name) => `${name}s`)
    const client = createClient({ url: 'http://127.0.0.1:1', token: 'none' })
    const methods = Object.entries(client).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
    await client.close()
    expect(methods.length).toBeGreaterThan(40)
    expect(methods.filter((name) => ![...named, ...plurals].includes(name))).toEqual([])
  })

  test('README: short, with a picture of the parts', async () => {
    expect((await readFile(join(ROOT, 'README.md'), 'utf8')).split('\n').length).toBeLessThanOrEqual(250)
    const picture = blocks.find(({ page, language }) => page === 'README.md' && language === 'mermaid')!.text
    const words = [...picture.matchAll(/\b[A-Z]+(?:_[A-Z]+)*\b|\b[a-z]+[A-Z]\w*\b/g)].map(([word]) => word)
    const known = new Set<string>(['LR', ...STATUSES, ...RETRY_PHASES, ...namesOf(schema.getMutationType())])
    for (const name of namesOf(schema.getType('Session') as GraphQLObjectType)) known.add(name)
    expect(words.length).toBeGreaterThan(8)
    expect(words.filter((word) => !known.has(word))).toEqual([])
  })

  describe.each(['docs/upgrading.md', 'docs/contributing.md'])('%s: the commands', (name) => {
    const commands = blocks.filter(({ page }) => page === name).flatMap(({ text }) => text.trim().split('\n'))

    test('are scripts of the package', () => {
      expect(commands.length).toBeGreaterThan(1)
      const known = ['ci', ...Object.keys(packageJson.scripts)]
      expect(commands.filter((command) => !known.includes(scriptOf(command)))).toEqual([])
    })

    test('name files that there are', async () => {
      const named = commands.flatMap((command) => command.match(/\btest\/\S+/g) ?? [])
      for (const path of named) await access(join(ROOT, path))
    })
  })

  test('docs/contributing.md: | `command` | what it does |', async () => {
    const tables = ['Set up', 'Which command proves what'].map((heading) => tableRows('docs/contributing.md', heading))
    const told = (await Promise.all(tables)).flat().map(([command]) => scriptOf(command!))
    const scripts = Object.keys(packageJson.scripts).filter((script) => !script.startsWith('pre'))
    expect(scripts.filter((script) => !told.includes(script))).toEqual([])
  })

  function scriptOf(command: string): string {
    return /^npm (?:run )?([\w:]+)/.exec(command)?.[1] ?? command
  }

  test('README: the first commands are scripts of the package', () => {
    const commands = blocks
      .find(({ heading }) => heading === 'Reprise')!
      .text.trim()
      .split('\n')
    const scripts = commands.map((line) => /^npm ci && npm (?:run )?(\w+) +# \S/.exec(line)?.[1])
    expect(scripts).toEqual(['demo', 'test'])
    for (const script of scripts) expect(Object.keys(packageJson.scripts)).toContain(script)
  })

  function byName(a: readonly string[], b: readonly string[]): number {
    return a[0]! < b[0]! ? -1 : 1
  }
})

/** Examples that no test runs go stale: each fenced block belongs to one test, which takes it from the page. */
describe('code blocks of pages', async () => {
  const blocks = await documentBlocks()
  const claims = Object.entries(TESTS_OF_BLOCKS).flatMap(([path, places]) => places.map((place) => ({ path, place })))

  test('each fenced block of the documentation is run by one test', () => {
    expect(blocks.length).toBeGreaterThan(25)
    const wrong = blocks
      .map((block) => ({ block, paths: claims.filter(({ place }) => stands(block, place)).map(({ path }) => path) }))
      .filter(({ paths }) => paths.length !== 1)
      .map(({ block, paths }) => `${block.page}:${block.line} ${block.language}: ${paths.join(', ') || 'no test'}`)
    expect(wrong).toEqual([])
  })

  test('each place that a test takes blocks from has some', () => {
    expect(claims.filter(({ place }) => !blocks.some((block) => stands(block, place)))).toEqual([])
  })

  test.each(Object.keys(TESTS_OF_BLOCKS))('%s takes its blocks from there', async (path) => {
    expect(await readFile(join(ROOT, path), 'utf8')).toContain(`blocksOfTest('${path}')`)
  })
})

/** Links between pages lead somewhere, as GitHub resolves them, and every page is found from the index. */
describe('links of pages', async () => {
  interface Page {
    path: string
    /** Without its fenced blocks. */
    prose: string
    /** The anchors of its headings, as GitHub makes them. */
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
})
