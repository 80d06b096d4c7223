import { serverNow } from './clock.ts'
import { createStore } from './store.ts'

/** Shown data may be outdated since this time; `why`: the reason, or null if the server does not answer. */
export interface Stale {
  /** Milliseconds since 1970, by the server's clock. */
  since: number
  why: string | null
}

interface Polls {
  /** The number of queries that the page polls. */
  count: number
  /** The oldest data that is outdated. */
  stale: Stale | null
}

/** Whether what the page polls is up to date. */
export const polls = createStore<Polls>({ count: 0, stale: null })

/** Data is outdated when the answer to a read takes longer than this. */
export const STALE_AFTER_MS = 5_000
/** Data is outdated after this number of reads without an answer that could be used. */
const STALE_AFTER_READS = 2

interface Followed {
  stale: Stale | null
}

const followed = new Set<Followed>()

function publish(): void {
  const stale = [...followed].flatMap((each) => each.stale ?? [])
  const [oldest = null] = stale.toSorted((one, other) => one.since - other.since)
  polls.set({ count: followed.size, stale: oldest })
}

export interface PollHealth {
  /** A read begins. */
  begin: () => void
  succeed: () => void
  fail: (why: string) => void
  /** The page no longer polls. */
  end: () => void
}

/** Follows the reads of one polled query. */
export function followPoll(): PollHealth {
  const own: Followed = { stale: null }
  let readAt = serverNow()
  let missed = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const set = (stale: Stale | null) => {
    own.stale = stale
    publish()
  }
  followed.add(own)
  publish()
  return {
    begin() {
      clearTimeout(timer)
      timer = setTimeout(() => set({ since: readAt, why: own.stale?.why ?? null }), STALE_AFTER_MS)
    },
    succeed() {
      clearTimeout(timer)
      missed = 0
      readAt = serverNow()
      if (own.stale) set(null)
    },
    fail(why) {
      clearTimeout(timer)
      missed++
      if (missed >= STALE_AFTER_READS || own.stale) set({ since: readAt, why })
    },
    end() {
      clearTimeout(timer)
      followed.delete(own)
      publish()
    },
  }
}
