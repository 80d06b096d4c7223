import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { blocksOfTest } from '../support/document-blocks.ts'
import { tableRows } from './document-tables.ts'
import { type Edge, edgesOf, isSource, partOf, readSourceFiles, ROOT, type SourceFile } from './source-files.ts'

const blocks = await blocksOfTest('test/guard/architecture.test.ts')

describe('the directions of imports', () => {
  /**
   * The allowed imports of each folder, besides its own files. Only the folders that assemble the program import
   * everything.
   */
  const ALLOWED: Record<string, readonly string[] | 'everything'> = {
    'main.ts': ['program'],
    program: 'everything',
    archive: [],
    domain: [],
    machine: [],
    observability: ['waiting'],
    waiting: [],
    generated: [],
    channel: ['domain'],
    client: [],
    store: ['domain', 'generated', 'machine', 'observability', 'waiting'],
    services: ['channel', 'archive', 'domain', 'store', 'observability', 'waiting'],
    events: ['domain', 'machine', 'store', 'services', 'observability', 'waiting'],
    agent: ['channel', 'archive', 'domain', 'machine', 'observability', 'waiting'],
    gateway: ['channel', 'domain', 'services', 'observability', 'waiting'],
    scheduler: ['domain', 'store', 'services', 'events', 'observability', 'waiting'],
    graphql: ['domain', 'services', 'events', 'generated', 'observability', 'waiting'],
    rest: ['channel', 'domain', 'services', 'events', 'observability'],
    http: ['graphql', 'rest', 'ui', 'observability', 'waiting'],
    cli: ['archive', 'client', 'machine', 'observability'],
    ui: ['client'],
  }

  /** The same within the program: what an agent and a configuration need is loaded without a server. */
  const ALLOWED_IN_PROGRAM: Record<string, readonly string[]> = {
    'bundle.ts': [],
    'serve.ts': ['runtime.ts', 'command.ts', 'config.ts'],
    'backup.ts': ['agent-options.ts', 'command.ts', 'config.ts', 'runtime-parts.ts'],
    'command-definitions.ts': ['backup.ts', 'run-agent.ts', 'serve.ts'],
    'agent-options.ts': ['config.ts'],
    'run-agent.ts': ['agent-options.ts', 'command.ts', 'config.ts'],
    'command.ts': ['config.ts'],
    'config.ts': ['config'],
    config: [],
  }

  /** The same within the web UI. Its pages do not know each other, and only its door to the server knows the client. */
  const ALLOWED_IN_UI: Record<string, readonly string[] | 'everything'> = {
    'begin.ts': ['api', 'app', 'pages'],
    'main.tsx': 'everything',
    'routes.tsx': 'everything',
    pages: ['bulk', 'app', 'api', 'policy', 'timeline', 'log', 'charts', 'design', 'words', 'paths.ts'],
    bulk: ['app', 'api', 'design', 'words'],
    app: ['api', 'charts', 'design', 'words', 'paths.ts'],
    policy: ['api', 'charts', 'design', 'words'],
    timeline: ['design', 'words'],
    log: ['design', 'words'],
    charts: ['design', 'words'],
    api: ['words'],
    design: [],
    words: [],
    'paths.ts': [],
    'styles.d.ts': [],
  }

  /** The words of the API: types alone. */
  const SCHEMA_TYPES = 'src/client/schema-types.generated.ts'

  /** Within a floor, a noun uses those of the rows below its own. */
  const NOUNS = [
    ['retention'],
    ['resubmission'],
    ['chain', 'deployment', 'schedule', 'webhook', 'agent'],
    ['retry'],
    ['scheduling'],
    ['resource-group'],
    ['session'],
    ['quota'],
    ['code'],
    ['blob'],
    ['event'],
    ['access'],
  ]
  /** The types of the API refer to each other in both directions. */
  const FLOORS_IN_ORDER = ['src/domain/', 'src/store/sql/', 'src/services/', 'src/scheduler/']
  /** Termination of a session that waits for its retry ends the chain. */
  const UPWARDS = ['src/services/session/terminate-session.ts → src/services/retry/decide-session.ts']

  /** Pure code takes no clock, no randomness and no I/O from anywhere. */
  const DOMAIN_PACKAGES = ['zod', 'node:crypto', 'croner']

  /** The bundle of the sources, the package of the platform, and a part of the web UI under another address. */
  const COMPUTED_IMPORTS = ['src/main.ts', 'src/store/postgres/binaries.ts', 'src/ui/app/part-loader.ts']

  let files: readonly SourceFile[]
  let edges: Edge[]

  beforeAll(async () => {
    files = await readSourceFiles()
    edges = edgesOf(files)
  })

  function mayImport({ from, to }: Edge): boolean {
    const allowed = ALLOWED[partOf(from)]
    if (allowed === undefined) throw new Error(`${from}: no rule says what ${partOf(from)} may import`)
    if (to === 'package.json') return allowed === 'everything'
    return allowed === 'everything' || partOf(from) === partOf(to) || allowed.includes(partOf(to))
  }

  describe('imports', () => {
    test('every file and every import was seen', async () => {
      const listed = await readdir(join(ROOT, 'src'), { recursive: true })
      const sources = listed.filter((path) => isSource(path) && !path.startsWith('generated'))
      expect(files.length).toBe(sources.length)
      expect(files.length).toBeGreaterThan(50)

      const texts = await Promise.all(sources.map((path) => readFile(join(ROOT, 'src', path), 'utf8')))
      const written = texts.flatMap((text) => text.match(/^(import|export|\}) .*from '\.{1,2}\/[^']+'$/gm) ?? [])
      expect(written.length).toBeGreaterThan(files.length)
      expect(edges.length).toBeGreaterThanOrEqual(written.length)
    })

    test('go in the allowed directions', () => {
      const wrong = edges.filter((edge) => !mayImport(edge))
      expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
    })

    test('within the program go in the allowed directions', () => {
      const within = edges.filter(({ from, to }) => from.startsWith('src/program/') && to.startsWith('src/program/'))
      expect(within.length).toBeGreaterThan(20)
      const wrong = within.filter(({ from, to }) => {
        const [user, used] = [from, to].map((path) => path.split('/')[2]) as [string, string]
        const allowed = ALLOWED_IN_PROGRAM[user]
        return allowed !== undefined && user !== used && !allowed.includes(used)
      })
      expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
    })

    test('within the web UI go in the allowed directions', () => {
      const within = edges.filter(({ from }) => from.startsWith('src/ui/'))
      expect(within.length).toBeGreaterThan(8)
      const wrong = within.filter(({ from, to }) => {
        const [user, used] = [from, to].map((path) => path.split('/').slice(2)) as [string[], string[]]
        const allowed = ALLOWED_IN_UI[user[0]!]
        if (allowed === undefined) throw new Error(`${from}: no rule says what ${user[0]} may import`)
        if (to === SCHEMA_TYPES) return false
        if (to.startsWith('src/client/')) return user[0] !== 'api'
        if (user[0] === 'pages' && used[0] === 'pages') return user[1] !== used[1]
        return allowed !== 'everything' && user[0] !== used[0] && !allowed.includes(used[0]!)
      })
      expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
    })

    test('of a noun go to nouns below it', () => {
      const rowOf = new Map(NOUNS.flatMap((nouns, row) => nouns.map((noun) => [noun, row] as const)))
      const arrows = edges.flatMap(({ from, to }) => {
        const floor = FLOORS_IN_ORDER.find((each) => from.startsWith(each) && to.startsWith(each))
        if (floor === undefined) return []
        const nounOf = (path: string) =>
          path
            .slice(floor.length)
            .split('/')[0]!
            .replace(/(\.sql)?\.ts$/, '')
        const [user, used] = [nounOf(from), nounOf(to)]
        return user !== used && rowOf.has(user) && rowOf.has(used) ? [{ from, to, user, used }] : []
      })
      expect(arrows.length).toBeGreaterThan(100)
      const wrong = arrows.filter(({ user, used }) => rowOf.get(user)! >= rowOf.get(used)!)
      expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual(UPWARDS)
    })

    test('stay within src, but for the version in package.json', () => {
      const outside = edges.filter(({ to }) => !to.startsWith('src/') && to !== 'package.json')
      expect(outside.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
    })

    test('of the domain are pure', () => {
      const packages = files
        .filter(({ path }) => partOf(path) === 'domain')
        .flatMap(({ path, imports }) => imports.map((name) => ({ path, name: name ?? 'computed' })))
        .filter(({ name }) => !name.startsWith('.') && !DOMAIN_PACKAGES.includes(name))
      expect(packages).toEqual([])
    })

    test('are written out, so that they can be seen', () => {
      const computed = files.filter(({ imports }) => imports.includes(null)).map(({ path }) => path)
      expect(computed.filter((path) => !COMPUTED_IMPORTS.includes(path))).toEqual([])
    })

    test('of the agent program reach nothing of the server', () => {
      const reached = reachedFrom('src/program/run-agent.ts', edges)
      expect(reached.size).toBeGreaterThan(30)
      const parts = new Set([...reached].map(partOf))
      expect([...parts].toSorted()).toEqual([
        'agent',
        'archive',
        'channel',
        'domain',
        'machine',
        'observability',
        'program',
        'waiting',
      ])
      const ofProgram = [...reached].filter((path) => partOf(path) === 'program')
      expect(new Set(ofProgram.map((path) => path.split('/')[2]!.replace(/\.ts$/, '')))).toEqual(
        new Set(['agent-options', 'command', 'config', 'run-agent']),
      )
      const packages = files
        .filter(({ path }) => reached.has(path))
        .flatMap(({ imports }) => imports.filter((name) => name !== null))
        .filter((name) => !name.startsWith('.') && !name.startsWith('node:'))
      expect([...new Set(packages)].toSorted()).toEqual([
        'leven',
        'p-limit',
        'pino',
        'pino-pretty',
        'undici',
        'uuid',
        'ws',
        'zod',
      ])
    })

    test('of the agent lead to no services, store, GraphQL or REST', () => {
      const agent = files.map(({ path }) => path).filter((path) => partOf(path) === 'agent')
      expect(agent.length).toBeGreaterThan(90)
      const parts = new Set(agent.flatMap((path) => [...reachedFrom(path, edges)]).map(partOf))
      expect([...parts].toSorted()).toEqual([
        'agent',
        'archive',
        'channel',
        'domain',
        'machine',
        'observability',
        'waiting',
      ])
    })

    test('of the tracing packages are lazy', async () => {
      const users = files.filter(({ imports }) => imports.some((name) => name?.startsWith('@opentelemetry/')))
      expect(users.map(({ path }) => path)).toEqual(['src/observability/otel-tracer.ts'])
      const importers = edges.filter(({ to }) => to === users[0]!.path).map(({ from }) => from)
      expect(importers).toEqual(['src/program/runtime.ts'])
      const text = await readFile(join(ROOT, importers[0]!), 'utf8')
      expect(text).not.toMatch(/^import .*otel-tracer/m)
    })

    test('form no cycle', () => {
      expect(firstCycle(edges)).toBeNull()
    })
  })

  function reachedFrom(start: string, all: readonly Edge[]): Set<string> {
    const targets = Map.groupBy(all, ({ from }) => from)
    const reached = new Set([start])
    for (const path of reached) for (const { to } of targets.get(path) ?? []) reached.add(to)
    return reached
  }

  /** Depth first; a file met again while its own imports are still open closes a cycle. */
  function firstCycle(all: readonly Edge[]): string | null {
    const targets = Map.groupBy(all, ({ from }) => from)
    const done = new Set<string>()
    const open: string[] = []
    function visit(path: string): string | null {
      if (open.includes(path)) return [...open.slice(open.indexOf(path)), path].join(' → ')
      if (done.has(path)) return null
      open.push(path)
      for (const { to } of targets.get(path) ?? []) {
        const cycle = visit(to)
        if (cycle !== null) return cycle
      }
      open.pop()
      done.add(path)
      return null
    }
    for (const path of targets.keys()) {
      const cycle = visit(path)
      if (cycle !== null) return cycle
    }
    return null
  }
})

describe('the page on the architecture', () => {
  const PAGE = 'docs/architecture.md'
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

    test('the others have a line in the layout each, and each line has its folder', () => {
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
})
