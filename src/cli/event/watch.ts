import { Option, type Command } from 'commander'
import type { RetryEvent } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { statusStyle } from '../output/status-style.ts'
import type { Output } from '../output/output.ts'
import { timeOfDay } from '../output/time.ts'
import { findSession } from '../session/find-session.ts'
import { CHAIN_EVENTS, sessionLine } from './event-line.ts'

interface WatchOptions {
  project?: string
  after?: string
  retries?: boolean
  only?: 'chains' | 'retries'
}

export function watchCommand(): Command {
  const command = describedCommand('watch', 'show events as they happen, until Ctrl-C; waits for restarting servers', [
    'reprise watch',
    'reprise watch nightly --only retries',
    'reprise watch --only chains',
    'reprise watch --json --after "$(cat cursor)" >> events.jsonl',
  ])
    .argument('[session]', 'only the chain of this session, given by id or name')
    .option('-p, --project <name>', 'only in this project')
    .addOption(
      new Option('--only <what>', 'only the ends of chains, one event where no retry follows; or only retries').choices(
        ['chains', 'retries'],
      ),
    )
    .option('--retries', 'the same as --only retries')
    .option('--after <cursor>', 'resume after this event without missing any; --json prints each cursor')
  return act<WatchOptions>(
    command,
    async ({ client, out, signal }, { project, after, retries, only }, [text]) => {
      const session = text === undefined ? undefined : await client.session(await findSession(client, text))
      const filter = { project, chainId: session?.chainId }
      const from = { after: after ?? (await client.eventCursor({ signal })), signal }
      // Scripts may wait for this line: no later event is missed.
      out.note(out.notes.style('dim', `watching from ${from.after}`))
      const types = only === 'chains' ? CHAIN_EVENTS : undefined
      if (retries || only === 'retries')
        for await (const event of client.retryEvents(filter, from)) out.item(event, () => retryLine(event, out))
      else
        for await (const event of client.sessionEvents({ ...filter, types }, from))
          out.item(event, () => sessionLine(event, out))
    },
    { follow: true },
  )
}

function retryLine(event: RetryEvent, { terminal }: Output): string {
  const { type, attempt, maxAttempts, reason, childSessionId } = event
  const style = statusStyle(type.replace('RETRY_', ''))
  const parts = [
    terminal.style('dim', timeOfDay(event.occurredAt)),
    event.sessionId,
    style ? terminal.style(style, type) : type,
    `attempt ${attempt} of ${maxAttempts}`,
    reason,
    childSessionId && `→ ${childSessionId}`,
  ]
  return parts.filter(Boolean).join('  ')
}
