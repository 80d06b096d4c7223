import type { Command } from 'commander'
import type { ResubmissionOverrides } from '../../client/node/index.ts'
import { act, describedCommand, type ClientContext } from '../client-command.ts'
import { addPolicyOptions, readPolicy, type PolicyOptions } from '../options/policy-options.ts'
import { addAgentOptions, addSpecOptions, agentLists, named, secretsOf, slotsOf } from '../options/session-options.ts'
import type { AgentOptions, SpecOptions } from '../options/session-options.ts'
import { SESSION_ARGUMENT } from '../session/find-session.ts'
import { addManyOptions, followMany, readSelection, printDryRun, type ManyOptions } from './many-sessions.ts'

interface ResubmitOptions extends ManyOptions, SpecOptions, AgentOptions, PolicyOptions {
  includeSucceeded?: true
}

export function resubmitCommand(): Command {
  const command = describedCommand(
    'resubmit',
    'give failed work a new retry budget: named sessions, or all that match',
    [
      'reprise resubmit nightly --mem 8g --retries 5',
      'reprise resubmit --cause oom-killed --phase exhausted --since 1d --mem 16g',
      'reprise resubmit --with-label study=7 --result failure --client-key study-7-again',
      'reprise resubmit nightly --include-succeeded',
    ],
  ).argument('[sessions...]', SESSION_ARGUMENT)
  addManyOptions(command).option('--include-succeeded', 'also run again what has succeeded')
  command.optionsGroup('Overrides:')
  addPolicyOptions(addAgentOptions(addSpecOptions(command)))
  return act<ResubmitOptions>(command, resubmit, { endsItself: true })
}

const WORDS = { action: 'RESUBMIT', doing: 'resubmitting', done: 'resubmitted' } as const

async function resubmit(context: ClientContext, options: ResubmitOptions, names: string[]): Promise<number> {
  const selection = await readSelection(context, options, names)
  const { clientKey, includeSucceeded } = options
  const input = { ...selection, clientKey, overrides: overridesOf(options), includeSucceeded }
  if (options.dryRun) return printDryRun(context, WORDS, input)
  return followMany(context, WORDS, await context.client.resubmitSessions(input), options)
}

function overridesOf(options: ResubmitOptions): ResubmissionOverrides | undefined {
  const overrides: ResubmissionOverrides = {
    resourceSlots: slotsOf(options),
    environ: named(options.env),
    secretEnviron: secretsOf(options),
    batchTimeout: options.timeout,
    priority: options.priority,
    resourceGroup: options.resourceGroup,
    ...agentLists(options),
    retryPolicy: readPolicy(options),
  }
  return Object.values(overrides).some((value) => value !== undefined) ? overrides : undefined
}
