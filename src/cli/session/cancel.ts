import type { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { addManyOptions, followMany, isMany, type ManyOptions, printDryRun, readSelection } from '../many-sessions.ts'
import { statusWord } from './session-text.ts'
import { findSession, SESSION_ARGUMENT } from '../find.ts'
import type { Client, SessionSummary } from '../../client/node/index.ts'
import process from 'node:process'
import type { Output } from '../output/output.ts'

interface CancelOptions extends ManyOptions {
  force?: boolean
  reason?: string
}

const WORDS = { action: 'TERMINATE', doing: 'cancelling', done: 'cancelled' } as const

export function cancelCommand(): Command {
  const command = describedCommand(
    'cancel',
    'end the work of sessions for good: terminate the running attempt, or cancel the waiting retry',
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
    .option('--force', 'kill the processes without a grace period')
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
