import { Option, type Command } from 'commander'
import type { RetryEvent } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { statusStyle } from '../output/status-style.ts'
import type { Output } from '../output/output.ts'
import { shortId } from '../output/short-id.ts'
import { timeOfDay } from '../output/time.ts'
import { findSession } from '../find/find-session.ts'
import { chainNames } from './chain-names.ts'
import { CHAIN_EVENTS, sessionLine } from './event-line.ts'
import { succeededSessions } from './succeeded-sessions.ts'

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
    .option('-p, --project <project>', 'only in this project')
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
      const names = chainNames(client)
      const nameOf = async ({ chainId }: { chainId: string }) => {
        if (!out.json) await names.learn([chainId], signal)
        return names.of(chainId)
      }
      if (retries || only === 'retries')
        for await (const event of client.retryEvents(filter, from)) {
          const name = await nameOf(event)
          out.item(event, () => retryLine(event, out, name))
        }
      else
        for await (const event of client.sessionEvents({ ...filter, types }, from)) {
          const name = await nameOf(event)
          const succeeded = out.json ? undefined : await succeededSessions(client, [event], signal)
          out.item(event, () => sessionLine(event, out, { name, succeeded }))
        }
    },
    { follow: true },
  )
}

function retryLine(event: RetryEvent, { terminal }: Output, name: string | undefined): string {
  const { type, attempt, maxAttempts, reason, childSessionId } = event
  const style = statusStyle(type.replace('RETRY_', ''))
  const parts = [
    terminal.style('dim', timeOfDay(event.occurredAt)),
    shortId(event.sessionId, terminal),
    name,
    style ? terminal.style(style, type) : type,
    `attempt ${attempt} of ${maxAttempts}`,
    reason,
    childSessionId && `→ ${shortId(childSessionId, terminal)}`,
  ]
  return parts.filter(Boolean).join('  ')
}
