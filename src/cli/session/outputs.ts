import type { Command } from 'commander'
import {
  areSettled,
  type AttemptOutputs,
  hasEnded,
  type OutputFile,
  type Outputs,
  type SessionGroup,
} from '../../client/node/index.ts'
import { act, type ClientContext, describedCommand, takeAll } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { findSession, SESSION_ARGUMENT } from '../find.ts'
import { groupNamed } from './groups.ts'
import { wholeNumber } from '../options/values.ts'
import { binaryBytes, relative } from '../output/format.ts'
import { progressBar } from '../output/output.ts'
import { UsageError } from '../present-error.ts'
import { join } from 'node:path'

interface SelectOptions {
  attempt?: number
  allAttempts?: true
  match?: string
}

interface DownloadOptions extends SelectOptions {
  to?: string
  force?: true
}

/** How long `run` waits for the outputs, to say how many there are. */
const NOTED_WITHIN_MS = 10_000

export function outputsCommand(): Command {
  const command = describedCommand('outputs', 'list the files that the attempts of a session left', [
    'reprise outputs train',
    "reprise outputs train --match '*.json' --attempt 1",
  ]).argument('<session>', SESSION_ARGUMENT)
  return act<SelectOptions>(addSelection(command), async ({ client, out, signal }, options, [text]) => {
    const { attempts } = await client.chainOutputs(await findSession(client, text!), { signal })
    const wanted = options.attempt === undefined ? attempts : [attemptOf(attempts, options.attempt)]
    const rows: (OutputFile & { attempt: number })[] = []
    for (const { sessionId, attempt, outputs } of wanted) {
      if (outputs === null) continue
      if (outputs.fileCount > 0) {
        const files = await takeAll(client.outputFiles(sessionId, { match: options.match, signal }))
        rows.push(...files.map((file) => ({ ...file, attempt })))
      }
      if (out.json) continue
      if (outputs.state !== 'COMPLETE') out.note(`attempt ${attempt}: ${outputsWords(outputs)}`)
      if (outputs.place !== null) out.note(`attempt ${attempt}: the files stay ${placeOf(outputs.place)}`)
      for (const reason of outputs.reasons) out.note(`attempt ${attempt}: ${reason}`)
    }
    await out.table(
      rows,
      [
        {
          title: 'PATH',
          value: ({ path, linkTarget }) => (linkTarget === null ? path : `${path} → ${linkTarget}`),
          flexible: true,
        },
        { title: 'SIZE', value: ({ bytes }) => binaryBytes(bytes), align: 'right' },
        { title: 'WRITTEN', value: ({ modifiedAt }) => relative(modifiedAt), align: 'right' },
        { title: 'ATTEMPT', value: ({ attempt }) => attempt, align: 'right' },
        { title: 'SHA-256', value: ({ sha256 }) => sha256.slice(0, 12) },
      ],
      'no files',
    )
  })
}

export function downloadCommand(): Command {
  const command = describedCommand(
    'download',
    'download the files that a session left, of the attempt that succeeded unless you name one',
    [
      'reprise download train',
      'reprise download train --to out/ --match "results/**"',
      'reprise download sweep --to results/    # of the members of a group, each into its own directory',
      'reprise download train --attempt 1 --to first/    # of an attempt that failed, or still while others run',
    ],
  ).argument('<session>', SESSION_ARGUMENT)
  addSelection(command)
    .option('--all-attempts', 'of every attempt, each into a directory attempt-N')
    .option('--to <directory>', 'directory to write to (default: the name of the session)')
    .option('--force', 'replace files that have another content')
  return act<DownloadOptions>(command, async (context, options, [text]) => {
    const group = await groupNamed(context.client, text!)
    if (group) return fetchGroup(context, group, options)
    return fetchOutputs(context, await findSession(context.client, text!), options)
  })
}

/** Members whose outputs are missing that a message names. */
const MISSING_NAMED = 10

/**
 * Downloads the outputs of a group's members, each into a directory named by its index; returns the exit status. Members
 * without complete outputs are named, because the rest must not pass for the whole.
 */
export async function fetchGroup(
  context: ClientContext,
  group: SessionGroup,
  { attempt, allAttempts, match, to = directoryOf(group.name), force }: DownloadOptions,
): Promise<number> {
  const { client, out, signal } = context
  if (attempt !== undefined || allAttempts === true)
    throw new UsageError('--attempt and --all-attempts are for one session, not for a group.')
  const members = await takeAll(client.chains({ filter: { group: group.groupId } }, { signal }))
  const missing: number[] = []
  let status = 0
  for (const { chainId, groupIndex } of members.toSorted((a, b) => a.groupIndex! - b.groupIndex!)) {
    const one = await fetchOutputs(context, chainId, { to: join(to, String(groupIndex)), match, force })
    if (one !== 0) missing.push(groupIndex!)
    status = Math.max(status, one)
  }
  if (missing.length === 0) return status
  const named = missing.slice(0, MISSING_NAMED).join(', ')
  const more = missing.length > MISSING_NAMED ? ` and ${missing.length - MISSING_NAMED} more` : ''
  out.note(`not complete: the outputs of ${missing.length} of ${members.length} members: ${named}${more}`)
  return status
}

function addSelection(command: Command): Command {
  return command
    .option('--attempt <n>', 'number of the attempt', wholeNumber)
    .option('--match <pattern>', 'only files that match, in the syntax of .gitignore')
}

/** Downloads outputs of a session's chain; returns the exit status. */
export async function fetchOutputs(
  context: ClientContext,
  sessionId: string,
  { attempt, allAttempts, match, to, force }: DownloadOptions,
): Promise<number> {
  const { client, signal } = context
  const { name, attempts } = await client.chainOutputs(sessionId, { signal })
  const directory = to ?? directoryOf(name)
  if (allAttempts === true) {
    const all = attempts.filter(({ outputs }) => outputs !== null && outputs.fileCount > 0)
    if (all.length === 0) return nothing(context, 'no attempt has files')
    let status = 0
    for (const each of all) {
      const into = join(directory, `attempt-${each.attempt}`)
      status = Math.max(status, await fetchAttempt(context, each, { to: into, match, force }))
    }
    return status
  }
  const chosen = attempt === undefined ? chooseAttempt(context, attempts) : attemptOf(attempts, attempt)
  if (chosen === null) return exitStatus('FAILED')
  const status = await fetchAttempt(context, chosen, { to: directory, match, force })
  return attempt === undefined && chosen.result !== 'SUCCESS' ? exitStatus('FAILED') : status
}

/** Chooses the attempt that succeeded, or else the last one, once the chain has ended; null if there is none yet. */
function chooseAttempt({ out }: ClientContext, attempts: readonly AttemptOutputs[]): AttemptOutputs | null {
  const succeeded = attempts.findLast(({ result }) => result === 'SUCCESS')
  if (succeeded) return succeeded
  if (hasEnded(attempts)) {
    const last = attempts.at(-1)!
    out.note(`no attempt has succeeded: these files are from attempt ${last.attempt}, which did not`)
    return last
  }
  const ready = attempts.filter(({ outputs }) => outputs !== null && outputs.fileCount > 0).map((each) => each.attempt)
  const advice = ready.length === 0 ? '' : `; --attempt ${ready.at(-1)} downloads the files of one that has ended`
  out.note(`the work is not done yet${advice}`)
  return null
}

async function fetchAttempt(
  context: ClientContext,
  { sessionId, attempt, outputs: before }: AttemptOutputs,
  { to, match, force }: { to: string; match?: string | undefined; force?: boolean | undefined },
): Promise<number> {
  const { client, out, signal } = context
  if (before !== null && !areSettled(before)) out.note('waiting for the agent to send the files')
  const outputs = before === null ? null : await client.waitForOutputs(sessionId, { signal })
  if (outputs === null) return nothing(context, `attempt ${attempt} has no outputs: run it with --output`)
  for (const reason of outputs.reasons) out.note(reason)
  if (outputs.fileCount === 0 || outputs.state === 'EXPIRED')
    return outputs.reasons.length > 0 ? exitStatus('FAILED') : nothing(context, outputsWords(outputs))
  const bar = progressBar('downloading')
  const onFile = ({ bytes, bytesInAll }: { bytes: number; bytesInAll: number }) =>
    bar.update(bytes, bytesInAll, `of ${binaryBytes(bytesInAll)}`)
  try {
    const done = await client.downloadOutputs(sessionId, { to, match, force, onFile, signal })
    bar.end()
    out.show({ sessionId, attempt, to, state: outputs.state, ...done }, () => {
      const there = done.unchanged === 0 ? '' : `, ${done.unchanged} of them were there already`
      return `${filesOf(done.files, done.bytes)} of attempt ${attempt} in ${to}${there}`
    })
  } finally {
    bar.end()
  }
  return outputs.state === 'COMPLETE' ? 0 : exitStatus('FAILED')
}

function nothing({ out }: ClientContext, words: string): number {
  out.note(words)
  return exitStatus('FAILED')
}

/** @throws UsageError */
function attemptOf(attempts: readonly AttemptOutputs[], number: number): AttemptOutputs {
  const found = attempts.find(({ attempt }) => attempt === number)
  if (found) return found
  throw new UsageError(`There is no attempt ${number}: there are ${attempts.length}.`)
}

/** Says how to get the outputs of a session that has ended; nothing if it has none, or if the server fails. */
export async function noteOutputs(
  { client, out, signal }: ClientContext,
  sessionId: string,
  name: string,
): Promise<void> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(NOTED_WITHIN_MS)])
  const outputs = await client.waitForOutputs(sessionId, { signal: inTime }).catch(() => null)
  if (outputs === null && inTime.aborted) return out.note(`its outputs are on the way: reprise download ${name}`)
  if (outputs === null) return
  for (const reason of outputs.reasons) out.note(reason)
  if (outputs.fileCount === 0) return
  const files = filesOf(outputs.fileCount, outputs.bytes)
  out.note(
    outputs.place === null ? `${files}: reprise download ${name}` : `${files}, which stay ${placeOf(outputs.place)}`,
  )
}

function placeOf({ node, directory }: NonNullable<Outputs['place']>): string {
  return `on ${node} in ${directory}`
}

/** Waits for the outputs of an attempt; returns 0 if all have arrived. */
export async function awaitOutputs({ client, out, signal }: ClientContext, sessionId: string): Promise<number> {
  const outputs = await client.waitForOutputs(sessionId, { signal })
  if (outputs === null) return 0
  for (const reason of outputs.reasons) out.note(`${sessionId}: ${reason}`)
  if (!out.json) out.print(`${sessionId}: ${outputsWords(outputs)}`)
  return outputs.state === 'COMPLETE' || outputs.state === 'NONE' ? 0 : exitStatus('FAILED')
}

const WORDS: Record<Outputs['state'], string> = {
  WAITING: 'not collected yet',
  COLLECTING: 'being collected',
  COMPLETE: 'complete',
  PARTIAL: 'not complete',
  LOST: 'lost with their agent',
  NONE: 'no files',
  EXPIRED: 'expired',
}

/** Formats `COMPLETE, 3 files, 12 MiB`. */
export function outputsWords({ state, fileCount, bytes }: Outputs): string {
  return fileCount === 0 ? WORDS[state] : `${WORDS[state]}, ${filesOf(fileCount, bytes)}`
}

function filesOf(count: number, bytes: number): string {
  return `${count === 1 ? '1 file' : `${count} files`}, ${binaryBytes(bytes)}`
}

/** A directory name made of a session's name, which may have slashes and dots. */
function directoryOf(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^\.+/, '_') || 'outputs'
}
