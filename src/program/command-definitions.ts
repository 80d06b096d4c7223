import { Command } from 'commander'

/**
 * Defines `reprise serve`, `migrate`, `backup`, `restore` and `demo`. Their code is loaded when they are called. `describeConfiguration` is
 * for the help of `serve`.
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
  const backup = new Command('backup')
    .description('copy the database, code, checkpoints and keys into an empty directory')
    .argument('<directory>')
    .addHelpText('after', `\nExample:\n  $ reprise backup /backups/monday${BACKUP_HELP}`)
    .action(async (directory: string) => {
      const { backUp } = await import('./backup.ts')
      process.exitCode = await backUp(environment, directory)
    })
  const restore = new Command('restore')
    .description('restore a backup into an empty data directory')
    .argument('<backup>', 'directory that `reprise backup` has made')
    .addHelpText('after', `\nExample:\n  $ REPRISE_DATA_DIR=/var/lib/reprise reprise restore /backups/monday`)
    .action(async (directory: string) => {
      const { restore: run } = await import('./backup.ts')
      process.exitCode = await run(environment, directory)
    })
  return [serve, migrate, backup, restore, demo]
}

const BACKUP_HELP = `

It reads the configuration of the server. Stop a server with the embedded
database first. With a database of your own (REPRISE_DATABASE_URL) servers may
run, and pg_dump must be installed.`

/** Options of `reprise agent`; each overrides an environment variable, whose documentation has the details. */
const OPTIONS = [
  ['--server <url,…>', 'servers of one database to run kernels for; any of them will do', 'REPRISE_SERVER_URL'],
  ['--token-file <path>', 'file with a token of role AGENT', 'REPRISE_TOKEN_FILE'],
  ['--token <token>', 'the token itself; other users of this machine can then see it', 'REPRISE_TOKEN'],
  ['--name <name>', "the agent's name, for people", 'REPRISE_AGENT_NAME'],
  ['--resource-group <name>', 'resource group to join', 'REPRISE_RESOURCE_GROUP'],
  ['--slots <slot=amount,…>', 'resource slots to offer, like cpu=4,mem=8g', 'REPRISE_SLOTS'],
  ['--label <key=value,…>', 'labels; may be repeated', 'REPRISE_AGENT_LABELS'],
  ['--address <address>', 'address at which others reach this machine', 'REPRISE_AGENT_ADDRESS'],
  ['--data-dir <path>', "directory of the agent's id and kernels", 'REPRISE_DATA_DIR'],
  ['--chains-dir <path>', 'directory with what the attempts of chains store', 'REPRISE_CHAINS_DIR'],
  ['--isolation <mode>', 'auto, namespaces, user or none', 'REPRISE_ISOLATION'],
  ['--executor <name>', 'process, container, slurm or noop', 'REPRISE_EXECUTOR'],
  [
    '--container-engine <url>',
    'socket of Docker or Podman, like unix:///run/podman/podman.sock',
    'REPRISE_CONTAINER_ENGINE',
  ],
  ['--container-image <name>', 'image of sessions that name none', 'REPRISE_CONTAINER_IMAGE'],
  ['--slurm-dir <path>', 'directory that this agent and all nodes of the Slurm cluster share', 'REPRISE_SLURM_DIR'],
  ['--slurm-partition <name>', 'Slurm partition to run jobs in', 'REPRISE_SLURM_PARTITION'],
  ['--slurm-queue <factor>', 'slots to offer, as a multiple of what the nodes have', 'REPRISE_SLURM_QUEUE'],
] as const

/** Defines `reprise agent`, which loads no code of the server. */
export function agentCommand(version: string, environment: NodeJS.ProcessEnv): Command {
  const command = new Command('agent')
    .description('run kernels for servers on other machines, until SIGTERM or SIGINT; kernels outlive it')
    .addHelpText('after', '\nA token given by its file or by REPRISE_TOKEN is seen by nobody else.')
  for (const [flags, meaning, variable] of OPTIONS) {
    const collect = (value: string, earlier: string[] = []) => [...earlier, value]
    command.option(flags, `${meaning} (${variable})`, collect)
  }
  return command.action(async (options: Record<string, string[]>) => {
    const { runAgent } = await import('./run-agent.ts')
    process.exitCode = await runAgent({ ...environment, ...asEnvironment(options) }, version)
  })
}

function asEnvironment(options: Record<string, string[]>): Record<string, string> {
  const given = OPTIONS.flatMap(([flags, , variable]) => {
    const key = flags
      .slice(2)
      .split(' ')[0]!
      .replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    const values = options[key]
    return values === undefined ? [] : [[variable, values.join(',')] as const]
  })
  return Object.fromEntries(given)
}
