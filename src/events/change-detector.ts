import { CHANGED_IDS_MAX, RELAY_POLL_INTERVAL_MS } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import { readForServer } from '../services/consistent-reads.ts'
import type { Database } from '../store/database.ts'
import { readStateDigests, type StateDigest } from '../store/sql/event/read-state-digests.sql.ts'

/**
 * Detects changes of agents, resubmissions and progress, which no event reports, for all followers in this process. Runs one
 * statement every RELAY_POLL_INTERVAL_MS, and none while there are no followers.
 */
export interface ChangeDetector {
  /**
   * Calls the listener after each change. Resolves once the present state is known; with `everything`, all agents and
   * resubmissions first count as changed.
   */
  watch(onChange: () => void, options: { everything: boolean }): Promise<Watch>
  /** Resolves when no pass is running. */
  stop(): Promise<void>
}

export interface Watch {
  /** Returns what has changed since the last call. */
  take(): Pick<StateDigest, 'kind' | 'id' | 'projectId' | 'chainId'>[]
  end(): void
}

interface Known extends StateDigest {
  /** Number of the pass that saw its last change. */
  changedAt: number
}

/** The digest of a removed agent or resubmission. */
const GONE = ''
/** A removed agent or resubmission is forgotten after this many passes; all followers have seen its removal by then. */
const GONE_PASSES_MAX = 1_000

export function createChangeDetector(options: { db: Database; log: Logger; intervalMs?: number }): ChangeDetector {
  const { db, log, intervalMs = RELAY_POLL_INTERVAL_MS } = options
  const known = new Map<string, Known>()
  const listeners = new Set<() => void>()
  let passes = 0
  let passing: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  /** Returns a pass that begins after this call; passes never overlap. */
  function pass(): Promise<void> {
    if (next) return next
    const begun = passing.then(async () => {
      next = undefined
      compare(await readForServer(() => readStateDigests(db, CHANGED_IDS_MAX)))
    })
    next = begun
    passing = begun.catch(() => {})
    return begun
  }

  function compare(found: readonly StateDigest[]): void {
    passes += 1
    const present = new Set(found.map(({ id }) => id))
    for (const { kind, id } of known.values()) if (kind === 'PROGRESS' && !present.has(id)) known.delete(id)
    const gone = [...known.values()].filter(({ id }) => !present.has(id))
    let changed = false
    for (const state of [...found, ...gone.map((each) => ({ ...each, digest: GONE }))]) {
      if (known.get(state.id)?.digest === state.digest) continue
      known.set(state.id, { ...state, changedAt: passes })
      changed = true
    }
    for (const { id, changedAt } of gone) if (passes - changedAt > GONE_PASSES_MAX) known.delete(id)
    if (changed) for (const listener of listeners) listener()
  }

  function rest(): void {
    if (timer !== undefined || stopped || listeners.size === 0) return
    timer = setTimeout(() => {
      void pass()
        .catch((error) => log.warn({ error: String(error) }, 'agents and resubmissions could not be read'))
        .finally(() => {
          timer = undefined
          rest()
        })
    }, intervalMs).unref()
  }

  return {
    async watch(onChange, { everything }) {
      await pass()
      listeners.add(onChange)
      rest()
      let seen = everything ? 0 : passes
      return {
        take() {
          const since = seen
          seen = passes
          return [...known.values()].filter(
            ({ changedAt, digest }) => changedAt > since && !(since === 0 && digest === GONE),
          )
        },
        end: () => void listeners.delete(onChange),
      }
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await passing
    },
  }
}
