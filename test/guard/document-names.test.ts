import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import type { GraphQLNamedType } from 'graphql'
import { describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { commandTree } from '../../src/cli/completion/tree.ts'
import { EXIT_CODES } from '../../src/cli/exit-codes.ts'
import { addClientCommands } from '../../src/cli/program.ts'
import { CLIENT_VARIABLES } from '../../src/client/node/environment.ts'
import { createClient } from '../../src/client/node/index.ts'
import { ERRORS } from '../../src/domain/errors.ts'
import { classifyFailure } from '../../src/domain/retry/classify.ts'
import { HOLD_REASON_TEXT } from '../../src/domain/retry/retry-state.ts'
import { FAILURE_NAMES } from '../../src/domain/session/failure.ts'
import { KERNEL_VARIABLES } from '../../src/domain/session/kernel-environment.ts'
import { schema } from '../../src/graphql/schema.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { agentCommand, serverCommands } from '../../src/program/command-definitions.ts'
import { CONFIGURATION } from '../../src/program/config.ts'
import { documentPages } from '../support/document-blocks.ts'
import { helpPages } from '../support/programs/help-examples.ts'
import { codeIn, proseOf, tableRows } from './document-tables.ts'
import { readSourceFiles, ROOT } from './source-files.ts'

const program = await addClientCommands(new Command('reprise'))

/** Between agents and servers. */
const protocol = (await readSourceFiles()).filter(({ path }) => path.endsWith('/agent/protocol.ts'))

/** Every name in code on the pages exists: fields, values, variables, errors, metrics, commands, options, scripts. */
describe('names that pages use', async () => {
  /** Names of other programs, of tests, and of parts that have no table. */
  const OTHERS = [
    'NODE_EXTRA_CA_CERTS',
    'NO_COLOR',
    'VIRTUAL_ENV',
    'CONDA_PREFIX',
    'LD_LIBRARY_PATH',
    'OMP_NUM_THREADS',
    'MKL_NUM_THREADS',
    'OPENBLAS_NUM_THREADS',
    'NUMEXPR_MAX_THREADS',
    'TEST_REQUIRE',
    'TEST_BROWSER',
    'TEST_DEADLINE',
    '--minutes',
    '--seed',
    '--canary',
    '--fast-forward',
    'CUDA_VISIBLE_DEVICES',
    'NVIDIA_VISIBLE_DEVICES',
    'ROCR_VISIBLE_DEVICES',
    'HIP_VISIBLE_DEVICES',
    'SLURM_CONF',
    'OUT_OF_MEMORY',
    'backoffFactor',
    'documentId',
    'onProgress',
    'browserKey',
    'CapabilityBoundingSet',
    'shareProcessNamespace',
    '--build-arg',
    '--clusters',
    '--cpus-per-task',
    '--device-name-strategy',
    '--exclude',
    '--exclusive',
    '--format',
    '--gres',
    '--help',
    '--init',
    '--keep',
    '--live-restore',
    '--mem',
    '--max-semi-space-size',
    '--nice',
    '--no-requeue',
    '--only',
    '--output',
    '--quick',
    '--time',
  ]

  /** Names of Relay, Apollo Client and urql that test/contract/caches uses. */
  const OF_CACHES = [
    'deleteRecord',
    'deleteEdge',
    'prependNode',
    'keyFields',
    'relayStylePagination',
    'REPRISE_PID',
    'relayPagination',
  ]

  const client = createClient({ url: 'http://127.0.0.1:1', token: 'none' })
  for (const command of [...serverCommands({}), agentCommand('0', {})]) program.addCommand(command)

  const names = new Set<string>([
    ...OTHERS,
    ...OF_CACHES,
    ...Object.keys(ERRORS),
    ...CONFIGURATION.map(({ name }) => name),
    ...CLIENT_VARIABLES.map(({ name }) => name),
    ...Object.keys(KERNEL_VARIABLES),
    ...Object.keys(client),
    ...Object.values(schema.getTypeMap()).flatMap(namesOfType),
    ...createMetrics()
      .registry.getMetricsAsArray()
      .map(({ name }) => name),
    ...optionsOf(program),
    ...protocol.flatMap(({ text }) => [...text.matchAll(/^ {2}(?:readonly )?(\w+)\??:/gm)].map(([, name]) => name!)),
  ])
  await client.close()

  function namesOfType(type: GraphQLNamedType): string[] {
    const values = 'getValues' in type ? type.getValues().map(({ name }) => name) : []
    const fields = 'getFields' in type ? Object.values<Field>(type.getFields()) : []
    return [type.name, ...values, ...fields.flatMap(({ name, args = [] }) => [name, ...args.map((each) => each.name)])]
  }

  interface Field {
    name: string
    args?: readonly { name: string }[]
  }

  function optionsOf(command: Command): string[] {
    const own = command.options.flatMap(({ long }) => (long ? [long] : []))
    return [...own, ...command.commands.flatMap(optionsOf)]
  }

  /** Capitals with underscores, camelCase, our metrics, long options. */
  const NAME = /(?<![\w.$-])(?:[A-Z]+(?:_[A-Z]+)+|[a-z]+[A-Z]\w*|bai_\w+|--[a-z][a-z-]+)(?![\w…*-])/g

  const pages = (await documentPages()).filter((page) => page !== 'CHANGELOG.md')
  const codes = await Promise.all(pages.map(async (page) => ({ page, code: codeIn(await proseOf(page)) })))

  test('names are seen', () => {
    expect(codes.flatMap(({ code }) => code.flatMap((text) => text.match(NAME) ?? [])).length).toBeGreaterThan(500)
  })

  describe.each(codes)('$page', ({ code }) => {
    test('names existing things', () => {
      const named = code.flatMap((text) => text.match(NAME) ?? [])
      expect(named.filter((name) => !names.has(name))).toEqual([])
    })

    test('shows commands that there are', () => {
      const commands = code.flatMap((text) => /^(?:npx )?reprise ([a-z][a-z-]*(?: [a-z]+)?)/.exec(text)?.slice(1) ?? [])
      expect(commands.filter((command) => !isCommand(command.split(' ')))).toEqual([])
      const scripts = code.flatMap((text) => /^npm (?:run )?([a-z]+)/.exec(text)?.slice(1) ?? [])
      expect(scripts.filter((script) => script !== 'ci' && !(script in packageJson.scripts))).toEqual([])
    })
  })

  /** `ready` is what a server prints, and a word after a command without subcommands its argument. */
  function isCommand([name, second]: string[]): boolean {
    const command = program.commands.find((each) => each.name() === name)
    if (command === undefined) return name === 'ready'
    if (second === undefined || command.commands.length === 0) return true
    return command.commands.some((each) => each.name() === second)
  }
})

describe('the page on the command line', () => {
  const PAGE = 'docs/command-line.md'

  test('docs/command-line.md: | `status` | meaning |', async () => {
    const expected = Object.values(EXIT_CODES).map(({ status, meaning }) => [String(status), meaning])
    expect(await tableRows(PAGE, 'Exit statuses')).toEqual(expected)
  })

  describe('each command', async () => {
    const pages = await helpPages()

    test('is seen', () => expect(pages.length).toBeGreaterThan(40))

    test.each(pages)('$path shows examples of itself', ({ path, examples }) => {
      expect(examples.length).toBeGreaterThan(0)
      const first = path.split(' ').slice(0, 2).join(' ')
      for (const example of examples) expect(example).toContain(first)
    })

    test('answers in JSON where asked to', () => {
      const without = pages.filter(({ command }) => !command.options.some(({ long }) => long === '--json'))
      expect(without.map(({ path }) => path)).toEqual(['reprise completion'])
    })

    test('has the options with which the web UI shows it', async () => {
      const shown = (await readSourceFiles()).flatMap(({ path, text }) =>
        path.startsWith('src/ui/')
          ? [...text.matchAll(/npx reprise ([a-z]+(?: [a-z]+)*)((?: (?!-- )[^\n`<]*?)?)(?: -- |[`<\n])/g)]
          : [],
      )
      expect(shown.length).toBeGreaterThan(5)
      const here = [...serverCommands({}), agentCommand('0', {})]
      const known = [...pages, ...here.map((command) => ({ path: `reprise ${command.name()}`, command }))]
      for (const [line, words, rest] of shown) {
        const page = known.findLast(({ path }) => `reprise ${words} `.startsWith(`${path} `))
        expect(page, line).toBeDefined()
        const options = page!.command.options.flatMap(({ long, short }) => [long, short])
        const unknown = (rest!.match(/(?<= )--?[a-z-]+/g) ?? []).filter((option) => !options.includes(option))
        expect({ line, unknown }).toEqual({ line, unknown: [] })
      }
    })

    test('is completed', async () => {
      const tree = commandTree(await addClientCommands(new Command('reprise')))
      const completed = tree.map(({ path }) => `reprise ${path}`)
      expect(pages.map(({ path }) => path).filter((path) => !completed.includes(path))).toEqual([])
    })

    test(`stands in the table of ${PAGE}`, async () => {
      const text = await readFile(join(ROOT, PAGE), 'utf8')
      const rows = [...text.matchAll(/^\| [a-z ]+ \| (`.*) \|$/gm)].map(([, cell]) => cell!)
      const named = rows.flatMap(codeIn).map((name) => name.split(' ')[0])
      const client = (await addClientCommands(new Command('reprise'))).commands.map((command) => command.name())
      const server = [...serverCommands({}), agentCommand('0', {})].map((command) => command.name())
      expect(new Set(named)).toEqual(new Set([...client, ...server]))
    })
  })
})

describe('variables of kernels', () => {
  test('docs/executors.md describes each variable of kernels as the code does', async () => {
    const rows = await tableRows('docs/executors.md', 'The environment of kernels')
    expect(rows).toEqual(Object.entries(KERNEL_VARIABLES))
  })
})

/** docs/troubleshooting.md knows what can go wrong. */
describe('the page on troubleshooting', () => {
  const PAGE = 'docs/troubleshooting.md'

  describe('what failed a session', async () => {
    const rows = (await tableRows(PAGE, 'A session failed')).map(([name, cause]) => ({ name: name!, cause: cause! }))

    test('every name has a row', () => {
      const told = rows.map(({ name }) => name)
      expect(FAILURE_NAMES.filter((name) => !told.includes(name))).toEqual([])
      expect(new Set(told).size).toBe(told.length)
    })

    test.each(rows)('$name has its cause, and occurs in the sources', async ({ name, cause }) => {
      const session = { status: 'ERROR', terminatedBy: null } as const
      const classified = classifyFailure(session, { error: { name, message: '' } })
      expect(classified).toMatchObject({ cause: codeIn(cause)[0] })
      const files = await readSourceFiles()
      expect(
        files.filter(({ text }) => text.includes(`'${name}'`) || text.includes(`  ${name}: '`)).length,
      ).toBeGreaterThan(0)
    })
  })

  test('every reason to hold a retry has a row', async () => {
    const rows = await tableRows(PAGE, 'It failed, and no retry comes')
    expect(rows.map(([reason]) => reason!).toSorted()).toEqual(Object.keys(HOLD_REASON_TEXT).toSorted())
  })
})
