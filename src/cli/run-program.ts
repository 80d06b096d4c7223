import process from 'node:process'
import { CommanderError, type Command } from 'commander'
import { exitStatus } from './exit-codes.ts'
import { endQuietlyOnClosedPipe } from './output/terminal.ts'

/** Parses the arguments and runs the command; the exit status is left in `process.exitCode`. */
export async function runProgram(program: Command): Promise<void> {
  endQuietlyOnClosedPipe()
  prepare(program)
  try {
    refuseUnknownSubcommand(program, process.argv.slice(2))
    await program.parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? 0 : exitStatus('USAGE')
  }
}

/** Of a command with a default subcommand commander says instead that the default takes no argument. */
function refuseUnknownSubcommand(program: Command, words: readonly string[]): void {
  let command = program
  for (const word of words) {
    if (word.startsWith('-') || word === 'help' || command.commands.length === 0) return
    const named = command.commands.find((one) => one.name() === word || one.aliases().includes(word))
    if (named) {
      command = named
      continue
    }
    if (command === program) return
    const names = command.commands.map((one) => one.name()).join(', ')
    command.error(`error: unknown command '${word}' of ${pathOf(command)}, which has ${names}`)
  }
}

/** Makes every command throw instead of exiting, so that exit statuses are decided in one place. */
function prepare(command: Command): void {
  command.exitOverride().showHelpAfterError(`(\`${pathOf(command)} --help\` tells more)`)
  for (const subcommand of command.commands) prepare(subcommand)
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}
