import { Command } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { agentCommand, serverCommands } from './command-definitions.ts'
import { runProgram } from '../cli/program.ts'

/**
 * Only needed code is loaded, to start fast: servers and agents skip the client commands (a sixth of a server's
 * start-up time), and client commands skip the server's configuration (a fifth of theirs).
 */
const [name] = process.argv.slice(2)
const runs = ['serve', 'migrate', 'demo', 'agent'].includes(name ?? '')
const configuration = runs || name === 'help' ? await import('./config.ts') : null

const program = new Command('reprise')
  .description(packageJson.description)
  .version(packageJson.version)
  .addHelpText('after', '\nREADME.md has a tour, docs/ the rest.')

program.commandsGroup('Servers and agents:')
for (const command of serverCommands(process.env, configuration?.describeConfiguration)) program.addCommand(command)
program.addCommand(agentCommand(packageJson.version, process.env))
if (!runs) {
  const { addClientCommands } = await import('../cli/program.ts')
  await addClientCommands(program, name)
}
await runProgram(program)
