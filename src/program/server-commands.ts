import { Command } from 'commander'

/**
 * `reprise serve`, `migrate` and `demo`. Their code is loaded when they are called; `describeConfiguration` is for the
 * help of `serve`.
 */
export function serverCommands(environment: NodeJS.ProcessEnv, describeConfiguration?: () => string): Command[] {
  const serve = new Command('serve')
    .description('serve the API, drive sessions and run kernels, until SIGTERM or SIGINT')
    .addHelpText('after', () => (describeConfiguration ? `\nEnvironment:\n${describeConfiguration()}` : ''))
    .option('--new-admin-token', 'revoke the admin token that the servers of this database share, and make a new one')
    .action(async (options: { newAdminToken?: boolean }) => {
      const server = await import('./serve.ts')
      process.exitCode = await server.serve(environment, options)
    })
  const migrate = new Command('migrate')
    .description('migrate the database to this version, and exit')
    .action(async () => {
      const { migrateDatabase } = await import('./serve.ts')
      process.exitCode = await migrateDatabase(environment)
    })
  const demo = new Command('demo')
    .description(
      'run sessions that fail and retry on a server of its own, kill that server in the middle, and check the outcome',
    )
    .option('-v, --verbose', "show the server's log")
    .option('--stay', 'leave the server running afterwards, to look at it in a browser, until Ctrl-C')
    .action(async (options: { verbose?: boolean; stay?: boolean }) => {
      const { runDemo } = await import('../cli/demo/demo.ts')
      process.exitCode = await runDemo({ verbose: options.verbose ?? false, stay: options.stay ?? false })
    })
  return [serve, migrate, demo]
}
