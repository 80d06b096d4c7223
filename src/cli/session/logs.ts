import type { Command } from 'commander'
import {
  type Attempt,
  type AttemptLog,
  type Client,
  NotFoundError,
  type SessionSummary,
} from '../../client/node/index.ts'
import { act, chunks, type ClientContext, describedCommand, takeAll } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { beginningWith, findId, findSession, findSessions, SESSION_ARGUMENT } from '../find.ts'
import { addFilterOptions, type FilterOptions, readFilter } from '../options/filter-options.ts'
import { findFilter } from '../options/find-in-options.ts'
import { past, wholeNumber } from '../options/values.ts'
import { shortId } from '../output/format.ts'
import type { Output } from '../output/output.ts'
import { oneLine } from '../output/table.ts'
import { safeText } from '../output/terminal.ts'
import { UsageError } from '../present-error.ts'
import { groupNamed, newestAttempts } from './groups.ts'
import { attemptNotes, followChain, logWriter } from './follow-chain.ts'
import { outcomeOf, statusWord, workStatus, worksStatus } from './session-text.ts'

interface LogsOptions extends FilterOptions {
  attempt?: number
  allAttempts?: true
  failedFirst?: true
  failed?: true
  limit?: number
  follow?: true
  kernel?: string
  tail?: number
  createdSince?: string
  createdBefore?: string
}

export function logsCommand(): Command {
  const command = describedCommand('logs', 'print the output of sessions; with --follow, also later output', [
    'reprise logs nightly',
    'reprise logs nightly --attempt 1 --kernel main1',
    'reprise logs nightly --tail 20 --follow    # exits with the exit status of the work',
    'reprise logs nightly --since 10m',
    'reprise logs --label study=7 --failed-first --tail 20',
    'reprise logs sweep --failed --tail 20    # of the members of a group',
    'reprise logs --cause oom-killed --all-attempts',
  ])
    .argument('[sessions...]', SESSION_ARGUMENT)
    .option('--attempt <n>', 'number of the attempt; the default is the session itself', wholeNumber)
    .option(
      '--all-attempts',
      'all attempts of the named sessions, or all that match and not only the newest of a chain',
    )
    .option('-f, --follow', 'follow the output until the chains have ended, through all further attempts')
    .option('--tail <n>', 'only the last n lines of each kernel, of the output so far', wholeNumber)
    .option('--since <time>', 'only output that arrived since this time, or a duration ago like 10m', past)
    .option('--kernel <name>', 'only this kernel: main1, sub1, …, or its id or the beginning of its id')
    .option('--failed', 'of a group, only the members that have failed')
    .option('--failed-first', 'of several sessions, those that failed first')
    .option('--limit <n>', 'of several sessions, only the first n; 0 means all (the default)', wholeNumber)
  addFilterOptions(command, { since: '--created-since <time>', before: '--created-before <time>' })
  return act<LogsOptions>(
    command,
    async (context, given, names) => {
      const { createdSince, createdBefore, since, ...rest } = given
      const options = { ...rest, outputSince: since, since: createdSince, before: createdBefore }
      const filtered = readFilter(options) !== undefined
      if ((names.length === 0) === !filtered) {
        throw new UsageError('Either name sessions, or select them with options like --label.')
      }
      const { attempt, allAttempts, failedFirst, follow } = options
      if (attempt !== undefined && allAttempts) throw new UsageError('--attempt and --all-attempts exclude each other.')
      if (follow && (allAttempts || failedFirst))
        throw new UsageError('--follow excludes --all-attempts and --failed-first.')
      const group = names.length === 1 ? await groupNamed(context.client, names[0]!) : undefined
      if (options.failed && !group) throw new UsageError('--failed is for the members of a group.')
      const wanted = group ? await newestAttempts(context, group, options.failed ? ['FAILED'] : undefined) : names
      if (group && wanted.length === 0) throw new NotFoundError('SESSION_NOT_FOUND', 'No member of the group matches.')
      if (wanted.length === 1 && !allAttempts) return printOne(context, options, wanted[0]!)
      const selected = await select(context, options, wanted)
      return follow ? followMany(context, options, selected) : printMany(context, options, selected)
    },
    { follow: true },
  )
}

/** `since` and `before` are about the creation of sessions here, and `outputSince` about their output. */
type Options = Omit<LogsOptions, 'createdSince' | 'createdBefore'> & { outputSince?: string | undefined }

async function printOne({ client, out, signal }: ClientContext, options: Options, name: string): Promise<number> {
  const { attempt: wanted, follow, kernel: given, tail, outputSince: since } = options
  const sessionId = await findSession(client, name)
  const chain = await client.chain(sessionId)
  const attempt = chain.find((one) => (wanted === undefined ? one.sessionId === sessionId : one.attempt === wanted))
  if (!attempt) throw noAttempt(wanted!, chain)
  const kernel = given && (await findKernel(given, attempt.kernels))
  if (follow) {
    const from = { sessionId: attempt.sessionId, signal, kernel, tail, since }
    return workStatus(await followChain(client, from, attemptNotes(out)))
  }
  const several = kernel === undefined && attempt.kernels.length > 1
  const logs = logWriter(out, (chunk) => (several ? chunk.kernel : null))
  for await (const chunk of client.writtenLogs(attempt.sessionId, { signal, tail, since })) {
    if (kernel === undefined || chunk.kernel === kernel) logs.write(chunk)
  }
  logs.flush()
  return 0
}

function noAttempt(wanted: number, chain: readonly Attempt[]): NotFoundError {
  return new NotFoundError('SESSION_NOT_FOUND', `There is no attempt ${wanted}; the chain has ${chain.length}.`)
}

/** Finds the name of a kernel, given by name or id. @throws NotFoundError, UsageError */
async function findKernel(text: string, kernels: Attempt['kernels']): Promise<string> {
  const all = kernels.map(({ kernelId, role, index }) => ({ id: kernelId, name: `${role}${index}` }))
  const names = all.map(({ name }) => name)
  if (names.includes(text)) return text
  const beginning = async (prefix: string) => beginningWith(prefix, all)
  const id = await findId(text, { noun: 'kernel', code: 'KERNEL_NOT_FOUND', beginning }).catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error
  })
  const name = all.find((one) => one.id === id)?.name
  if (name !== undefined) return name
  throw new NotFoundError('KERNEL_NOT_FOUND', `There is no kernel ${text}. Existing kernels: ${names.join(', ')}.`)
}

/** Finds the attempts to print, in their order. @throws NotFoundError if there is none */
async function select(
  { client, signal }: ClientContext,
  options: Options,
  names: readonly string[],
): Promise<SessionSummary[]> {
  const { attempt, allAttempts, failedFirst, limit = 0 } = options
  const named = names.length > 0
  let found = named
    ? await readSessions(client, await findSessions(client, names), signal)
    : await takeAll(
        client.sessions({ filter: (await findFilter(client, options))!, orderBy: OLDEST_FIRST }, { signal }),
      )
  if (found.length === 0) throw new NotFoundError('SESSION_NOT_FOUND', 'No session matches.')
  if (!named && !allAttempts) found = newestOfChains(found)
  if (attempt !== undefined || (named && allAttempts)) {
    const ids = [...new Map(found.map((each) => [each.chainId, each.sessionId])).values()]
    const chains = await Promise.all(ids.map((id) => client.chain(id, { signal })))
    found = chains.flatMap((chain) => {
      const wanted = chain.filter((each) => attempt === undefined || each.attempt === attempt)
      if (named && wanted.length === 0) throw noAttempt(attempt!, chain)
      return wanted
    })
  }
  if (failedFirst) found = [...found.filter(hasFailed), ...found.filter((each) => !hasFailed(each))]
  return limit === 0 ? found : found.slice(0, limit)
}

const OLDEST_FIRST = [{ field: 'CREATED_AT', direction: 'ASC' }] as const satisfies object[]

function hasFailed({ result }: SessionSummary): boolean {
  return result === 'FAILURE'
}

function newestOfChains(sessions: readonly SessionSummary[]): SessionSummary[] {
  const newest = new Map<string, SessionSummary>()
  for (const session of sessions) {
    const known = newest.get(session.chainId)
    if (known === undefined || known.attempt < session.attempt) newest.set(session.chainId, session)
  }
  return [...newest.values()]
}

/** Number of ids in one question: the largest number of conditions in one filter. */
const CONDITIONS_MAX = 20

/** Reads sessions, each once, in the order of their ids. @throws NotFoundError */
async function readSessions(client: Client, ids: readonly string[], signal: AbortSignal): Promise<SessionSummary[]> {
  const unique = [...new Set(ids)]
  const found = await Promise.all(
    chunks(unique, CONDITIONS_MAX).map((some) => {
      const filter = { OR: some.map((idPrefix) => ({ idPrefix })) }
      return takeAll(client.sessions({ filter }, { signal }))
    }),
  )
  const byId = new Map(found.flat().map((session) => [session.sessionId, session]))
  return unique.map((id) => {
    const session = byId.get(id.toLowerCase())
    if (session === undefined) throw new NotFoundError('SESSION_NOT_FOUND', `There is no session ${id}.`)
    return session
  })
}

/**
 * Returns the label of each session in front of its lines: its name; with the number of the attempt if several attempts
 * of a chain are shown, and with its id if several chains have this name.
 */
function labelsOf(sessions: readonly SessionSummary[]): Map<string, string> {
  const chainsOf = Map.groupBy(sessions, ({ name }) => name)
  const attemptsOf = Map.groupBy(sessions, ({ chainId }) => chainId)
  return new Map(
    sessions.map(({ sessionId, name, chainId, attempt }) => {
      const others = chainsOf.get(name)!.some((each) => each.chainId !== chainId)
      const shown = safeText(oneLine(name), false)
      if (others) return [sessionId, `${shown} ${sessionId}`]
      return [sessionId, attemptsOf.get(chainId)!.length > 1 ? `${shown}#${attempt}` : shown]
    }),
  )
}

/** Number of sessions whose output is requested before it is printed: a request takes longer than printing. */
const AHEAD = 4

/** Prints the output so far of one session after the other. */
async function printMany(
  { client, out, signal }: ClientContext,
  { kernel, tail, outputSince: since }: Options,
  sessions: readonly SessionSummary[],
): Promise<number> {
  const labels = labelsOf(sessions)
  let status = 0
  const sources = sessions.map((session) => ({
    session,
    open: () => client.writtenLogs(session.sessionId, { signal, tail, since }),
  }))
  for await (const { session, chunks: written } of requestedAhead(sources, AHEAD)) {
    const label = labels.get(session.sessionId)!
    printHead(out, session)
    const logs = logWriter(out, (chunk) => prefixOf(label, chunk))
    let empty = true
    try {
      for await (const chunk of written) {
        if (kernel !== undefined && chunk.kernel !== kernel) continue
        empty = false
        logs.write(chunk)
      }
    } catch (error) {
      // It was removed meanwhile; the others are printed all the same.
      if (!(error instanceof NotFoundError)) throw error
      out.note(error.message)
      status = exitStatus('NOT_FOUND')
    }
    logs.flush()
    if (empty && !out.json) out.note(out.notes.style('dim', '   no output'))
  }
  return status
}

function printHead(out: Output, session: SessionSummary): void {
  if (out.json) return out.item({ type: 'session', ...session }, () => '')
  const { name, sessionId, attempt } = session
  const outcome = outcomeOf(session) || statusWord(session)
  const head = `── ${name} · attempt ${attempt} · ${outcome} · ${shortId(sessionId, out.notes)}`
  out.note(out.notes.style('bold', head))
}

/** The main kernel is not named, because most sessions have no other. */
function prefixOf(label: string, { kernel }: AttemptLog): string {
  return kernel === 'main1' ? label : `${label} ${kernel}`
}

interface Source {
  session: SessionSummary
  open: () => AsyncGenerator<AttemptLog, void, void>
}

/**
 * Yields the sources in their order, each with its chunks. The first chunk of the next `count` sources is already
 * requested, so the latency of requests is not paid once per session, and little is held in memory.
 */
async function* requestedAhead(sources: readonly Source[], count: number) {
  const begun: { session: SessionSummary; chunks: AsyncIterable<AttemptLog> }[] = []
  for (let next = 0; next < sources.length || begun.length > 0;) {
    while (next < sources.length && begun.length <= count) {
      const { session, open } = sources[next++]!
      const rest = open()
      const first = rest.next()
      // It is reported when its turn comes.
      first.catch(() => {})
      begun.push({ session, chunks: resumed(first, rest) })
    }
    yield begun.shift()!
  }
}

async function* resumed<Item>(first: Promise<IteratorResult<Item, void>>, rest: AsyncGenerator<Item, void, void>) {
  const result = await first
  if (result.done) return
  yield result.value
  yield* rest
}

/** Largest number of chains that one command follows: each takes several of the subscriptions of its connection. */
const FOLLOWED_MAX = 40

/** Follows chains beside each other, each line with the name of its session. */
async function followMany(
  { client, out, signal }: ClientContext,
  { kernel, tail, outputSince: since }: Options,
  sessions: readonly SessionSummary[],
): Promise<number> {
  const chains = newestOfChains(sessions)
  if (chains.length > FOLLOWED_MAX) {
    throw new UsageError(
      `At most ${FOLLOWED_MAX} chains can be followed at once, and ${chains.length} are selected. ` +
        '--limit follows fewer, and `reprise wait` waits for any number.',
    )
  }
  const labels = labelsOf(chains)
  const last = await Promise.all(
    chains.map(({ sessionId }) =>
      followChain(
        client,
        { sessionId, signal, kernel, tail, since, others: chains.length - 1 },
        attemptNotes(out, labels.get(sessionId)),
      ),
    ),
  )
  return worksStatus(last)
}
