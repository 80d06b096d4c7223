import type { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { endChain } from '../chain/end-chain.ts'
import { findSession, SESSION_ARGUMENT } from './find-session.ts'

export function cancelCommand(): Command {
  const command = describedCommand(
    'cancel',
    'end the work of a session for good: the running attempt, or the waiting retry',
    ['reprise cancel nightly --reason "wrong input"', 'reprise cancel nightly --force'],
  )
    .alias('terminate')
    .argument('<session>', SESSION_ARGUMENT)
    .option('--force', 'kill it without a grace period')
    .option('--reason <text>', 'reason, stored for later')
  return act<{ force?: boolean; reason?: string }>(command, async ({ client, out }, options, [text]) => {
    const { ended, session } = await endChain(client, await findSession(client, text!), options)
    const what = ended === 'retry' ? 'its retry is cancelled' : `it is ${session.status}`
    out.show({ ended, session }, () => `${session.name} ${session.sessionId}: ${what}`)
  })
}
