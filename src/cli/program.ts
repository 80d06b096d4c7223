import type { Command } from 'commander'
import { agentsCommand } from './commands/agents.ts'
import { cancelCommand } from './commands/cancel.ts'
import { chainCommand, chainsCommand } from './commands/chains.ts'
import { completionCommand } from './commands/completion.ts'
import { createCommand } from './commands/create.ts'
import { defaultsCommand } from './commands/defaults.ts'
import { deploymentsCommand } from './commands/deployments.ts'
import { doctorCommand } from './commands/doctor.ts'
import { infoCommand } from './commands/info.ts'
import { listCommand } from './commands/list.ts'
import { logsCommand } from './commands/logs.ts'
import { policyCommand } from './commands/policy.ts'
import { loginCommand, profilesCommand } from './commands/profiles.ts'
import { projectsCommand } from './commands/projects.ts'
import { quotasCommand } from './commands/quotas.ts'
import { resubmissionsCommand } from './commands/resubmissions.ts'
import { resubmitCommand } from './commands/resubmit.ts'
import { retryCommand } from './commands/retry.ts'
import { runCommand } from './commands/run.ts'
import { switchCommand } from './commands/switch.ts'
import { tokensCommand } from './commands/tokens.ts'
import { watchCommand } from './commands/watch.ts'
import { webhooksCommand } from './commands/webhooks.ts'

const GROUPS: Readonly<Record<string, readonly (() => Command)[]>> = {
  'Work:': [
    runCommand,
    createCommand,
    listCommand,
    infoCommand,
    logsCommand,
    watchCommand,
    chainsCommand,
    chainCommand,
    deploymentsCommand,
  ],
  'Retries:': [cancelCommand, retryCommand, resubmitCommand, resubmissionsCommand, policyCommand],
  'Administration:': [
    defaultsCommand,
    switchCommand,
    agentsCommand,
    projectsCommand,
    quotasCommand,
    tokensCommand,
    webhooksCommand,
  ],
  'This machine:': [loginCommand, profilesCommand, doctorCommand, completionCommand],
}

/** Adds all commands that talk to a server. */
export function addClientCommands(program: Command): Command {
  for (const [group, commands] of Object.entries(GROUPS)) {
    for (const make of commands) program.addCommand(make().helpGroup(group))
  }
  return program
}
