import { Command } from 'commander'
import packageJson from '../package.json' with { type: 'json' }
import { agentCommand } from './agent-command.ts'
import { addClientCommands } from './cli/program.ts'
import { runProgram } from './cli/run-program.ts'
import { serverCommands } from './server-commands.ts'

const program = new Command('reprise')
  .description(packageJson.description)
  .version(packageJson.version)
  .addHelpText('after', '\nREADME.md has a tour, the configuration and the API.')

program.commandsGroup('Servers and agents:')
for (const command of serverCommands(process.env)) program.addCommand(command)
program.addCommand(agentCommand(packageJson.version, process.env))
addClientCommands(program)
await runProgram(program)
