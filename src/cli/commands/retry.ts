import { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { findSession, SESSION_ARGUMENT } from '../session/find-session.ts'

export function retryCommand(): Command {
  return new Command('retry')
    .description('dispatch a waiting retry now, or cancel it')
    .addCommand(now())
    .addCommand(cancel())
}

function now(): Command {
  const command = describedCommand('now', 'dispatch a waiting retry at once', ['reprise retry now nightly'])
  return act(command.argument('<session>', SESSION_ARGUMENT), async ({ client, out }, _options, [text]) => {
    const session = await client.retryNow(await findSession(client, text!))
    out.show(session, () => `${session.name} ${session.sessionId}: its retry is due now`)
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
