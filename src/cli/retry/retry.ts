import { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { addPolicyOptions, readPolicy, type PolicyOptions } from '../options/policy-options.ts'
import { UsageError } from '../present-error.ts'
import { findSession, SESSION_ARGUMENT } from '../session/find-session.ts'

export function retryCommand(): Command {
  return new Command('retry')
    .description('dispatch a waiting retry now, change its policy, or cancel it')
    .addCommand(now())
    .addCommand(update())
    .addCommand(cancel())
}

function now(): Command {
  const command = describedCommand('now', 'dispatch a waiting retry at once', ['reprise retry now nightly'])
  return act(command.argument('<session>', SESSION_ARGUMENT), async ({ client, out }, _options, [text]) => {
    const session = await client.retryNow(await findSession(client, text!))
    out.show(session, () => `${session.name} ${session.sessionId}: its retry is due now`)
  })
}

function update(): Command {
  const command = describedCommand(
    'update',
    'change the policy of a waiting retry, which is then decided anew; later retries follow it, too',
    ['reprise retry update nightly --retries 8 --retry-delay 5m', 'reprise retry update nightly --policy policy.json'],
  ).argument('<session>', SESSION_ARGUMENT)
  return act<PolicyOptions>(addPolicyOptions(command), async ({ client, out }, options, [text]) => {
    const policy = readPolicy(options)
    if (!policy) throw new UsageError('Say what to change, like --retries 8.')
    const session = await client.updateRetry(await findSession(client, text!), policy)
    out.show(session, () => `${session.name} ${session.sessionId}: ${session.retryState.reason}`)
  })
}

function cancel(): Command {
  const command = describedCommand('cancel', 'cancel a waiting retry; the chain ends with the failed session', [
    'reprise retry cancel nightly',
  ])
  return act(command.argument('<session>', SESSION_ARGUMENT), async ({ client, out }, _options, [text]) => {
    const session = await client.cancelRetry(await findSession(client, text!))
    out.show(session, () => `${session.name} ${session.sessionId}: its retry is cancelled`)
  })
}
