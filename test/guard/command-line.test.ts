import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { agentCommand, serverCommands } from '../../src/program/command-definitions.ts'
import { commandTree } from '../../src/cli/completion/tree.ts'
import { EXIT_CODES } from '../../src/cli/exit-codes.ts'
import { addClientCommands } from '../../src/cli/program.ts'
import { helpPages } from '../support/programs/help-examples.ts'
import { codeIn, tableRows } from './document-tables.ts'
import { readSourceFiles, ROOT } from './source-files.ts'

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
