import { Command } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { agentCommand, serverCommands } from './command-definitions.ts'
import { runProgram } from '../cli/program.ts'
import { CLIENT_VARIABLES } from '../client/node/environment.ts'

/**
 * Only needed code is loaded, to start fast: servers and agents skip the client commands (a sixth of a server's
 * start-up time), and client commands skip the server's configuration (a fifth of theirs).
 */
const [name] = process.argv.slice(2)
const runs = ['serve', 'migrate', 'backup', 'restore', 'demo', 'agent'].includes(name ?? '')
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
  if (name !== 'complete') await warnOfVariables()
}
await runProgram(program)

/** Servers and agents log such warnings. The list of all variables is loaded only if a client does not read one. */
async function warnOfVariables(): Promise<void> {
  const own: readonly string[] = [...CLIENT_VARIABLES.map((variable) => variable.name), 'REPRISE_DATA_DIR']
  const others = Object.keys(process.env).filter(
    (variable) => variable.startsWith('REPRISE_') && !own.includes(variable),
  )
  if (others.length === 0) return
  const { warnOfUnknownVariables } = await import('./config.ts')
  for (const warning of warnOfUnknownVariables(process.env)) console.error(`warning: ${warning}`)
}
