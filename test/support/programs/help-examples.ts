import { Command } from 'commander'
import { addClientCommands } from '../../../src/cli/program.ts'

/** All leaf commands, with the text of their `--help`. */
export interface HelpPage {
  /** The words of the command, such as `reprise retry now`. */
  path: string
  command: Command
  /** The printed example, without the prompt. */
  examples: string[]
}

export async function helpPages(): Promise<HelpPage[]> {
  return leaves(await addClientCommands(new Command('reprise'))).map((command) => ({
    path: pathOf(command),
    command,
    examples: [...helpOf(command).matchAll(/^ {2}\$ (.+)$/gm)].map(([, line]) => line!),
  }))
}

function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap((subcommand) => leaves(subcommand))
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp()
  return text
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}
