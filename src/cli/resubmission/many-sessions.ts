import type { Command } from 'commander'
import type { Resubmission, SessionAction, SessionFilter } from '../../client/node/index.ts'
import type { ClientContext } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { addFilterOptions, readFilter, type FilterOptions } from '../options/filter-options.ts'
import { progressBar } from '../output/progress-bar.ts'
import { UsageError } from '../present-error.ts'
import { findSession } from '../session/find-session.ts'
import { takeAll } from '../session/take.ts'

export interface ManyOptions extends FilterOptions {
  clientKey?: string
  dryRun?: true
  detach?: boolean
}

/** The options of every command that acts on many sessions. */
export function addManyOptions(command: Command): Command {
  return addFilterOptions(command)
    .optionsGroup('Execution:')
    .option('--dry-run', 'only say to how many it would be done, and to which first')
    .option('--client-key <key>', 'repeating the key does nothing again')
    .option('--detach', 'do not wait for many; `reprise resubmissions` shows the progress')
}

/** Whether the options name more than one session by name would. */
export function isMany(options: ManyOptions, names: readonly string[]): boolean {
  return names.length !== 1 || options.dryRun === true || readFilter(options) !== undefined
}

/** The sessions that are named, or those that match. @throws UsageError unless it is one of the two */
export async function readSelection(
  { client }: ClientContext,
  options: ManyOptions,
  names: readonly string[],
): Promise<{ sessionIds?: string[]; filter?: SessionFilter }> {
  const filter = readFilter(options)
  if ((names.length === 0) === (filter === undefined)) {
    throw new UsageError('Name sessions, or say which with options like --cause: one of the two.')
  }
  if (filter) return { filter }
  return { sessionIds: await Promise.all(names.map((name) => findSession(client, name))) }
}

interface Made {
  resubmission: Resubmission
  sessions: readonly { sessionId: string; name: string; attempt: number }[]
  refused: readonly { sessionId: string; code: string | null; message: string | null }[]
}

/** How an action is named in messages: `terminated`, and while it goes on `terminating`. */
export interface ActionWords {
  action: SessionAction
  doing: string
  done: string
}

/** Prints what would be done. */
export async function printDryRun(
  { client, out }: ClientContext,
  { action, done }: ActionWords,
  input: Parameters<ClientContext['client']['dryRun']>[1],
): Promise<number> {
  const tried = await client.dryRun(action, input)
  out.show(tried, () =>
    [
      ...tried.sessions.map(({ sessionId, name, attempt }) => `${sessionId}  ${name}  attempt ${attempt}`),
      `${tried.count} of ${tried.total} sessions would be ${done}`,
    ].join('\n'),
  )
  return 0
}

/** Waits for the end, unless asked not to, and prints what was done. Ctrl-C leaves the rest undone. */
export async function followMany(
  context: ClientContext,
  words: ActionWords,
  made: Made,
  { detach }: { detach?: boolean | undefined },
): Promise<number> {
  const { client, out } = context
  const { resubmissionId, state, total } = made.resubmission
  if (state === 'RUNNING' && !detach) {
    const end = await waitForEnd(context, words, made.resubmission)
    const items = client.resubmissionItems(resubmissionId, { status: 'REFUSED' })
    const refused = (await takeAll(items)).map(({ sessionId, code, message }) => ({ sessionId, code, message }))
    return print(context, words, { resubmission: end, sessions: [], refused })
  }
  if (state === 'RUNNING') out.note(`${total} sessions go on in the background`)
  return print(context, words, made)
}

async function waitForEnd(
  { client, out, signal }: ClientContext,
  { action, doing }: ActionWords,
  { resubmissionId }: Resubmission,
) {
  const what = action === 'RESUBMIT' ? 'resubmission ' : ''
  out.note(`${what}${resubmissionId}; Ctrl-C leaves the rest undone`)
  const bar = progressBar(doing)
  const onResubmission = ({ total, pending, refusedCount }: Resubmission) =>
    bar.update(total - pending, total, refusedCount > 0 ? `${refusedCount} refused` : '')
  try {
    return await client.waitForResubmission(resubmissionId, { signal, onResubmission })
  } catch (error) {
    if (!signal.aborted) throw error
    await client.abortResubmission(resubmissionId)
    return await client.resubmission(resubmissionId)
  } finally {
    bar.end()
  }
}

function print({ out, signal }: ClientContext, words: ActionWords, made: Made): number {
  const { done, total, state } = made.resubmission
  out.show(made, () => {
    const lines = made.sessions.map(({ sessionId, name, attempt }) => `${sessionId}  ${name}  attempt ${attempt}`)
    const rest = state === 'ABORTED' ? ', the rest left undone' : ''
    return [...lines, `${done} of ${total} sessions ${words.done}${rest}`].join('\n')
  })
  for (const { sessionId, code, message } of made.refused) out.note(`refused ${sessionId}: ${message} (${code})`)
  if (signal.aborted) return exitStatus('INTERRUPTED')
  return made.refused.length > 0 && done === 0 ? exitStatus('CONFLICT') : 0
}
