import type { Command } from 'commander'
import type { SessionEvent, SessionEventType } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { choices, past, wholeNumber } from '../options/values.ts'
import { instant } from '../output/time.ts'
import { findSession } from '../find/find-session.ts'
import { chainNames } from './chain-names.ts'
import { sessionLine } from './event-line.ts'
import { succeededSessions } from './succeeded-sessions.ts'

interface EventsOptions {
  project?: string
  type?: SessionEventType[]
  since?: string
  limit?: number
  follow?: boolean
}

const LIMIT = 50

export function eventsCommand(): Command {
  const command = describedCommand('events', 'what has happened, the newest at the end; `watch` shows what happens', [
    'reprise events --since 1h --follow',
    'reprise events nightly --limit 0 --json',
    'reprise events --type chain-failed,chain-cancelled --since 1d',
  ])
    .argument('[session]', 'only the chain of this session, given by id or name')
    .option('-p, --project <project>', 'only in this project')
    .addOption(choices('--type <types>', 'only these', API_ENUMS.SessionEventType))
    .option('--since <time>', 'since this time, or a duration ago like 2h', past)
    .option('--limit <n>', `the newest so many; 0 is all that are kept (default: ${LIMIT})`, wholeNumber)
    .option('--follow', 'then go on with what happens, until Ctrl-C, without a gap')
  return act<EventsOptions>(
    command,
    async ({ client, out, signal }, { project, type: types, since, limit = LIMIT, follow }, [text]) => {
      const session = text === undefined ? undefined : await client.session(await findSession(client, text))
      const filter = { project, chainId: session?.chainId, types }
      const { events, cursor, more } = await client.pastEvents(filter, { since, limit, signal })
      if (more) out.note(`more than ${events.length}: --limit shows more`)
      const names = chainNames(client)
      const show = async (several: readonly SessionEvent[]) => {
        const ids = several.map(({ chainId }) => chainId)
        const [, succeeded] = out.json
          ? []
          : await Promise.all([names.learn(ids, signal), succeededSessions(client, several, signal)])
        for (const event of several) {
          out.item(event, () => sessionLine(event, out, { name: names.of(event.chainId), at: instant, succeeded }))
        }
      }
      await show(events)
      if (!follow) return
      // Scripts may wait for this line: no later event is missed.
      out.note(out.notes.style('dim', `watching from ${cursor}`))
      for await (const event of client.sessionEvents(filter, { after: cursor, signal })) await show([event])
    },
    { follow: true },
  )
}
