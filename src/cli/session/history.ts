import type { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { instant } from '../output/time.ts'
import { findSession, SESSION_ARGUMENT } from '../find/find-session.ts'
import { takeAll } from './take.ts'

export function historyCommand(): Command {
  const command = describedCommand('history', 'what the scheduler did with a session, oldest first', [
    'reprise history nightly',
  ]).argument('<session>', SESSION_ARGUMENT)
  return act(command, async ({ client, out, signal }, _options, [text]) => {
    const sessionId = await findSession(client, text!)
    const isWell = (await client.session(sessionId, { signal })).result === 'SUCCESS'
    await out.table(
      await takeAll(client.sessionHistory(sessionId, { signal })),
      [
        { title: 'LAST AT', value: ({ lastAt }) => instant(lastAt) },
        { title: 'TIMES', value: ({ attempts }) => attempts, align: 'right' },
        { title: 'PHASE', value: ({ phase }) => phase, flexible: true },
        { title: 'RESULT', value: ({ result }) => result },
        {
          title: 'TO',
          value: ({ toStatus }) => (toStatus === 'TERMINATED' && isWell ? 'SUCCEEDED' : (toStatus ?? '')),
        },
        { title: 'MESSAGE', value: ({ message, errorCode }) => message ?? errorCode ?? '', flexible: true },
      ],
      'nothing yet',
    )
  })
}
