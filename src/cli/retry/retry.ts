import { Command } from 'commander'
import { act, type ClientContext, describedCommand } from '../client-command.ts'
import { addPolicyOptions, type PolicyOptions, readPolicy } from '../options/policy-options.ts'
import {
  type ActionWords,
  addManyOptions,
  followMany,
  isMany,
  type ManyOptions,
  printDryRun,
  readSelection,
} from '../many-sessions.ts'
import { addSlotOptions, gpusOf, slotsOf, type SlotOptions } from '../options/session-options.ts'
import { UsageError } from '../present-error.ts'
import { findNewestAttempt, SESSION_ARGUMENT } from '../find.ts'

export function retryCommand(): Command {
  return new Command('retry')
    .description('dispatch waiting retries now, change their policy, or cancel them')
    .addCommand(now())
    .addCommand(update())
    .addCommand(cancel())
}

function now(): Command {
  const words = { action: 'RETRY_NOW', doing: 'making due', done: 'made due' } as const
  const command = describedCommand('now', 'dispatch waiting retries at once', [
    'reprise retry now nightly',
    'reprise retry now --phase held --with-label study=7 --dry-run',
  ])
  return changeMany(command, words, async ({ client, out }, id) => {
    const session = await client.retryNow(id)
    out.show(session, () => `${session.name} ${session.sessionId}: its retry is due now`)
  })
}

function update(): Command {
  const command = describedCommand(
    'update',
    'change the policy or the resources of a waiting retry, which is then decided again; applies to later retries, too',
    [
      'reprise retry update nightly --retries 8 --retry-delay 5m',
      'reprise retry update nightly --mem 16g',
      'reprise retry update nightly --gpu-memory 80g',
      'reprise retry update nightly --policy policy.json',
    ],
  ).argument('<session>', SESSION_ARGUMENT)
  return act<PolicyOptions & SlotOptions>(
    addPolicyOptions(addSlotOptions(command)),
    async (context, options, [text]) => {
      const { client, out } = context
      const policy = readPolicy(options)
      const [resourceSlots, gpus] = [slotsOf(options), gpusOf(options)]
      if (!policy && !resourceSlots && !gpus)
        throw new UsageError('Give something to change, like --retries 8 or --mem 16g.')
      const session = await client.updateRetry(await findNewestAttempt(client, text!), policy, { resourceSlots, gpus })
      out.show(session, () => `${session.name} ${session.sessionId}: ${session.retryState.reason}`)
    },
  )
}

function cancel(): Command {
  const words = { action: 'CANCEL_RETRY', doing: 'cancelling', done: 'whose retries would be cancelled' } as const
  const command = describedCommand('cancel', 'cancel waiting retries; the chains end with the failed sessions', [
    'reprise retry cancel nightly',
    'reprise retry cancel --cause oom-killed --since 1d --dry-run',
  ])
  return changeMany(command, words, async ({ client, out }, id) => {
    const session = await client.cancelRetry(id)
    out.show(session, () => `${session.name} ${session.sessionId}: its retry is cancelled`)
  })
}

/** Creates a command that acts on one named session, or on many. */
function changeMany(
  command: Command,
  words: ActionWords & { action: 'RETRY_NOW' | 'CANCEL_RETRY' },
  changeOne: (context: ClientContext, id: string) => Promise<void>,
): Command {
  addManyOptions(command.argument('[sessions...]', SESSION_ARGUMENT))
  return act<ManyOptions>(
    command,
    async (context, options, names) => {
      const { client } = context
      const newest = await Promise.all(names.map((name) => findNewestAttempt(client, name)))
      if (!isMany(options, newest)) return changeOne(context, newest[0]!)
      const input = { ...(await readSelection(context, options, newest)), clientKey: options.clientKey }
      if (options.dryRun) return printDryRun(context, words, input)
      const made = await (words.action === 'RETRY_NOW' ? client.retryNowMany(input) : client.cancelRetries(input))
      return followMany(context, words, made, options)
    },
    { endsItself: true },
  )
}
