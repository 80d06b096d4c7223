#!/usr/bin/env node
import { Command } from 'commander'
import packageJson from '../package.json' with { type: 'json' }
import { agentCommand } from './agent-command.ts'
import { describeConfiguration } from './config.ts'

const program = new Command('reprise')
  .description(packageJson.description)
  .version(packageJson.version)
  .addHelpText('after', '\nREADME.md has a tour, the configuration and the API.')

program
  .command('serve')
  .description('serve the API, drive sessions and run kernels, until SIGTERM or SIGINT')
  .addHelpText('after', () => `\nEnvironment:\n${describeConfiguration()}`)
  .action(async () => {
    const { serve } = await import('./serve.ts')
    process.exitCode = await serve(process.env)
  })

program.addCommand(agentCommand(packageJson.version, process.env))

program
  .command('migrate')
  .description('bring the database to this version, and exit')
  .action(async () => {
    const { migrateDatabase } = await import('./serve.ts')
    process.exitCode = await migrateDatabase(process.env)
  })

program
  .command('demo')
  .description('run sessions that fail and retry on a server of its own, kill that server meanwhile, and check it all')
  .option('-v, --verbose', "show the server's log")
  .action(async (options: { verbose?: boolean }) => {
    const { runDemo } = await import('./cli/demo/demo.ts')
    process.exitCode = await runDemo({ verbose: options.verbose ?? false })
  })

await program.parseAsync()
