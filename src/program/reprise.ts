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

/** The names of all variables. Only the bundle has them as a constant. */
declare const VARIABLE_NAMES: readonly string[] | undefined

/** Servers and agents log such warnings. The configuration is loaded only for an unknown name, or without a bundle. */
async function warnOfVariables(): Promise<void> {
  const all = typeof VARIABLE_NAMES === 'undefined' ? [] : VARIABLE_NAMES
  const known = new Set([...CLIENT_VARIABLES.map((variable) => variable.name), 'REPRISE_DATA_DIR', ...all])
  const isKnown = (variable: string) => !variable.startsWith('REPRISE_') || known.has(variable)
  if (Object.keys(process.env).every(isKnown)) return
  const { warnOfUnknownVariables } = await import('./config.ts')
  for (const warning of warnOfUnknownVariables(process.env)) console.error(`warning: ${warning}`)
}
