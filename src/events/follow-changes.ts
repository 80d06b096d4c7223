import { RepriseError } from '../domain/errors.ts'
import { compareCursors, type EventCursor, type EventFilter, type OutboxEvent } from '../domain/events.ts'
import { CHANGED_IDS_MAX, RELAY_BATCH_EVENTS_MAX, SCANNED_EVENTS_MAX } from '../domain/limits.ts'
import type { Database } from '../store/database.ts'
import { readHorizon, readMatchingEvents } from '../store/sql/event/read-events.sql.ts'
import { wait } from '../waiting/wait.ts'
import { createWakeSignal } from '../waiting/wake-signal.ts'
import { abortableGenerator } from './abortable-generator.ts'
import type { EventBus, EventSink } from './bus.ts'
import { assertCursorKept } from './past-events.ts'
import type { ChangeDetector, Watch } from './change-detector.ts'

/** Ids of what has changed since the previous batch. */
export interface ChangeBatch {
  /** All changes up to this cursor have been sent. */
  cursor: EventCursor
  chainIds: string[]
  sessionIds: string[]
  deploymentIds: string[]
  /** Groups that have ended. */
  groupIds: string[]
  agentIds: string[]
  resubmissionIds: string[]
  /** True if more has changed than the ids name. */
  missed: boolean
}

/** Wake-ups come from signals; this interval only guards against a lost one. */
const IDLE_MS = 60_000

/**
 * Yields the ids of what changes, from a cursor or from now on. A batch comes as soon as something has changed, and the
 * next one at least `everyMs` later. Each event is part of exactly one batch, and the batch's cursor is at the event or
 * after it. Changes of agents, resubmissions and progress are not events, so they have no cursor: with a cursor, the first batch
 * names all agents, and all resubmissions that run or are recent. A slow follower gets larger batches; the ids in a
 * batch are bounded.
 */
export function followChanges(options: {
  db: Database
  bus: EventBus
  /** Undefined if only events are followed. */
  changeDetector: ChangeDetector | undefined
  filter: EventFilter
  after?: EventCursor | undefined
  everyMs: number
  closing: AbortSignal
}): AsyncIterableIterator<readonly ChangeBatch[]> {
  const { db, bus, changeDetector, filter, after, everyMs, closing } = options
  return abortableGenerator(async function* (signal) {
    const over = AbortSignal.any([signal, closing])
    const wakeSignal = createWakeSignal([over])
    const gathered = createGathering(wakeSignal.raise)
    const { position, detach } = bus.attach(filter, gathered)
    // A bus that lags behind the outbox may still publish what the client has had.
    if (after) gathered.skipTo(after)
    let watch: Watch | undefined
    try {
      watch = await changeDetector?.watch(wakeSignal.raise, { everything: after !== undefined })
      let sent = after ? await catchUp(db, { after, filter, gathered }) : position
      if (after) wakeSignal.raise()
      while (!over.aborted && !gathered.closed) {
        await wakeSignal.wait(IDLE_MS)
        for (const state of watch?.take() ?? []) {
          const { kind, id, projectId, chainId } = state
          if (kind !== 'AGENT' && filter.projectId && projectId !== filter.projectId) continue
          if (filter.chainIds && (chainId === null || !filter.chainIds.has(chainId))) continue
          if (kind === 'PROGRESS') gathered.add('sessionIds', id)
          if (chainId !== null) gathered.add('chainIds', chainId)
          if (kind === 'AGENT') gathered.add('agentIds', id)
          if (kind === 'RESUBMISSION') gathered.add('resubmissionIds', id)
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

/** Gathers the events after the cursor from the outbox, and returns the position up to which it has read. */
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
    if (read.removed) gathered.miss()
    for (const event of read.events) gathered.push(event)
    position = read.through
    more = read.more
  }
  // A client that gets `missed` reloads everything, and so sees all that is committed by now.
  if (gathered.missed) position = await readHorizon(db)
  // The bus may deliver some of these events again.
  gathered.skipTo(position)
  return position
}

type Ids = Omit<ChangeBatch, 'cursor' | 'missed'>

interface Gathering extends EventSink {
  add(kind: keyof Ids, id: string): void
  /** Ignores pushed events up to this position. */
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
    groupIds: new Set<string>(),
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
      if (event.deploymentId !== null) add('deploymentIds', event.deploymentId)
      else if (event.groupId !== null) add('groupIds', event.groupId)
      else if (event.sessionId !== null) {
        add('sessionIds', event.sessionId)
        add('chainIds', event.chainId)
      }
      onNews()
    },
    add,
    miss() {
      missed = true
      onNews()
    },
    skipTo: (position) => void (floor = position),
    take() {
      const { chainIds, sessionIds, deploymentIds, groupIds, agentIds, resubmissionIds } = ids
      const batch = {
        chainIds: [...chainIds],
        sessionIds: [...sessionIds],
        deploymentIds: [...deploymentIds],
        groupIds: [...groupIds],
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
