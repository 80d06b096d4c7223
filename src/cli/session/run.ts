import type { Command } from 'commander'
import type { Attempt, CreateSessionInput } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { addSessionOptions, sessionInput, type SessionOptions } from '../options/session-options.ts'
import { choice } from '../options/values.ts'
import { attemptNotes } from './attempt-notes.ts'
import { endChain } from '../chain/end-chain.ts'
import { followChain } from '../chain/follow-chain.ts'
import { planJobs } from '../job/plan-jobs.ts'
import { runJobs } from '../job/run-jobs.ts'
import { withUpload } from '../upload/with-upload.ts'
import { findNamed } from '../find/find-in-options.ts'
import { INTERRUPT_REASON, onInterrupt, type OnInterrupt } from './on-interrupt.ts'

interface RunOptions extends SessionOptions {
  onInterrupt?: OnInterrupt
}

/** Exit status of a program ended by a signal: this plus the signal's number. */
const SIGNALLED = 128

export function runCommand(): Command {
  const command = describedCommand('run', 'run a command through all its attempts, and exit with its status', [
    'reprise run -- python3 ~/train.py --epochs 10',
    'reprise run --retries 3 --retry-delay 30s --backoff exponential -- ~/flaky.sh',
    "reprise run --mem 4g --retries 2 --rule 'retry cause=oom-killed scale=mem:2:64g' -- ~/hungry.sh",
    'reprise run --upload . --retries 2 -- python3 train.py    # its files come along to whatever agent runs it',
    'reprise run --array 1..20 --name sim-{i} -- ~/simulate.sh --seed {i}    # succeeds if all of them do',
    'reprise run --on-interrupt terminate -e SEED=7 --label study=7 -- ~/simulate.sh',
  ]).argument('[command...]', 'command to run, after --')
  addSessionOptions(command)
  command
    .optionsGroup('On Ctrl-C:')
    .addOption(
      choice('--on-interrupt <what>', 'Ctrl-C leaves it running, or ends it', ['DETACH', 'TERMINATE'] as const),
    )
  return act<RunOptions>(
    command,
    async (context, given, args) => {
      const { client, out, signal } = context
      const options = await withUpload(context, given)
      const what = options.onInterrupt ?? 'DETACH'
      const planned = await planJobs(options, args)
      if (planned) return runJobs(context, planned, what)
      const input = sessionInput(await findNamed(client, options), args) as CreateSessionInput
      const { session, created } = await client.createSession(input, { signal })
      const { sessionId } = session
      if (out.json) out.item({ type: 'created', created, ...session }, () => '')
      else out.note(`session ${sessionId}${created ? '' : ' was there already'}`)
      const stopped = new AbortController()
      const interrupt = onInterrupt(what, {
        out,
        stopped,
        advice: `\`reprise logs --follow ${sessionId}\` shows it again,\n\`reprise cancel ${sessionId}\` ends it.`,
        end: () => endChain(client, sessionId, { reason: INTERRUPT_REASON }),
      })
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
