import type { Command } from 'commander'

type Load = () => Promise<Command>

const GROUPS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Work:': {
    run: async () => (await import('./session/run.ts')).runCommand(),
    create: async () => (await import('./session/create.ts')).createCommand(),
    list: async () => (await import('./session/list.ts')).listCommand(),
    info: async () => (await import('./session/info.ts')).infoCommand(),
    logs: async () => (await import('./session/logs.ts')).logsCommand(),
    exec: async () => (await import('./channel/exec.ts')).execCommand(),
    'port-forward': async () => (await import('./channel/port-forward.ts')).portForwardCommand(),
    events: async () => (await import('./event/events.ts')).eventsCommand(),
    watch: async () => (await import('./event/watch.ts')).watchCommand(),
    history: async () => (await import('./session/history.ts')).historyCommand(),
    stats: async () => (await import('./session/stats.ts')).statsCommand(),
    chains: async () => (await import('./chain/chains.ts')).chainsCommand(),
    chain: async () => (await import('./chain/chains.ts')).chainCommand(),
    schedules: async () => (await import('./schedule/schedules.ts')).schedulesCommand(),
    deployments: async () => (await import('./deployment/deployments.ts')).deploymentsCommand(),
  },
  'Retries:': {
    cancel: async () => (await import('./session/cancel.ts')).cancelCommand(),
    retry: async () => (await import('./retry/retry.ts')).retryCommand(),
    resubmit: async () => (await import('./resubmission/resubmit.ts')).resubmitCommand(),
    resubmissions: async () => (await import('./resubmission/resubmissions.ts')).resubmissionsCommand(),
    policy: async () => (await import('./retry/policy.ts')).policyCommand(),
  },
  'Administration:': {
    defaults: async () => (await import('./retry/defaults.ts')).defaultsCommand(),
    switch: async () => (await import('./retry/switch.ts')).switchCommand(),
    agents: async () => (await import('./agent/agents.ts')).agentsCommand(),
    volumes: async () => (await import('./agent/volumes.ts')).volumesCommand(),
    groups: async () => (await import('./resource-group/groups.ts')).groupsCommand(),
    users: async () => (await import('./access/users.ts')).usersCommand(),
    domains: async () => (await import('./access/domains.ts')).domainsCommand(),
    projects: async () => (await import('./access/projects.ts')).projectsCommand(),
    quotas: async () => (await import('./quota/quotas.ts')).quotasCommand(),
    audit: async () => (await import('./access/audit.ts')).auditCommand(),
    tokens: async () => (await import('./access/tokens.ts')).tokensCommand(),
    webhooks: async () => (await import('./webhook/webhooks.ts')).webhooksCommand(),
    graphql: async () => (await import('./access/graphql.ts')).graphqlCommand(),
  },
  'This machine:': {
    ui: async () => (await import('./access/ui.ts')).uiCommand(),
    login: async () => (await import('./access/profiles.ts')).loginCommand(),
    profiles: async () => (await import('./access/profiles.ts')).profilesCommand(),
    doctor: async () => (await import('./doctor/doctor.ts')).doctorCommand(),
    completion: async () => (await import('./completion/completion.ts')).completionCommand(),
  },
}
/** Called by programs alone, and not shown. */
const HIDDEN: Readonly<Record<string, Load>> = {
  complete: async () => (await import('./completion/offer.ts')).offerCommand(),
}

/** Needs all commands to be loaded. */
const ABOUT_ALL = 'completion'

/**
 * Adds the commands that talk to a server: only the one called `name` if there is one, else all of them. Loading all of
 * them is a quarter of the time of a start.
 */
export async function addClientCommands(program: Command, name?: string): Promise<Command> {
  const hidden = name !== undefined && Object.hasOwn(HIDDEN, name) ? HIDDEN[name] : undefined
  if (hidden) return program.addCommand(await hidden(), { hidden: true })
  const all = Object.entries(GROUPS).flatMap(([group, commands]) =>
    Object.entries(commands).map(([own, load]) => ({ group, own, load })),
  )
  const named = name === ABOUT_ALL ? [] : all.filter(({ own }) => own === name)
  const wanted = named.length > 0 ? named : all
  const commands = await Promise.all(wanted.map(async ({ group, load }) => (await load()).helpGroup(group)))
  for (const command of commands) program.addCommand(command)
  return program
}
