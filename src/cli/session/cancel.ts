import type { Command } from 'commander'
import process from 'node:process'
import { type Client, isOver, type SessionGroup, type SessionSummary } from '../../client/node/index.ts'
import { act, type ClientContext, describedCommand, takeAll } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { findSession, SESSION_ARGUMENT } from '../find.ts'
import { addManyOptions, followMany, isMany, type ManyOptions, printDryRun, readSelection } from '../many-sessions.ts'
import { seconds } from '../options/values.ts'
import type { Output } from '../output/output.ts'
import { UsageError } from '../present-error.ts'
import { statusWord } from './session-text.ts'
import { awaitGroup, groupNamed } from './groups.ts'
import { waitForEnds } from './wait.ts'

interface CancelOptions extends ManyOptions {
  force?: boolean
  reason?: string
  wait?: true
  timeout?: number
}

const WORDS = { action: 'TERMINATE', doing: 'cancelling', done: 'cancelled', result: ': stop requested' } as const

/** Words while it waits. */
const STOPPING = { ended: 'stopped', open: 'not stopped yet; the stop continues' }

export function cancelCommand(): Command {
  const command = describedCommand(
    'cancel',
    'end the work of sessions for good: terminate the running attempt, or cancel the waiting retry',
    [
      'reprise cancel nightly --reason "wrong input"',
      'reprise cancel nightly --force',
      'reprise cancel sweep    # a group, by its key, name or id',
      'reprise cancel nightly --wait --timeout 5m    # until its processes are gone',
      'reprise cancel --with-label study=7 --status pending,running --dry-run',
      'reprise cancel --filter \'{"name": {"startsWith": "study-"}}\' --status running',
    ],
  )
    .alias('terminate')
    .argument('[sessions...]', SESSION_ARGUMENT)
  addManyOptions(command)
    .option('--force', 'kill the processes without a grace period')
    .option('--reason <text>', 'reason, stored for later')
    .option('--wait', 'wait until the work has stopped: no process of it is left')
    .option('--timeout <duration>', 'with --wait: stop waiting after this time, with exit status 124', seconds)
  return act<CancelOptions>(
    command,
    async (context, options, names) => {
      if (options.timeout !== undefined && !options.wait) throw new UsageError('--timeout needs --wait.')
      if (options.wait && options.detach) throw new UsageError('--wait and --detach exclude each other.')
      const group = names.length === 1 ? await groupNamed(context.client, names[0]!) : undefined
      if (group) return cancelGroup(context, options, group)
      return isMany(options, names) ? cancelMany(context, options, names) : cancelOne(context, options, names[0]!)
    },
    { follow: ({ wait }) => wait === true, endsItself: true },
  )
}

async function cancelGroup(context: ClientContext, options: CancelOptions, group: SessionGroup): Promise<number> {
  const { client, out } = context
  const { reason, wait, timeout } = options
  if (options.dryRun === true || options.force === true)
    throw new UsageError('A group is cancelled as a whole, without --dry-run and --force.')
  const cancelled = await client.cancelGroup(group.groupId, { reason })
  if (wait) {
    await awaitGroup(context, group.groupId, { timeout })
    return 0
  }
  const { queued, running, waiting } = cancelled.counts
  out.show(
    { group: cancelled },
    () => `${group.name} ${group.groupId}: ${queued + running + waiting} members are being ended`,
  )
  return 0
}

async function cancelOne(context: ClientContext, options: CancelOptions, name: string): Promise<number> {
  const { client, out, signal } = context
  const { force, reason, wait, timeout } = options
  const sessionId = await findSession(client, name)
  const after = wait && (await client.eventCursor({ signal }))
  const { ended, session } = await endChain(client, sessionId, { force, reason })
  const head = `${session.name} ${session.sessionId}`
  const stopped = isOver(session)
  if (wait && !stopped) out.note(`${head}: stop requested; waiting until it has stopped`)
  if (!wait || stopped) {
    const how = ended === 'retry' ? 'its retry is cancelled' : `it is ${statusWord(session)}`
    out.show({ ended, stopped, session }, () => `${head}: ${stopped ? 'stopped' : 'stop requested'}; ${how}`)
    return 0
  }
  const chainIds = async () => [session.chainId]
  const ends = await waitForEnds(context, { chainIds, after, timeout, words: STOPPING })
  if (ends === null) return exitStatus('TIMED_OUT')
  const { last } = ends[0]!
  out.show({ ended, stopped: true, session: last }, () => `${head}: stopped; it is ${statusWord(last)}`)
  return 0
}

async function cancelMany(context: ClientContext, options: CancelOptions, names: readonly string[]): Promise<number> {
  const { client, out, signal } = context
  const { force, reason, clientKey, wait, timeout } = options
  const input = { ...(await readSelection(context, options, names)), clientKey, force, reason }
  if (options.dryRun) return printDryRun(context, WORDS, input)
  const after = wait && (await client.eventCursor({ signal }))
  const made = await client.terminateSessions(input)
  const status = await followMany(context, WORDS, made, options)
  if (!wait || signal.aborted) return status
  const chainIds = async () => {
    const items = await takeAll(client.bulkActionItems(made.bulkAction.bulkActionId, { status: 'DONE' }))
    // A session that was removed meanwhile had ended.
    return items.flatMap(({ session }) => session?.chainId ?? [])
  }
  const ends = await waitForEnds(context, { chainIds, after, timeout, words: STOPPING })
  if (ends === null) return exitStatus('TIMED_OUT')
  out.note(`${ends.length} ${ends.length === 1 ? 'chain has' : 'chains have'} stopped`)
  return status
}

/**
 * Ends the work: terminates the newest session of the chain, or cancels its waiting retry, so that no further attempt
 * follows.
 * @throws InvalidStateError if the chain has already ended
 */
export async function endChain(
  client: Client,
  sessionId: string,
  options: { force?: boolean; reason?: string } = {},
): Promise<{ ended: 'session' | 'retry'; session: SessionSummary }> {
  const session = await client.terminateSession(sessionId, options)
  return { ended: session.retryState.phase === 'CANCELLED' ? 'retry' : 'session', session }
}

export type OnInterrupt = 'DETACH' | 'TERMINATE'

export const INTERRUPT_REASON = 'interrupted at the command line'

/** Signals that have the meaning of Ctrl-C. SIGTERM is what `kill` and service managers send. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * Time within which a second signal belongs to the same Ctrl-C: npm forwards a Ctrl-C that the terminal has already
 * sent. A person does not press it again this soon.
 */
const SAME_CTRL_C_WITHIN_MS = 200

interface Interruptible {
  out: Output
  /** Text that explains how to follow the work again, and how to end it. */
  advice: string
  end: () => Promise<unknown>
  /** Ends the command. */
  stopped: AbortController
}

/** Handles Ctrl-C: the first one detaches from the work or ends it; a second one detaches. */
export function onInterrupt(what: OnInterrupt, { out, advice, end, stopped }: Interruptible) {
  const state = { interrupted: false, dispose: () => SIGNALS.forEach((name) => process.off(name, interrupt)) }
  let firstAt = -Infinity
  function interrupt(): void {
    if (performance.now() - firstAt < SAME_CTRL_C_WITHIN_MS) return
    firstAt = performance.now()
    if (state.interrupted || what === 'DETACH') {
      out.note(`\ndetached: the work continues. ${advice}`)
      stopped.abort()
      return
    }
    state.interrupted = true
    out.note('\nending the work; press Ctrl-C again to detach from it')
    void end().catch((error: Error) => {
      out.note(`it could not be ended: ${error.message}`)
      stopped.abort()
    })
  }
  for (const name of SIGNALS) process.on(name, interrupt)
  return state
}
