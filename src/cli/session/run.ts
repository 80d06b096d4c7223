import process from 'node:process'
import type { Command } from 'commander'
import type { Attempt, Client } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { addSessionOptions, sessionInput, type SessionOptions } from '../options/session-options.ts'
import { choice } from '../options/values.ts'
import type { Output } from '../output/output.ts'
import { attemptNotes } from './attempt-notes.ts'
import { endChain } from '../chain/end-chain.ts'
import { followChain } from '../chain/follow-chain.ts'

interface RunOptions extends SessionOptions {
  onInterrupt?: 'DETACH' | 'TERMINATE'
}

/** Exit status of a program ended by a signal: this plus the signal's number. */
const SIGNALLED = 128

export function runCommand(): Command {
  const command = describedCommand('run', 'run a command through all its attempts, and exit with its status', [
    'reprise run -- python3 ~/train.py --epochs 10',
    'reprise run --retries 3 --retry-delay 30s --backoff exponential -- ~/flaky.sh',
    "reprise run --mem 4g --retries 2 --rule 'retry cause=oom-killed scale=mem:2:64g' -- ~/hungry.sh",
    'reprise run --on-interrupt terminate -e SEED=7 --label study=7 -- ~/simulate.sh',
  ]).argument('<command...>', 'command to run, after --')
  addSessionOptions(command)
  command
    .optionsGroup('On Ctrl-C:')
    .addOption(
      choice('--on-interrupt <what>', 'Ctrl-C leaves it running, or ends it', ['DETACH', 'TERMINATE'] as const),
    )
  return act<RunOptions>(
    command,
    async ({ client, out, signal }, options, args) => {
      const { session, created } = await client.createSession(sessionInput(options, args), { signal })
      const { sessionId } = session
      if (out.json) out.item({ type: 'created', created, ...session }, () => '')
      else out.note(`session ${sessionId}${created ? '' : ' was there already'}`)
      const stopped = new AbortController()
      const interrupt = onInterrupt(options.onInterrupt ?? 'DETACH', { client, out, sessionId, stopped })
      try {
        const from = created ? 'session' : 'first'
        const last = await followChain(client, { sessionId, signal: stopped.signal, from }, attemptNotes(out))
        if (out.json) out.item({ type: 'ended', ...last }, () => '')
        return interrupt.interrupted ? exitStatus('INTERRUPTED') : statusOf(last)
      } catch (error) {
        if (stopped.signal.aborted) return exitStatus('INTERRUPTED')
        throw error
      } finally {
        interrupt.dispose()
      }
    },
    { follow: true, endsItself: true },
  )
}

function statusOf({ result, exitCode }: Attempt): number {
  if (result === 'SUCCESS') return 0
  if (exitCode === null || exitCode === 0) return exitStatus('NO_STATUS')
  return exitCode < 0 ? SIGNALLED - exitCode : exitCode
}

/** `kill` and service managers mean what Ctrl-C means. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** npm forwards a Ctrl-C that the terminal has sent already: people do not press it again this soon. */
const SAME_CTRL_C_WITHIN_MS = 200

/** The first Ctrl-C detaches or terminates; a second one exits at once. */
function onInterrupt(
  what: 'DETACH' | 'TERMINATE',
  { client, out, sessionId, stopped }: { client: Client; out: Output; sessionId: string; stopped: AbortController },
) {
  const state = { interrupted: false, dispose: () => SIGNALS.forEach((name) => process.off(name, interrupt)) }
  let firstAt = -Infinity
  function interrupt(): void {
    if (performance.now() - firstAt < SAME_CTRL_C_WITHIN_MS) return
    firstAt = performance.now()
    if (state.interrupted || what === 'DETACH') {
      out.note(`\ndetached: the work goes on. \`reprise logs --follow ${sessionId}\` shows it again,`)
      out.note(`\`reprise cancel ${sessionId}\` ends it.`)
      stopped.abort()
      return
    }
    state.interrupted = true
    out.note('\nending the work; Ctrl-C once more leaves it alone')
    void endChain(client, sessionId, { reason: 'interrupted at the command line' }).catch((error: Error) => {
      out.note(`it could not be ended: ${error.message}`)
      stopped.abort()
    })
  }
  for (const name of SIGNALS) process.on(name, interrupt)
  return state
}
