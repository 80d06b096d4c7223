import { ApiError, type Client, type SessionSummary } from '../../client/node/index.ts'
import { chunks, type ClientContext, takeAll } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { INTERRUPT_REASON, onInterrupt, type OnInterrupt } from '../session/cancel.ts'
import type { PlannedSession } from './plan-jobs.ts'
import { type Output, progressBar } from '../output/output.ts'
import { presentError } from '../present-error.ts'
import { findNamedInput, type KnownIds } from '../options/find-in-options.ts'

/** Creates the sessions and waits until all have ended. It succeeds if all of them succeed. */
export async function runJobs(
  context: ClientContext,
  planned: readonly PlannedSession[],
  what: OnInterrupt,
): Promise<number> {
  const { client, out, signal } = context
  const after = await client.eventCursor({ signal })
  const stopped = new AbortController()
  const creating = createJobs(context, planned, stopped.signal)
  const interrupt = onInterrupt(what, {
    out,
    stopped,
    advice: '`reprise list` shows it, `reprise cancel` terminates it.',
    end: async () => endAll(client, (await creating).sessions),
  })
  try {
    const made = await creating
    printCreated(out, made)
    const { succeeded, failed } = await followJobs(context, {
      sessions: made.sessions,
      known: made.known,
      after,
      signal: stopped.signal,
    })
    out.note(`${succeeded} succeeded${failed > 0 ? `, ${failed} failed` : ''}`)
    if (interrupt.interrupted) return exitStatus('INTERRUPTED')
    return failed > 0 ? exitStatus('FAILED') : made.status
  } catch (error) {
    if (stopped.signal.aborted) return exitStatus('INTERRUPTED')
    throw error
  } finally {
    interrupt.dispose()
  }
}

/** Terminates the sessions, and cancels their waiting retries. */
async function endAll(client: Client, sessions: readonly SessionSummary[]): Promise<void> {
  const chainIds = sessions.map(({ chainId }) => chainId)
  for (const ids of chunks(chainIds)) {
    await client.terminateSessions({ select: { chainFilter: { ids } }, reason: INTERRUPT_REASON })
  }
}

/** Sessions per call: few enough that the progress bar moves, and enough that the calls are cheap. */
const BATCH = 250

interface KnownJob {
  /** Position in the file, for messages. */
  place: string
  session: SessionSummary
}

interface CreatedJobs {
  sessions: SessionSummary[]
  /** Jobs whose sessions already existed. */
  known: KnownJob[]
  refused: number
  /** Number of sessions that were not requested because of Ctrl-C. */
  left: number
  /** Exit status for the first refusal; 0 without one. */
  status: number
}

/**
 * Creates the sessions in their order. A session that depends on another one of them, by name, is created in a later
 * call. Refusals are printed and do not affect the others. After Ctrl-C no further call is made; the last one is
 * awaited, unless `cut` aborts it, so that the sessions that it created are known.
 */
export async function createJobs(
  { client, out, signal }: ClientContext,
  planned: readonly PlannedSession[],
  cut?: AbortSignal,
): Promise<CreatedJobs> {
  const bar = progressBar('creating')
  const made: CreatedJobs = { sessions: [], known: [], refused: 0, left: planned.length, status: 0 }
  const known: KnownIds = { sessions: new Map(), agents: new Map() }
  try {
    for (const batch of batchesOf(planned)) {
      if (signal.aborted) break
      const inputs = await Promise.all(batch.map(({ input }) => findNamedInput(client, input, known)))
      const results = await client.createSessions(inputs, { signal: cut })
      for (const [at, result] of results.entries()) {
        const { place, input } = batch[at]!
        if (result instanceof ApiError) {
          bar.end()
          const { message, code, advice, status } = presentError(result, undefined)
          out.note(`${place} ${input.name}: ${[message, ...advice].join(' ')} (${code})`)
          made.refused++
          made.status ||= status
          continue
        }
        known.sessions.set(input.name, Promise.resolve(result.session.sessionId))
        made.sessions.push(result.session)
        if (!result.created) made.known.push({ place, session: result.session })
      }
      made.left -= batch.length
      bar.update(planned.length - made.left, planned.length, made.refused > 0 ? `${made.refused} refused` : '')
    }
  } finally {
    bar.end()
  }
  return made
}

/** Maximum number of ids that are printed: more would push everything else off a terminal. */
const IDS_SHOWN_MAX = 20

/** Prints the ids on standard output, and their number. */
export function printCreated(out: Output, { sessions, known, refused, left }: CreatedJobs): void {
  const old = new Set(known.map(({ session }) => session))
  if (out.json || !out.terminal.interactive || sessions.length <= IDS_SHOWN_MAX) {
    for (const session of sessions) {
      out.item({ type: 'created', created: !old.has(session), ...session }, () => session.sessionId)
    }
  }
  const made = sessions.length - known.length
  const counts = [
    `${made} ${made === 1 ? 'session' : 'sessions'} created`,
    ...(known.length > 0 ? [`${known.length} already existed`] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(left > 0 ? [`${left} not requested`] : []),
  ]
  out.note(counts.join(', '))
  warnOfVain(out, sessions)
}

/** Warns of sessions that no agent could ever run, with the reason of the first. */
export function warnOfVain(out: Output, sessions: readonly SessionSummary[]): void {
  const inVain = sessions.filter(({ impossible }) => impossible)
  const [first] = inVain
  if (first === undefined) return
  const who = sessions.length === 1 ? 'it' : `${inVain.length} of them, such as ${first.name} ${first.sessionId},`
  const why = first.pendingReason?.replace(/^impossible: /, '')
  out.note(`warning: ${who} cannot start: ${why}`)
  const waits = inVain.length === 1 ? 'It waits' : 'They wait'
  out.note(`${waits} until that changes. \`--max-pending\` limits the waiting, \`reprise cancel\` ends it.`)
}

function batchesOf(planned: readonly PlannedSession[]): PlannedSession[][] {
  const batches: PlannedSession[][] = [[]]
  const names = new Set<string>()
  for (const each of planned) {
    if (batches.at(-1)!.length === BATCH || each.input.dependsOn?.some((name) => names.has(name))) {
      batches.push([])
      names.clear()
    }
    batches.at(-1)!.push(each)
    names.add(each.input.name)
  }
  return batches
}

interface FollowedJobs {
  succeeded: number
  failed: number
}

interface FollowOptions {
  sessions: readonly SessionSummary[]
  /** Jobs whose sessions already existed, and may have ended. */
  known: readonly KnownJob[]
  /** Cursor of the events from before their creation. */
  after: string
  signal: AbortSignal
}

const ENDED: ReadonlySet<string> = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED'])

/** Waits until all their chains have ended. Failures are printed as they happen. */
async function followJobs(
  context: ClientContext,
  { sessions, known, after, signal }: FollowOptions,
): Promise<FollowedJobs> {
  const { client, out } = context
  const jobs = new Map(sessions.map((session) => [session.chainId, session]))
  const counts = { succeeded: 0, failed: 0 }
  const bar = progressBar('running')
  // Their outcome is printed with their line.
  const reported = new Set(
    (await reportKnown(context, known)).filter(({ state }) => ENDED.has(state)).map(({ chainId }) => chainId),
  )
  const show = () => {
    const done = counts.succeeded + counts.failed
    bar.update(done, jobs.size, counts.failed > 0 ? `${counts.failed} failed` : '')
  }
  try {
    show()
    for await (const { chainId, state, attempts, reason } of client.chainEnds([...jobs.keys()], { after, signal })) {
      const { name, sessionId } = jobs.get(chainId)!
      if (state === 'SUCCEEDED') counts.succeeded++
      else counts.failed++
      if (out.json) out.item({ type: 'ended', name, sessionId, chainId, state }, () => '')
      else if (state !== 'SUCCEEDED' && !reported.has(chainId)) {
        bar.end()
        const why = `${attempts > 1 ? ` after ${attempts} attempts` : ''}${reason ? `: ${reason}` : ''}`
        out.note(`${name} ${sessionId}: ${state.toLowerCase()}${why}`)
      }
      show()
    }
    return counts
  } finally {
    bar.end()
  }
}

/**
 * Prints what has become of each job whose session already existed, with its place in the file, in the order of the
 * file.
 */
export async function reportKnown(
  { client, out, signal }: ClientContext,
  known: readonly KnownJob[],
): Promise<readonly KnownChain[]> {
  const chains = new Map<string, KnownChain>()
  for (const ids of chunks([...new Set(known.map(({ session }) => session.chainId))])) {
    for (const chain of await takeAll(client.chains({ filter: { ids } }, { signal }))) chains.set(chain.chainId, chain)
  }
  for (const { place, session } of known) {
    const { name, sessionId, chainId } = session
    const chain = chains.get(chainId)
    if (!chain) continue
    const { state, attempts, cause } = chain
    if (out.json) out.item({ type: 'known', place, name, sessionId, chainId, state, attempts, cause }, () => '')
    else out.note(`${place} ${name} ${sessionId}: already existed, ${outcomeWords(chain)}`)
  }
  return [...chains.values()]
}

type KnownChain = ReturnType<Client['chains']> extends AsyncIterable<infer Chain> ? Chain : never

function outcomeWords({ state, attempts, cause, outlook }: KnownChain): string {
  const goesOn = state === 'QUEUED' || state === 'RUNNING'
  const words = goesOn ? 'not yet ended' : state.toLowerCase().replaceAll('_', ' ')
  const after = ENDED.has(state) && attempts > 1 ? ` after ${attempts} attempts` : ''
  const why = state === 'SUCCEEDED' || goesOn ? null : (outlook.reason ?? cause)
  return `${words}${after}${why === null ? '' : `: ${why}`}`
}
