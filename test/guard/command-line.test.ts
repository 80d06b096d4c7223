import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/exit-codes.ts'
import { commandTree } from '../../src/cli/completion/tree.ts'
import { addClientCommands } from '../../src/cli/program.ts'
import { readmeRows } from './readme-tables.ts'

const program = addClientCommands(new Command('reprise'))

function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap((subcommand) => leaves(subcommand))
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp()
  return text
}

test('README "Command line": | `status` | meaning |', async () => {
  const expected = Object.values(EXIT_CODES).map(({ status, meaning }) => [
    String(status),
    meaning.replaceAll('`', '`'),
  ])
  expect(await readmeRows('Command line')).toEqual(expected)
})

describe('each command', () => {
  const all = leaves(program)

  test('is seen', () => expect(all.length).toBeGreaterThan(40))

  test.each(all.map((command) => [pathOf(command), command] as const))(
    '%s shows examples, of options that there are',
    (path, command) => {
      const examples = [...helpOf(command).matchAll(/^ {2}\$ (.+)$/gm)].map(([, line]) => line!)
      expect(examples.length).toBeGreaterThan(0)
      for (const example of examples) {
        const own = example.slice(example.indexOf('reprise ')).split(/ (?:--|\||>|&&|#) /)[0]!
        const flags = own.match(/(?<= )--?[a-z][\w-]*/g) ?? []
        const known = command.options.flatMap(({ short, long }) => [short, long])
        expect({ example, unknown: flags.filter((flag) => !known.includes(flag)) }).toEqual({ example, unknown: [] })
        const first = path.split(' ').slice(0, 2).join(' ')
        expect(own.startsWith(first) || own.startsWith(`source <(${first}`), `${example} is of ${path}`).toBe(true)
      }
    },
  )

  test('answers in JSON where asked to', () => {
    const without = all.filter(({ options }) => !options.some(({ long }) => long === '--json'))
    expect(without.map(pathOf)).toEqual(['reprise completion'])
  })

  test('is completed', () => {
    const completed = commandTree(program).map(({ path }) => `reprise ${path}`)
    expect(all.map(pathOf).filter((path) => !completed.includes(path))).toEqual([])
  })
})

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}
