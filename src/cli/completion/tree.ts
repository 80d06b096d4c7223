import type { Command } from 'commander'

export interface CompletedOption {
  flags: string[]
  description: string
  /** Whether a value follows. */
  takesValue: boolean
  /** Its possible values, if known. */
  values: readonly string[]
}

export interface CompletedCommand {
  /** Separated by spaces: `retry now`. Empty for the program itself. */
  path: string
  description: string
  subcommands: { name: string; description: string }[]
  options: CompletedOption[]
  /** Possible values of its first argument, if known. */
  values: readonly string[]
}

/** The program and all its commands, as a flat list. */
export function commandTree(program: Command, path: readonly string[] = []): CompletedCommand[] {
  const visible = program.commands.filter((command) => command.name() !== 'help')
  const own: CompletedCommand = {
    path: path.join(' '),
    description: firstSentence(program.description()),
    subcommands: visible.map((command) => ({
      name: command.name(),
      description: firstSentence(command.description()),
    })),
    options: [
      ...program.options.map(({ short, long, description, required, optional, argChoices }) => ({
        flags: [short, long].filter((flag) => flag != null),
        description: firstSentence(description),
        takesValue: required || optional,
        values: argChoices ?? [],
      })),
      { flags: ['-h', '--help'], description: 'show help', takesValue: false, values: [] },
    ],
    values: program.registeredArguments[0]?.argChoices ?? [],
  }
  return [own, ...visible.flatMap((command) => commandTree(command, [...path, command.name()]))]
}

/** On one line, without characters that shells interpret. */
function firstSentence(text: string): string {
  return text.replaceAll(/[`'"$\\[\]:]/g, '').replaceAll(/\s+/g, ' ')
}
