import { Command } from 'commander'
import packageJson from '../package.json' with { type: 'json' }
import { agentCommand } from './agent-command.ts'
import { runProgram } from './cli/run-program.ts'
import { serverCommands } from './server-commands.ts'

/**
 * A start pays for all that it loads: what runs servers and agents does without the commands that talk to one (a sixth
 * of a server's start), and those do without the server's configuration (a fifth of theirs).
 */
const [name] = process.argv.slice(2)
const runs = ['serve', 'migrate', 'demo', 'agent'].includes(name ?? '')
const configuration = runs || name === 'help' ? await import('./config.ts') : null

const program = new Command('reprise')
  .description(packageJson.description)
  .version(packageJson.version)
  .addHelpText('after', '\nREADME.md has a tour, the configuration and the API.')

program.commandsGroup('Servers and agents:')
for (const command of serverCommands(process.env, configuration?.describeConfiguration)) program.addCommand(command)
program.addCommand(agentCommand(packageJson.version, process.env))
if (!runs) {
  const { addClientCommands } = await import('./cli/program.ts')
  await addClientCommands(program, name)
}
await runProgram(program)
