import { CHANGED_IDS_MAX, RELAY_POLL_INTERVAL_MS } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import { readForServer } from '../services/consistent-reads.ts'
import type { Database } from '../store/database.ts'
import { readStandings, type Standing } from '../store/sql/event/read-standings.sql.ts'

/**
 * Sees for all followers in this process which agents and resubmissions have changed, which no event reports, with one
 * statement every RELAY_POLL_INTERVAL_MS. Rests while nobody follows.
 */
export interface Standings {
  /**
   * Calls the listener after each change. Resolves once it is known how everything stands; `everything` counts all of it
   * as changed.
   */
  watch(onChange: () => void, options: { everything: boolean }): Promise<Watch>
  /** Resolves when no pass is under way. */
  stop(): Promise<void>
}

export interface Watch {
  /** What has changed since it was last asked. */
  take(): Pick<Standing, 'kind' | 'id' | 'projectId'>[]
  end(): void
}

interface Known extends Standing {
  /** Number of the pass that saw its last change. */
  changedAt: number
}

/** Of what is gone. */
const GONE = ''
/** Every follower has had it long before. */
const GONE_PASSES_MAX = 1_000

export function createStandings(options: { db: Database; log: Logger; intervalMs?: number }): Standings {
  const { db, log, intervalMs = RELAY_POLL_INTERVAL_MS } = options
  const known = new Map<string, Known>()
  const listeners = new Set<() => void>()
  let passes = 0
  let passing: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  /** A pass that begins from now on; passes follow each other. */
  function pass(): Promise<void> {
    if (next) return next
    const begun = passing.then(async () => {
      next = undefined
      compare(await readForServer(() => readStandings(db, CHANGED_IDS_MAX)))
    })
    next = begun
    passing = begun.catch(() => {})
    return begun
  }

  function compare(found: readonly Standing[]): void {
    passes += 1
    const present = new Set(found.map(({ id }) => id))
    const gone = [...known.values()].filter(({ id }) => !present.has(id))
    let changed = false
    for (const standing of [...found, ...gone.map((each) => ({ ...each, digest: GONE }))]) {
      if (known.get(standing.id)?.digest === standing.digest) continue
      known.set(standing.id, { ...standing, changedAt: passes })
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
