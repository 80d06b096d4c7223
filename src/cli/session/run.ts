import type { Command } from 'commander'
import type { CreateSessionInput } from '../../client/node/index.ts'
import { act, type ClientContext, describedCommand } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { addSessionOptions, sessionInput, type SessionOptions } from '../options/session-options.ts'
import { choice } from '../options/values.ts'
import { attemptNotes, followChain } from './follow-chain.ts'
import { workStatus } from './session-text.ts'
import { endChain, INTERRUPT_REASON, onInterrupt, type OnInterrupt } from './cancel.ts'
import { awaitGroup, createGroupOf, wantsGroup } from './groups.ts'
import { fetchGroup, fetchOutputs, noteOutputs } from './outputs.ts'
import { type PlannedSession, planJobs } from '../job/plan-jobs.ts'
import { createJobs, printCreated, reportKnown, runJobs, warnOfVain } from '../job/run-jobs.ts'
import { noteUnusedInput, withUpload } from '../upload.ts'
import { UsageError } from '../present-error.ts'
import { withEnvironment } from './inherit-environment.ts'
import { findNamed } from '../options/find-in-options.ts'

interface RunOptions extends SessionOptions {
  download?: string
  onInterrupt?: OnInterrupt
}

export function runCommand(): Command {
  const command = describedCommand('run', 'run a command through all its attempts, and exit with its status', [
    'reprise run -- python3 ~/train.py --epochs 10',
    'reprise run --retries 3 --retry-delay 30s --backoff exponential -- ~/flaky.sh',
    "reprise run --mem 4g --retries 2 --rule 'retry cause=oom-killed scale=mem:2:64g' -- ~/hungry.sh",
    'reprise run --upload . --retries 2 -- python3 train.py    # its files are sent to the agent that runs it',
    'reprise run --array 1..20 --name sim-{i} -- ~/simulate.sh --seed {i}    # succeeds if all of them do',
    'reprise run --array 1-100%20 --group fits --max-failed 5% -- ~/work.sh    # $REPRISE_INDEX tells them apart',
    'reprise run --env-from PATH,VIRTUAL_ENV --upload train.py -- python3 train.py',
    "reprise run --upload . --output 'results/**' --download out/ -- python3 train.py    # brings the results back",
    'reprise run --on-interrupt terminate -e SEED=7 --label study=7 -- ~/simulate.sh',
  ]).argument('[command...]', 'command to run, after --')
  addSessionOptions(command)
  command
    .optionsGroup('Outputs:')
    .option('--download <directory>', 'wait for the outputs at the end, and download them there')
    .optionsGroup('On Ctrl-C:')
    .addOption(
      choice('--on-interrupt <what>', 'whether Ctrl-C leaves the session running or terminates it', [
        'DETACH',
        'TERMINATE',
      ] as const),
    )
  return act<RunOptions>(
    command,
    async (context, given, args) => {
      const { client, out, signal } = context
      if (given.stdin !== true) noteUnusedInput(out)
      const options = await withEnvironment(context, await withUpload(context, given), args)
      const what = options.onInterrupt ?? 'DETACH'
      const planned = await planJobs(options, args)
      if (wantsGroup(options)) return runGroup(context, plannedGroup(planned), options)
      if (planned) {
        if (options.download !== undefined) throw new UsageError(ONE_SESSION)
        return runJobs(context, planned, what)
      }
      const input = sessionInput(await findNamed(client, options), args) as CreateSessionInput
      const { session, created } = await client.createSession(input, { signal })
      const { sessionId } = session
      if (out.json) out.item({ type: 'created', created, ...session }, () => '')
      else out.note(`session ${sessionId}${created ? '' : ' already existed'}`)
      warnOfVain(out, [session])
      const stopped = new AbortController()
      const interrupt = onInterrupt(what, {
        out,
        stopped,
        advice: `\`reprise logs --follow ${sessionId}\` shows it again,\n\`reprise cancel ${sessionId}\` terminates it.`,
        end: () => endChain(client, sessionId, { reason: INTERRUPT_REASON }),
      })
      try {
        const from = created ? 'session' : 'first'
        const last = await followChain(client, { sessionId, signal: stopped.signal, from }, attemptNotes(out))
        if (out.json) out.item({ type: 'ended', ...last }, () => '')
        if (interrupt.interrupted) return exitStatus('INTERRUPTED')
        const status = workStatus(last)
        if (options.download === undefined) {
          await noteOutputs(context, last.sessionId, session.name)
          return status
        }
        const fetched = await fetchOutputs(context, sessionId, { to: options.download })
        return status === 0 ? fetched : status
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

/** @throws UsageError */
function plannedGroup(planned: PlannedSession[] | undefined): PlannedSession[] {
  if (planned) return planned
  throw new UsageError('--group is for several sessions: give --array or --file.')
}

async function runGroup(
  context: ClientContext,
  planned: readonly PlannedSession[],
  options: RunOptions,
): Promise<number> {
  const { client, out } = context
  const { download } = options
  const group = await createGroupOf(context, planned, options)
  const { groupId } = group
  const stopped = new AbortController()
  const interrupt = onInterrupt(options.onInterrupt ?? 'DETACH', {
    out,
    stopped,
    advice: `\`reprise wait ${groupId}\` waits for it again,\n\`reprise cancel ${groupId}\` ends it.`,
    end: () => client.cancelGroup(groupId, { reason: INTERRUPT_REASON }),
  })
  try {
    const status = await awaitGroup(context, groupId, { cut: stopped.signal })
    if (download === undefined) return status
    return Math.max(status, await fetchGroup(context, group, { to: download }))
  } catch (error) {
    if (stopped.signal.aborted) return exitStatus('INTERRUPTED')
    throw error
  } finally {
    interrupt.dispose()
  }
}

const ONE_SESSION = '--download is for a single session; for several, use `reprise download` with the name of each.'

export function createCommand(): Command {
  const command = describedCommand('create', 'create sessions and print their ids, without waiting for them', [
    'reprise create --retries 5 --name nightly -- ~/nightly.sh',
    'reprise create --policy policy.json --creation-id nightly-2026-11-21 -- ~/nightly.sh',
    'reprise create --depends-on nightly --name report -- ~/work.sh',
    'reprise create --array 1..100 --name sim-{i} --retries 2 -- ~/simulate.sh --seed {i}',
    'reprise create --file jobs.yaml --label study=7 --creation-id study-7',
    'id=$(reprise create -- ~/work.sh) && reprise logs --follow $id',
  ]).argument('[command...]', 'command to run, after --')
  return act<SessionOptions>(
    addSessionOptions(command),
    async (context, given, args) => {
      const { client, out, signal } = context
      const options = await withEnvironment(context, await withUpload(context, given), args)
      const planned = await planJobs(options, args)
      if (wantsGroup(options)) {
        const group = await createGroupOf(context, plannedGroup(planned), options)
        out.show({ group }, () => group.groupId)
        return 0
      }
      if (planned) {
        const made = await createJobs(context, planned)
        printCreated(out, made)
        await reportKnown(context, made.known)
        return made.left > 0 ? exitStatus('INTERRUPTED') : made.status
      }
      const input = sessionInput(await findNamed(client, options), args) as CreateSessionInput
      const { session, created } = await client.createSession(input, { signal })
      if (!created) out.note('it already existed')
      warnOfVain(out, [session])
      out.show({ created, session }, () => session.sessionId)
      if (options.output !== undefined) out.note(`its outputs, at the end: reprise download ${session.sessionId}`)
      return 0
    },
    { endsItself: true },
  )
}
