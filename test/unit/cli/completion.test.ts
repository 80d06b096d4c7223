import { execFileSync, spawnSync } from 'node:child_process'
import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { SHELLS } from '../../../src/cli/completion/completion.ts'
import { commandTree } from '../../../src/cli/completion/tree.ts'
import { addClientCommands } from '../../../src/cli/program.ts'

const program = await addClientCommands(new Command('reprise'))
const tree = commandTree(program)
const has = (shell: string) => spawnSync(shell, ['--version']).status === 0

describe.skipIf(!has('bash'))('bash (needs bash)', () => {
  const script = SHELLS.bash(tree)

  function complete(...words: string[]): string[] {
    const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reprise; printf '%s\\n' "\${COMPREPLY[@]}"`
    const output = execFileSync('bash', ['--norc', '-c', `${script}\n${ask}`, 'bash', 'reprise', ...words], {
      encoding: 'utf8',
    })
    return output.split('\n').filter(Boolean)
  }

  test.each([
    [['re'], ['retry', 'resubmit', 'resubmissions']],
    [
      ['retry', ''],
      ['now', 'update', 'cancel', '-h', '--help'],
    ],
    [['list', '--lim'], ['--limit']],
    [['list', '--json', '--status', 'er'], ['error']],
    [['tokens', 'create', '--role', 'mem'], ['member']],
    [['switch', 'set', 'c'], ['cluster']],
    [['completion', 'z'], ['zsh']],
    [['run', '--', '/etc/hosts'], ['/etc/hosts']],
    [['list', 'retry', '--sta'], ['--status']],
  ])('%j', (words, expected) => expect(complete(...words)).toEqual(expected))
})

describe.each(['zsh', 'fish'] as const)('%s', (shell) => {
  test.skipIf(!has(shell))(`its grammar is right (needs ${shell})`, () => {
    expect(spawnSync(shell, ['-n'], { input: SHELLS[shell](tree), encoding: 'utf8' })).toMatchObject({ status: 0 })
  })

  test('all commands and options are in it', () => {
    const script = SHELLS[shell](tree)
    const flags = tree.flatMap(({ options }) => options.flatMap((option) => option.flags))
    const written = (flag: string) =>
      shell === 'zsh'
        ? script.includes(`*${flag}=[`)
          ? `*${flag}=[`
          : `*${flag}[`
        : flag.startsWith('--')
          ? `-l ${flag.slice(2)} `
          : `-s ${flag.slice(1)} `
    expect(flags.filter((flag) => !script.includes(written(flag)))).toEqual([])
    for (const { path } of tree)
      expect(script).toContain(
        shell === 'zsh' ? `_reprise${path && '_'}${path.replaceAll(/[ -]/g, '_')}() {` : `__reprise_at "${path}"`,
      )
  })
})

test('each id that is asked for is called by what it is of', () => {
  const placeholders = (command: Command): string[] => [
    ...command.options.filter(({ long }) => long !== '--creation-id').map(({ flags }) => flags),
    ...command.registeredArguments.map((argument) => `<${argument.name()}>`),
    ...command.commands.flatMap(placeholders),
  ]
  const all = placeholders(program)
  expect(all).toContain('--on-agent <agent>')
  expect(all.filter((each) => each.includes('<id>'))).toEqual([])
})
