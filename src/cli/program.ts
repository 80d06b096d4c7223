import { type Command, CommanderError } from 'commander'
import process from 'node:process'
import { exitStatus } from './exit-codes.ts'
import { endQuietlyOnClosedPipe } from './output/terminal.ts'

type Load = () => Promise<Command>

const GROUPS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Work:': {
    run: async () => (await import('./session/run.ts')).runCommand(),
    create: async () => (await import('./session/run.ts')).createCommand(),
    list: async () => (await import('./session/show.ts')).listCommand(),
    info: async () => (await import('./session/show.ts')).infoCommand(),
    logs: async () => (await import('./session/logs.ts')).logsCommand(),
    wait: async () => (await import('./session/wait.ts')).waitCommand(),
    outputs: async () => (await import('./session/outputs.ts')).outputsCommand(),
    download: async () => (await import('./session/outputs.ts')).downloadCommand(),
    exec: async () => (await import('./channel.ts')).execCommand(),
    'port-forward': async () => (await import('./channel.ts')).portForwardCommand(),
    events: async () => (await import('./event.ts')).eventsCommand(),
    watch: async () => (await import('./event.ts')).watchCommand(),
    history: async () => (await import('./session/show.ts')).historyCommand(),
    failures: async () => (await import('./session/stats.ts')).failuresCommand(),
    insights: async () => (await import('./session/insights.ts')).insightsCommand(),
    usage: async () => (await import('./session/insights.ts')).usageCommand(),
    compare: async () => (await import('./session/compare.ts')).compareCommand(),
    queue: async () => (await import('./session/queue.ts')).queueCommand(),
    stats: async () => (await import('./session/stats.ts')).statsCommand(),
    chains: async () => (await import('./chain.ts')).chainsCommand(),
    chain: async () => (await import('./chain.ts')).chainCommand(),
    groups: async () => (await import('./session/groups.ts')).groupsCommand(),
    schedules: async () => (await import('./schedule.ts')).schedulesCommand(),
    deployments: async () => (await import('./deployment/deployments.ts')).deploymentsCommand(),
  },
  'Retries:': {
    cancel: async () => (await import('./session/cancel.ts')).cancelCommand(),
    retry: async () => (await import('./retry/retry.ts')).retryCommand(),
    resubmit: async () => (await import('./resubmission.ts')).resubmitCommand(),
    'bulk-actions': async () => (await import('./resubmission.ts')).bulkActionsCommand(),
    policy: async () => (await import('./retry/policy.ts')).policyCommand(),
    advice: async () => (await import('./retry/advice.ts')).adviceCommand(),
    backtest: async () => (await import('./retry/backtest.ts')).backtestCommand(),
  },
  'Administration:': {
    defaults: async () => (await import('./retry/settings.ts')).defaultsCommand(),
    switch: async () => (await import('./retry/settings.ts')).switchCommand(),
    agents: async () => (await import('./agent.ts')).agentsCommand(),
    volumes: async () => (await import('./agent.ts')).volumesCommand(),
    'resource-groups': async () => (await import('./resource-group.ts')).resourceGroupsCommand(),
    users: async () => (await import('./access.ts')).usersCommand(),
    domains: async () => (await import('./access.ts')).domainsCommand(),
    projects: async () => (await import('./access.ts')).projectsCommand(),
    quotas: async () => (await import('./quota.ts')).quotasCommand(),
    audit: async () => (await import('./access.ts')).auditCommand(),
    tokens: async () => (await import('./access.ts')).tokensCommand(),
    webhooks: async () => (await import('./webhook.ts')).webhooksCommand(),
    graphql: async () => (await import('./graphql.ts')).graphqlCommand(),
  },
  'This machine:': {
    ui: async () => (await import('./ui.ts')).uiCommand(),
    login: async () => (await import('./profiles.ts')).loginCommand(),
    profiles: async () => (await import('./profiles.ts')).profilesCommand(),
    doctor: async () => (await import('./doctor/doctor.ts')).doctorCommand(),
    completion: async () => (await import('./completion/completion.ts')).completionCommand(),
  },
}
/** Commands for programs, and former names of commands. Help does not list them. */
const HIDDEN: Readonly<Record<string, Load>> = {
  complete: async () => (await import('./completion/completion.ts')).offerCommand(),
  resubmissions: async () => (await import('./resubmission.ts')).bulkActionsCommand('resubmissions'),
}

/** The command that needs all others loaded. */
const ABOUT_ALL = 'completion'

/**
 * Adds the commands that talk to a server: only the one called `name` if there is one, otherwise all of them. Loading
 * all of them is a quarter of the time of a start.
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

/** Parses the arguments and runs the command. The exit status is stored in `process.exitCode`. */
export async function runProgram(program: Command): Promise<void> {
  endQuietlyOnClosedPipe()
  prepare(program)
  try {
    refuseUnknownSubcommand(program, process.argv.slice(2))
    await program.parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? 0 : exitStatus('USAGE')
  }
}

/**
 * Refuses an unknown subcommand. Without this check, commander would report that the default subcommand takes no
 * argument.
 */
function refuseUnknownSubcommand(program: Command, words: readonly string[]): void {
  let command = program
  for (const word of words) {
    if (word.startsWith('-') || word === 'help' || command.commands.length === 0) return
    const named = command.commands.find((one) => one.name() === word || one.aliases().includes(word))
    if (named) {
      command = named
      continue
    }
    if (command === program) return
    const names = command.commands.map((one) => one.name()).join(', ')
    command.error(`error: unknown command '${word}' of ${pathOf(command)}, which has ${names}`)
  }
}

/** Makes every command throw instead of exiting, so that exit statuses are decided in one place. */
function prepare(command: Command): void {
  command.exitOverride().showHelpAfterError(`(see \`${pathOf(command)} --help\`)`)
  for (const subcommand of command.commands) prepare(subcommand)
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}
