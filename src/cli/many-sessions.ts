import type { Command } from 'commander'
import type { BulkAction, ChainFilter, ChainState, SessionAction, SessionFilter } from '../client/node/index.ts'
import { type ClientContext, takeAll } from './client-command.ts'
import { exitStatus } from './exit-codes.ts'
import { addFilterOptions, type FilterOptions, readFilter } from './options/filter-options.ts'
import { progressBar } from './output/output.ts'
import { UsageError } from './present-error.ts'
import { findFilter } from './options/find-in-options.ts'
import { findSessions } from './find.ts'
import { groupNamed } from './session/groups.ts'

export interface ManyOptions extends FilterOptions {
  clientKey?: string
  dryRun?: true
  detach?: boolean
  failed?: true
}

/** Adds the options of every command that acts on many sessions. */
export function addManyOptions(command: Command): Command {
  return addFilterOptions(command)
    .optionsGroup('Execution:')
    .option('--dry-run', 'only show the number of sessions that would be changed, and the first ones')
    .option('--client-key <key>', 'idempotency key: repeating it does nothing again')
    .option('--detach', 'do not wait until all are done; `reprise bulk-actions` shows the progress')
}

/** Whether the command acts on many sessions, and not on a single one given by name. */
export function isMany(options: ManyOptions, names: readonly string[]): boolean {
  return names.length !== 1 || options.dryRun === true || readFilter(options) !== undefined
}

/**
 * Reads the sessions: either those that are named, or those that match. @throws UsageError unless exactly one is given
 */
export async function readSelection(
  { client }: ClientContext,
  options: ManyOptions,
  names: readonly string[],
): Promise<{ select: { sessionIds: string[] } | { filter: SessionFilter } | { chainFilter: ChainFilter } }> {
  const filter = readFilter(options)
  if ((names.length === 0) === (filter === undefined)) {
    throw new UsageError('Either name sessions, or select them with options like --cause.')
  }
  if (filter) return { select: { filter: (await findFilter(client, options))! } }
  const group = names.length === 1 ? await groupNamed(client, names[0]!) : undefined
  if (options.failed && !group) throw new UsageError('--failed is for the members of a group.')
  if (group) {
    const state: ChainState[] = options.failed ? ['FAILED'] : ['FAILED', 'CANCELLED']
    return { select: { chainFilter: { group: group.groupId, state } } }
  }
  return { select: { sessionIds: await findSessions(client, names) } }
}

interface Made {
  bulkAction: BulkAction
  sessions: readonly { sessionId: string; name: string; attempt: number }[]
  refused: readonly { sessionId: string; code: string | null; message: string | null }[]
}

/** Words for an action in messages: `terminated`, and `terminating` while it is in progress. */
export interface ActionWords {
  action: SessionAction
  doing: string
  done: string
  /** Completes `3 of 3 sessions` in the result, if that is not `done` with a space before it. */
  result?: string
}

/** Prints the result of a dry run. */
export async function printDryRun(
  { client, out }: ClientContext,
  { action, done }: ActionWords,
  input: Parameters<ClientContext['client']['dryRun']>[1],
): Promise<number> {
  const tried = await client.dryRun(action, input)
  out.show(tried, () =>
    [
      ...tried.sessions.map(({ sessionId, name, attempt }) => `${sessionId}  ${name}  attempt ${attempt}`),
      `${counted(action, tried.count, tried.total)} would be ${done}`,
    ].join('\n'),
  )
  for (const each of tried.refusals) out.note(refusalLine(action, each, 'would be refused'))
  return 0
}

/** Resubmissions are counted in chains, because only the newest session of a chain can be resubmitted. */
function counted(action: SessionAction, count: number, total: number): string {
  if (action === 'RESUBMIT') return `${count} ${count === 1 ? 'chain' : 'chains'}`
  return `${count} of ${total} ${total === 1 ? 'session' : 'sessions'}`
}

type Refusal = Awaited<ReturnType<ClientContext['client']['bulkActionRefusals']>>[number]

function refusalLine(action: SessionAction, { code, count, message }: Refusal, refused: string): string {
  if (action === 'RESUBMIT' && code === 'SESSION_HAS_CHILD' && count > 1) {
    return `${count} were earlier attempts of chains; only the newest can be resubmitted (${code})`
  }
  return count === 1
    ? `1 ${refused}: ${message} (${code})`
    : `${count} ${refused}, the first with: ${message} (${code})`
}

/** Waits for the end, unless the options exclude it, and prints the results. Ctrl-C aborts the rest. */
export async function followMany(
  context: ClientContext,
  words: ActionWords,
  made: Made,
  { detach }: { detach?: boolean | undefined },
): Promise<number> {
  const { out } = context
  const { state, total } = made.bulkAction
  if (state === 'RUNNING' && !detach) {
    const end = await waitForEnd(context, words, made.bulkAction)
    return print(context, words, { bulkAction: end, sessions: [], refused: await refusedOf(context, end) })
  }
  if (state === 'RUNNING') out.note(`${total} sessions continue in the background`)
  return print(context, words, made)
}

/** Reads each refused session, for output as JSON only. */
async function refusedOf({ client, out }: ClientContext, { bulkActionId }: BulkAction): Promise<Made['refused']> {
  if (!out.json) return []
  const items = await takeAll(client.bulkActionItems(bulkActionId, { status: 'REFUSED' }))
  return items.map(({ sessionId, code, message }) => ({ sessionId, code, message }))
}

async function waitForEnd(
  { client, out, signal }: ClientContext,
  { action, doing }: ActionWords,
  { bulkActionId }: BulkAction,
) {
  const what = action === 'RESUBMIT' ? 'resubmission ' : ''
  out.note(`${what}${bulkActionId}; Ctrl-C aborts the rest`)
  const bar = progressBar(doing)
  const onBulkAction = ({ total, pending, refusedCount }: BulkAction) =>
    bar.update(total - pending, total, refusedCount > 0 ? `${refusedCount} refused` : '')
  try {
    return await client.waitForBulkAction(bulkActionId, { signal, onBulkAction })
  } catch (error) {
    if (!signal.aborted) throw error
    await client.abortBulkAction(bulkActionId)
    return await client.bulkAction(bulkActionId)
  } finally {
    bar.end()
  }
}

async function print({ client, out, signal }: ClientContext, words: ActionWords, made: Made): Promise<number> {
  const { bulkActionId, done, total, state, refusedCount } = made.bulkAction
  const refusals = refusedCount === 0 ? [] : await client.bulkActionRefusals(bulkActionId)
  out.show({ ...made, refusals }, () => {
    const lines = made.sessions.map(({ sessionId, name, attempt }) => `${sessionId}  ${name}  attempt ${attempt}`)
    const rest = state === 'ABORTED' ? ', the rest aborted' : ''
    return [...lines, `${counted(words.action, done, total)}${words.result ?? ` ${words.done}`}${rest}`].join('\n')
  })
  for (const each of refusals) out.note(refusalLine(words.action, each, 'refused'))
  if (signal.aborted) return exitStatus('INTERRUPTED')
  return refusedCount > 0 && done === 0 ? exitStatus('CONFLICT') : 0
}
