import { ApiError, type SessionSummary } from '../../client/node/index.ts'
import type { ClientContext } from '../client-command.ts'
import type { Output } from '../output/output.ts'
import { progressBar } from '../output/progress-bar.ts'
import { presentError } from '../present-error.ts'
import { findNamedInput, type KnownIds } from '../find/find-in-options.ts'
import type { PlannedSession } from './expand-jobs.ts'

/** In one call: few enough for a bar that moves, and many enough to take little longer than all in one. */
const BATCH = 250

export interface CreatedJobs {
  sessions: SessionSummary[]
  /** Of these sessions, those that were there already. */
  known: SessionSummary[]
  refused: number
  /** How many were not asked for any more. */
  left: number
  /** Exit status for the first refusal; 0 without one. */
  status: number
}

/**
 * Creates them in their order. Those that depend on others of them, which they name, come in a later call. Refusals are
 * printed; the others are created all the same. After Ctrl-C no further call is made, and the last one is waited for, unless `cut` aborts it:
 * what it created is known.
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
        if (!result.created) made.known.push(result.session)
      }
      made.left -= batch.length
      bar.update(planned.length - made.left, planned.length, made.refused > 0 ? `${made.refused} refused` : '')
    }
  } finally {
    bar.end()
  }
  return made
}

/** More ids than this would push everything else off a terminal. */
const IDS_SHOWN_MAX = 20

/** The ids on standard output, and how many there are. */
export function printCreated(out: Output, { sessions, known, refused, left }: CreatedJobs): void {
  const old = new Set(known)
  if (out.json || !out.terminal.interactive || sessions.length <= IDS_SHOWN_MAX) {
    for (const session of sessions) {
      out.item({ type: 'created', created: !old.has(session), ...session }, () => session.sessionId)
    }
  }
  const made = sessions.length - known.length
  const counts = [
    `${made} ${made === 1 ? 'session' : 'sessions'} created`,
    ...(known.length > 0 ? [`${known.length} were there already`] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(left > 0 ? [`${left} not asked for any more`] : []),
  ]
  out.note(counts.join(', '))
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
