import type { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { endChain } from '../chain/end-chain.ts'
import {
  addManyOptions,
  followMany,
  isMany,
  readSelection,
  printDryRun,
  type ManyOptions,
} from '../resubmission/many-sessions.ts'
import { statusWord } from './describe-session.ts'
import { findSession, SESSION_ARGUMENT } from '../find/find-session.ts'

interface CancelOptions extends ManyOptions {
  force?: boolean
  reason?: string
}

const WORDS = { action: 'TERMINATE', doing: 'cancelling', done: 'cancelled' } as const

export function cancelCommand(): Command {
  const command = describedCommand(
    'cancel',
    'end the work of sessions for good: the running attempt, or the waiting retry',
    [
      'reprise cancel nightly --reason "wrong input"',
      'reprise cancel nightly --force',
      'reprise cancel --with-label study=7 --status pending,running --dry-run',
      'reprise cancel --filter \'{"name": {"startsWith": "study-"}}\' --status running',
    ],
  )
    .alias('terminate')
    .argument('[sessions...]', SESSION_ARGUMENT)
  addManyOptions(command)
    .option('--force', 'kill them without a grace period')
    .option('--reason <text>', 'reason, stored for later')
  return act<CancelOptions>(
    command,
    async (context, options, names) => {
      const { client, out } = context
      const { force, reason, clientKey } = options
      if (!isMany(options, names)) {
        const { ended, session } = await endChain(client, await findSession(client, names[0]!), { force, reason })
        const what = ended === 'retry' ? 'its retry is cancelled' : `it is ${statusWord(session)}`
        out.show({ ended, session }, () => `${session.name} ${session.sessionId}: ${what}`)
        return 0
      }
      const input = { ...(await readSelection(context, options, names)), clientKey, force, reason }
      if (options.dryRun) return printDryRun(context, WORDS, input)
      return followMany(context, WORDS, await client.terminateSessions(input), options)
    },
    { endsItself: true },
  )
}
