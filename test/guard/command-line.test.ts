import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { commandTree } from '../../src/cli/completion/tree.ts'
import { EXIT_CODES } from '../../src/cli/exit-codes.ts'
import { addClientCommands } from '../../src/cli/program.ts'
import { helpPages } from '../support/help-examples.ts'
import { readmeRows } from './readme-tables.ts'

test('README "Command line": | `status` | meaning |', async () => {
  const expected = Object.values(EXIT_CODES).map(({ status, meaning }) => [String(status), meaning])
  expect(await readmeRows('Command line')).toEqual(expected)
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

  test('is completed', async () => {
    const tree = commandTree(await addClientCommands(new Command('reprise')))
    const completed = tree.map(({ path }) => `reprise ${path}`)
    expect(pages.map(({ path }) => path).filter((path) => !completed.includes(path))).toEqual([])
  })
})
