import process from 'node:process'
import { CommanderError, type Command } from 'commander'
import { exitStatus } from './exit-codes.ts'
import { endQuietlyOnClosedPipe } from './output/terminal.ts'

/** Parses the arguments and runs the command; the exit status is left in `process.exitCode`. */
export async function runProgram(program: Command): Promise<void> {
  endQuietlyOnClosedPipe()
  prepare(program)
  try {
    await program.parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? 0 : exitStatus('USAGE')
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
