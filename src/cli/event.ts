import { type Command, Option } from 'commander'
import type { Client, RetryEvent, SessionEvent, SessionEventType } from '../client/node/index.ts'
import { act, chunks, describedCommand, takeAll } from './client-command.ts'
import { API_ENUMS } from './options/api-enums.generated.ts'
import { choices, past, wholeNumber } from './options/values.ts'
import { duration, instant, shortId, timeOfDay } from './output/format.ts'
import { findSession } from './find.ts'
import { statusStyle } from './output/terminal.ts'
import type { Output } from './output/output.ts'

interface EventsOptions {
  project?: string
  type?: SessionEventType[]
  since?: string
  limit?: number
  follow?: boolean
}

const LIMIT = 50

export function eventsCommand(): Command {
  const command = describedCommand('events', 'list past events, newest last; `watch` shows new ones as they happen', [
    'reprise events --since 1h --follow',
    'reprise events nightly --limit 0 --json',
    'reprise events --type chain-failed,chain-cancelled --since 1d',
  ])
    .argument('[session]', 'only the chain of this session, given by id or name')
    .option('-p, --project <project>', 'only in this project')
    .addOption(choices('--type <types>', 'only events of these types', API_ENUMS.SessionEventType))
    .option('--since <time>', 'since this time, or a duration ago like 2h', past)
    .option('--limit <n>', `number of newest events; 0 means all that are stored (default: ${LIMIT})`, wholeNumber)
    .option('--follow', 'then show new events without a gap, until Ctrl-C')
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
      // Scripts may wait for this line, because no event after it is missed.
      out.note(out.notes.style('dim', `watching from ${cursor}`))
      for await (const event of client.sessionEvents(filter, { after: cursor, signal })) await show([event])
    },
    { follow: true },
  )
}

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
      new Option(
        '--only <what>',
        'only the ends of chains (one event each, after the last attempt), or only retries',
      ).choices(['chains', 'retries']),
    )
    .option('--retries', 'the same as --only retries')
    .option('--after <cursor>', 'resume after this event without missing any; --json prints each cursor')
  return act<WatchOptions>(
    command,
    async ({ client, out, signal }, { project, after, retries, only }, [text]) => {
      const session = text === undefined ? undefined : await client.session(await findSession(client, text))
      const filter = { project, chainId: session?.chainId }
      const from = { after: after ?? (await client.eventCursor({ signal })), signal }
      // Scripts may wait for this line, because no event after it is missed.
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
  const { type, session, reason, childSessionId } = event
  const style = statusStyle(type.replace('RETRY_', ''))
  const parts = [
    terminal.style('dim', timeOfDay(event.occurredAt)),
    shortId(event.sessionId, terminal),
    name,
    style ? terminal.style(style, type) : type,
    `attempt ${session.attempt}`,
    reason,
    childSessionId && `→ ${shortId(childSessionId, terminal)}`,
  ]
  return parts.filter(Boolean).join('  ')
}

/** Events for the ends of chains, and for their resubmissions. */
const CHAIN_EVENTS: SessionEvent['type'][] = ['CHAIN_SUCCEEDED', 'CHAIN_FAILED', 'CHAIN_CANCELLED', 'CHAIN_REOPENED']

interface LineOptions {
  /** Name of its chain. */
  name?: string | undefined
  /** Formats its time. */
  at?: (time: string) => string
  /** Ids of sessions that have succeeded: their end is shown as success. */
  succeeded?: ReadonlySet<string> | undefined
}

export function sessionLine(
  event: SessionEvent,
  { terminal }: Output,
  { name, at = timeOfDay, succeeded }: LineOptions = {},
): string {
  const { type, fromStatus, reason } = event
  const isWell = event.toStatus === 'TERMINATED' && succeeded?.has(event.sessionId) === true
  const toStatus = isWell ? 'SUCCEEDED' : event.toStatus
  const style = toStatus ? statusStyle(toStatus) : undefined
  const move = toStatus && `${fromStatus ?? ''} → ${style ? terminal.style(style, toStatus) : toStatus}`.trim()
  const head = [terminal.style('dim', at(event.occurredAt)), shortId(event.sessionId, terminal), name]
  const parts = [...head, type, move, ends(event), reason]
  return parts.filter(Boolean).join('  ')
}

/** Returns the end of a chain in words: `3 attempts, ran 4 m, waited 1 m 20 s`. */
function ends({ chainEnd }: SessionEvent): string | null {
  if (!chainEnd) return null
  const { attempts, runningSeconds, waitingSeconds } = chainEnd
  const counted = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  return `${counted}, ran ${duration(runningSeconds)}, waited ${duration(waitingSeconds)}`
}

/** Names of chains. Each is requested once, because all attempts of a chain have the same name. */
export interface ChainNames {
  /** Loads the names of chains that are not known yet. Errors are ignored: events are shown without names. */
  learn(chainIds: readonly string[], signal: AbortSignal): Promise<void>
  /** Returns a name; undefined for a chain that no longer exists or is not known. */
  of(chainId: string): string | undefined
}

/** Maximum number of remembered names, which limits the memory of a command that runs for weeks. */
const KEPT_MAX = 10_000

export function chainNames(client: Client): ChainNames {
  const names = new Map<string, string>()
  return {
    async learn(chainIds, signal) {
      const unknown = [...new Set(chainIds)].filter((id) => !names.has(id))
      for (const ids of chunks(unknown)) {
        const chains = await takeAll(client.chains({ filter: { ids } }, { signal })).catch(() => [])
        for (const { chainId, name } of chains) names.set(chainId, name)
      }
      for (const oldest of names.keys()) {
        if (names.size <= KEPT_MAX) break
        names.delete(oldest)
      }
    },
    of: (chainId) => names.get(chainId),
  }
}

/** Maximum number of conditions in one filter. */
const CONDITIONS_MAX = 20

/**
 * Returns the ids of sessions that succeeded, among those whose end these events report. The status in the event is the
 * same for each session that ended by itself. Errors are ignored: events are then shown without the result.
 */
export async function succeededSessions(
  client: Client,
  events: readonly SessionEvent[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const ended = [
    ...new Set(events.flatMap(({ toStatus, sessionId }) => (toStatus === 'TERMINATED' ? [sessionId] : []))),
  ]
  const questions = chunks(ended, CONDITIONS_MAX).map((ids) => {
    const OR = ids.map((idPrefix) => ({ idPrefix }))
    return takeAll(client.sessions({ filter: { result: ['SUCCESS'], OR } }, { signal })).catch(() => [])
  })
  return new Set((await Promise.all(questions)).flat().map(({ sessionId }) => sessionId))
}
