import type { Command } from 'commander'

type Load = () => Promise<Command>

const GROUPS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Work:': {
    run: async () => (await import('./commands/run.ts')).runCommand(),
    create: async () => (await import('./commands/create.ts')).createCommand(),
    list: async () => (await import('./commands/list.ts')).listCommand(),
    info: async () => (await import('./commands/info.ts')).infoCommand(),
    logs: async () => (await import('./commands/logs.ts')).logsCommand(),
    watch: async () => (await import('./commands/watch.ts')).watchCommand(),
    chains: async () => (await import('./commands/chains.ts')).chainsCommand(),
    chain: async () => (await import('./commands/chains.ts')).chainCommand(),
    deployments: async () => (await import('./commands/deployments.ts')).deploymentsCommand(),
  },
  'Retries:': {
    cancel: async () => (await import('./commands/cancel.ts')).cancelCommand(),
    retry: async () => (await import('./commands/retry.ts')).retryCommand(),
    resubmit: async () => (await import('./commands/resubmit.ts')).resubmitCommand(),
    resubmissions: async () => (await import('./commands/resubmissions.ts')).resubmissionsCommand(),
    policy: async () => (await import('./commands/policy.ts')).policyCommand(),
  },
  'Administration:': {
    defaults: async () => (await import('./commands/defaults.ts')).defaultsCommand(),
    switch: async () => (await import('./commands/switch.ts')).switchCommand(),
    agents: async () => (await import('./commands/agents.ts')).agentsCommand(),
    projects: async () => (await import('./commands/projects.ts')).projectsCommand(),
    quotas: async () => (await import('./commands/quotas.ts')).quotasCommand(),
    audit: async () => (await import('./commands/audit.ts')).auditCommand(),
    tokens: async () => (await import('./commands/tokens.ts')).tokensCommand(),
    webhooks: async () => (await import('./commands/webhooks.ts')).webhooksCommand(),
  },
  'This machine:': {
    login: async () => (await import('./commands/profiles.ts')).loginCommand(),
    profiles: async () => (await import('./commands/profiles.ts')).profilesCommand(),
    doctor: async () => (await import('./commands/doctor.ts')).doctorCommand(),
    completion: async () => (await import('./commands/completion.ts')).completionCommand(),
  },
}
/** Needs all commands to be loaded. */
const ABOUT_ALL = 'completion'

/**
 * Adds the commands that talk to a server: only the one called `name` if there is one, else all of them. Loading all of
 * them is a quarter of the time of a start.
 */
export async function addClientCommands(program: Command, name?: string): Promise<Command> {
  const all = Object.entries(GROUPS).flatMap(([group, commands]) =>
    Object.entries(commands).map(([own, load]) => ({ group, own, load })),
  )
  const named = name === ABOUT_ALL ? [] : all.filter(({ own }) => own === name)
  const wanted = named.length > 0 ? named : all
  const commands = await Promise.all(wanted.map(async ({ group, load }) => (await load()).helpGroup(group)))
  for (const command of commands) program.addCommand(command)
  return program
}
