import { RepriseError } from '../domain/errors.ts'
import { compareCursors, type EventCursor } from '../domain/event-cursor.ts'
import type { EventFilter, OutboxEvent } from '../domain/events.ts'
import { CHANGED_IDS_MAX, SCANNED_EVENTS_MAX, RELAY_BATCH_EVENTS_MAX } from '../domain/limits.ts'
import type { Database } from '../store/database.ts'
import { readHorizon, readMatchingEvents } from '../store/sql/event/read-events.sql.ts'
import { wait } from '../waiting/wait.ts'
import { createWakeSignal } from '../waiting/wake-signal.ts'
import { abortableGenerator } from './abortable-generator.ts'
import type { EventBus, EventSink } from './bus.ts'
import { assertCursorKept } from './kept-cursor.ts'
import type { Standings, Watch } from './standings.ts'

/** What has changed, by id, since the batch before. */
export interface ChangeBatch {
  /** Everything up to here has been sent. */
  cursor: EventCursor
  chainIds: string[]
  sessionIds: string[]
  deploymentIds: string[]
  agentIds: string[]
  resubmissionIds: string[]
  /** More has changed than is named. */
  missed: boolean
}

/** As long as nothing happens at all. */
const IDLE_MS = 60_000

/**
 * The ids of what changes, from a cursor or from now on: a batch as soon as something has, and the next one not before
 * `everyMs` later. Each event is part of one batch, whose cursor lies at or behind it. Agents and resubmissions have no
 * place in the order of events: from a cursor on, the first batch names all of them that have changed lately.
 * A follower that is slow gets larger batches; its memory is bounded by what a batch may name.
 */
export function followChanges(options: {
  db: Database
  bus: EventBus
  /** Undefined where only events are asked for. */
  standings: Standings | undefined
  filter: EventFilter
  after?: EventCursor | undefined
  everyMs: number
  closing: AbortSignal
}): AsyncIterableIterator<readonly ChangeBatch[]> {
  const { db, bus, standings, filter, after, everyMs, closing } = options
  return abortableGenerator(async function* (signal) {
    const over = AbortSignal.any([signal, closing])
    const wakeSignal = createWakeSignal([over])
    const gathered = createGathering(wakeSignal.raise)
    const { position, detach } = bus.attach(filter, gathered)
    let watch: Watch | undefined
    try {
      watch = await standings?.watch(wakeSignal.raise, { everything: after !== undefined })
      let sent = after ? await catchUp(db, { after, filter, gathered }) : position
      if (after) wakeSignal.raise()
      while (!over.aborted && !gathered.closed) {
        await wakeSignal.wait(IDLE_MS)
        for (const standing of watch?.take() ?? []) {
          if (standing.kind === 'AGENT') gathered.add('agentIds', standing.id)
          else if (!filter.projectId || standing.projectId === filter.projectId)
            gathered.add('resubmissionIds', standing.id)
        }
        if (gathered.isEmpty || over.aborted) continue
        if (compareCursors(bus.position, sent) > 0) sent = bus.position
        yield [{ cursor: sent, ...gathered.take() }]
        await wait(everyMs, { signal: over })
      }
    } finally {
      detach()
      watch?.end()
      wakeSignal.stop()
    }
  })
}

/** Gathers what the outbox has behind the cursor, and returns how far that is. */
async function catchUp(
  db: Database,
  { after, filter, gathered }: { after: EventCursor; filter: EventFilter; gathered: Gathering },
): Promise<EventCursor> {
  let position = after
  await assertCursorKept(db, after).catch((error: unknown) => {
    if (!(error instanceof RepriseError) || error.code !== 'CURSOR_EXPIRED') throw error
    gathered.miss()
  })
  for (let more = true; more && !gathered.missed;) {
    const bounds = { limit: RELAY_BATCH_EVENTS_MAX, scannedMax: SCANNED_EVENTS_MAX }
    const read = await readMatchingEvents(db, position, filter, bounds)
    for (const event of read.events) gathered.push(event)
    position = read.through
    more = read.more
  }
  // Whoever reads everything again has read all that is committed by now.
  if (gathered.missed) position = await readHorizon(db)
  // Some of them will come from the bus as well.
  gathered.skipTo(position)
  return position
}

type Ids = Omit<ChangeBatch, 'cursor' | 'missed'>

interface Gathering extends EventSink {
  add(kind: keyof Ids, id: string): void
  miss(): void
  /** What is pushed up to here is known. */
  skipTo(position: EventCursor): void
  take(): Omit<ChangeBatch, 'cursor'>
  readonly isEmpty: boolean
  readonly missed: boolean
  readonly closed: boolean
}

function createGathering(onNews: () => void): Gathering {
  const empty = () => ({
    chainIds: new Set<string>(),
    sessionIds: new Set<string>(),
    deploymentIds: new Set<string>(),
    agentIds: new Set<string>(),
    resubmissionIds: new Set<string>(),
  })
  let ids: Record<keyof Ids, Set<string>> = empty()
  let floor: EventCursor = { xid: 0n, id: 0n }
  let missed = false
  let closed = false

  function add(kind: keyof Ids, id: string): void {
    const set = ids[kind]
    if (set.size < CHANGED_IDS_MAX) set.add(id)
    else if (!set.has(id)) missed = true
  }

  return {
    push(event: OutboxEvent) {
      if (compareCursors(event.cursor, floor) <= 0) return
      if (event.sessionId === null) add('deploymentIds', event.deploymentId)
      else {
        add('sessionIds', event.sessionId)
        add('chainIds', event.chainId)
      }
      onNews()
    },
    add,
    miss: () => void (missed = true),
    skipTo: (position) => void (floor = position),
    take() {
      const { chainIds, sessionIds, deploymentIds, agentIds, resubmissionIds } = ids
      const batch = {
        chainIds: [...chainIds],
        sessionIds: [...sessionIds],
        deploymentIds: [...deploymentIds],
        agentIds: [...agentIds],
        resubmissionIds: [...resubmissionIds],
        missed,
      }
      ids = empty()
      missed = false
      return batch
    },
    get isEmpty() {
      return !missed && Object.values(ids).every(({ size }) => size === 0)
    },
    get missed() {
      return missed
    },
    get closed() {
      return closed
    },
    close() {
      closed = true
      onNews()
    },
  }
}
