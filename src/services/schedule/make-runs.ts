import { type ErrorCode, RepriseError } from '../../domain/errors.ts'
import { SCHEDULE_LATE_AFTER_SECONDS } from '../../domain/limits.ts'
import {
  admitRuns,
  type AdmittedRuns,
  type Candidate,
  createTimetable,
  jitterOf,
  type MissedRuns,
  planRuns,
  type Timing,
} from '../../domain/schedule.ts'
import { messageOf } from '../../observability/error-message.ts'
import type { HeldSchedule } from '../../store/sql/schedule/claim-schedules.sql.ts'
import type { NextRun } from '../../store/sql/schedule/schedules.sql.ts'
import { newId } from '../../store/new-id.ts'
import type { Queryable } from '../../store/database.ts'
import {
  advanceSchedules,
  readMadeRuns,
  readScheduleStates,
  type ScheduleState,
  writeScheduleRuns,
  type WrittenRun,
} from '../../store/sql/schedule/schedule-runs.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { cancelOthers, startRuns } from './start-runs.ts'

/** Pause before a schedule whose times cannot be computed is tried again: this Node may not know its time zone. */
const FAULT_PAUSE_MS = SCHEDULE_LATE_AFTER_SECONDS * 60 * 1000

/** Computes the due runs of this schedule, by the database's clock at the beginning of the transaction. */
export function dueRuns(schedule: HeldSchedule): DueRuns {
  const { id, plannedAt, now, catchUp, jitter } = schedule
  const nothing = { schedule, runs: [], missed: null, askedBy: null, clientKey: null }
  if (plannedAt === null) return { ...nothing, next: null }
  try {
    const timetable = createTimetable(schedule)
    const delayOf = (time: Date) => jitterOf(id, time, jitter)
    return { schedule, askedBy: null, clientKey: null, ...planRuns({ timetable, plannedAt, now, catchUp, delayOf }) }
  } catch (error) {
    const dueAt = new Date(now.getTime() + FAULT_PAUSE_MS)
    const message = `its times cannot be computed: ${messageOf(error)}`
    return { ...nothing, next: { plannedAt: dueAt, dueAt }, fault: new RepriseError('VALIDATION_FAILED', message) }
  }
}

/** Computes the first planned time after this one; null if there is none. */
export function nextRunAfter(time: Date, schedule: Timing & { id: string; jitter: number }): NextRun | null {
  const plannedAt = createTimetable(schedule).after(time)
  if (plannedAt === null) return null
  const delayMs = Math.round(jitterOf(schedule.id, plannedAt, schedule.jitter) * 1000)
  return { plannedAt, dueAt: new Date(plannedAt.getTime() + delayMs) }
}

/** The due runs of a schedule that the transaction has locked. */
export interface DueRuns {
  schedule: HeldSchedule
  runs: readonly Date[]
  missed: MissedRuns | null
  next: NextRun | null
  /** The name of the person who requested the run; null for planned runs. */
  askedBy: string | null
  /** The idempotency key of the request. */
  clientKey: string | null
  /** Why nothing more can be planned now. */
  fault?: RepriseError
}

export interface MadeRuns {
  /** The rows of all outcomes, including those that only increment a count. */
  runs: WrittenRun[]
  /** Ids of the sessions that were created. */
  started: string[]
  /** Number of chains that were ended for a later run. */
  cancelled: number
}

/**
 * Starts the due and queued runs of these schedules: writes the sessions, their rows, and the next planned time in the
 * caller's transaction, so that a crash leaves all of it or nothing.
 */
export async function makeRuns(
  tx: Queryable,
  context: Pick<ServiceContext, 'secrets' | 'log'>,
  turns: readonly DueRuns[],
): Promise<MadeRuns> {
  const ids = turns.map(({ schedule }) => schedule.id)
  const states = await readScheduleStates(tx, ids)
  const made = await readMade(tx, turns)
  const decided = turns.map((turn) => decide(turn, states.get(turn.schedule.id)!, made))
  const started = await startRuns(
    tx,
    context,
    decided.flatMap(({ turn, admitted }) => (admitted.start ? [turn.schedule] : [])),
  )
  const cancelling = decided.filter(({ admitted }) => admitted.cancelOther)
  const cancelled = await cancelOthers(
    tx,
    context,
    cancelling.map(({ turn }) => turn.schedule),
  )
  const written = decided.map((each) => ({ ...each, runs: rowsOf(each, started.get(each.turn.schedule.id)) }))
  await writeScheduleRuns(
    tx,
    written.flatMap(({ runs }) => runs),
  )
  await advanceSchedules(
    tx,
    written.map(({ turn, admitted, runs }) => advanced(turn, admitted, runs)),
  )
  const created = [...started.values()].filter((outcome) => typeof outcome === 'string')
  return { runs: written.flatMap(({ runs }) => runs), started: created, cancelled }
}

interface Decided {
  turn: DueRuns
  /** Planned times that already have a record. New outcomes that started nothing are recorded beside it. */
  made: ReadonlySet<string>
  state: ScheduleState
  admitted: AdmittedRuns
}

const keyOf = (scheduleId: string, plannedAt: Date) => `${scheduleId} ${plannedAt.getTime()}`

async function readMade(tx: Queryable, turns: readonly DueRuns[]): Promise<Set<string>> {
  const wanted = turns.flatMap(({ schedule, runs, missed, fault }) => {
    const others = [...(missed ? [missed.from] : []), ...(fault ? [faultAt(schedule)] : [])]
    return [...runs, ...others].map((plannedAt) => ({ scheduleId: schedule.id, plannedAt }))
  })
  if (wanted.length === 0) return new Set()
  return new Set((await readMadeRuns(tx, wanted)).map((run) => keyOf(run.scheduleId, run.plannedAt)))
}

function faultAt({ plannedAt, now }: HeldSchedule): Date {
  return plannedAt ?? now
}

function decide(turn: DueRuns, state: ScheduleState, made: ReadonlySet<string>): Decided {
  const { schedule, runs } = turn
  const due = runs.filter((at) => !made.has(keyOf(schedule.id, at))).map((plannedAt) => ({ plannedAt, queuedId: null }))
  const waiting = state.waiting.map(({ id, plannedAt }) => ({ plannedAt: new Date(plannedAt), queuedId: id }))
  return { turn, made, state, admitted: admitRuns({ overlap: schedule.overlap, open: state.open, waiting, due }) }
}

/** Builds the rows of one schedule, by planned time. */
function rowsOf({ turn, made, state, admitted }: Decided, started: string | RepriseError | undefined): WrittenRun[] {
  const { start, wait, skip } = admitted
  const rows = [
    ...(turn.missed ? [beside(made, missedRow(turn, turn.missed))] : []),
    ...(start && started !== undefined ? [startedRow(turn, start, started)] : []),
    ...wait.filter(({ queuedId }) => queuedId === null).map((run) => row(turn, run, { outcome: 'QUEUED' })),
    ...skip.map(({ run, reason }) => row(turn, run, { outcome: 'SKIPPED', reason })),
    ...(turn.fault ? [beside(made, faultRow(turn, turn.fault))] : []),
  ]
  return merged(
    rows.toSorted((a, b) => a.plannedAt.getTime() - b.plannedAt.getTime()),
    state.last,
  )
}

type Outcome = Pick<WrittenRun, 'outcome'> & Partial<Pick<WrittenRun, 'chainId' | 'code' | 'reason'>>

function row(
  { schedule, askedBy, clientKey }: DueRuns,
  { plannedAt, queuedId }: Candidate,
  outcome: Outcome,
): WrittenRun {
  return {
    id: queuedId ?? newId(),
    row: queuedId === null ? 'NEW' : 'WAITED',
    scheduleId: schedule.id,
    plannedAt,
    lastPlannedAt: plannedAt,
    count: 1,
    askedBy: queuedId === null ? askedBy : null,
    clientKey: queuedId === null ? clientKey : null,
    chainId: null,
    code: null,
    reason: null,
    ...outcome,
  }
}

function startedRow(turn: DueRuns, start: Candidate, started: string | RepriseError): WrittenRun {
  if (typeof started === 'string') return row(turn, start, { outcome: 'STARTED', chainId: started })
  return row(turn, start, refusedWith(started))
}

function faultRow(turn: DueRuns, fault: RepriseError): WrittenRun {
  return row(turn, { plannedAt: faultAt(turn.schedule), queuedId: null }, refusedWith(fault))
}

function beside(made: ReadonlySet<string>, run: WrittenRun): WrittenRun {
  if (!made.has(keyOf(run.scheduleId, run.plannedAt))) return run
  return { ...run, plannedAt: new Date(run.plannedAt.getTime() + 1) }
}

function refusedWith({ code, message }: { code: ErrorCode; message: string }): Outcome {
  return { outcome: 'REFUSED', code, reason: message }
}

function missedRow(turn: DueRuns, { from, to, count, more }: MissedRuns): WrittenRun {
  const reason = more ? 'no server could start them in time (at least this many)' : 'no server could start them in time'
  const missed = row(turn, { plannedAt: from, queuedId: null }, { outcome: 'MISSED', reason })
  return { ...missed, lastPlannedAt: to, count }
}

/** Merges consecutive runs that started nothing for the same reason into one row that counts them. */
function merged(rows: readonly WrittenRun[], last: ScheduleState['last']): WrittenRun[] {
  const result: WrittenRun[] = []
  for (const next of rows) {
    const same = result.at(-1)
    if (next.row !== 'NEW' || next.askedBy !== null) result.push(next)
    else if (same && same.row !== 'WAITED' && isSame(next, same)) {
      same.count += next.count
      same.lastPlannedAt = next.lastPlannedAt
    } else if (!same && last && isSame(next, last)) result.push({ ...next, id: last.id, row: 'SAME' })
    else result.push(next)
  }
  return result
}

function isSame(next: WrittenRun, before: NonNullable<ScheduleState['last']>): boolean {
  if (next.outcome === 'STARTED' || next.outcome === 'QUEUED' || before.askedBy !== null) return false
  return next.outcome === before.outcome && next.code === before.code && next.reason === before.reason
}

function advanced({ schedule, next }: DueRuns, { wait }: AdmittedRuns, runs: readonly WrittenRun[]) {
  const refusal = runs.findLast(({ outcome }) => outcome === 'REFUSED')
  const told = runs.findLast(({ outcome }) => outcome === 'REFUSED' || outcome === 'STARTED')
  const statusReason = refusal && `The run of ${refusal.lastPlannedAt.toISOString()} was refused: ${refusal.reason}`
  return { id: schedule.id, next, queued: wait.length, ...(told && { statusReason: statusReason ?? null }) }
}

/** Wakes services after the commit. */
export function wakeForRuns({ wake }: Pick<ServiceContext, 'wake'>, { started, cancelled }: MadeRuns): void {
  if (started.length > 0) wake.wake('schedule-sessions', 'events')
  if (cancelled === 0) return
  // A chain whose session had not started has ended already: the run that waits for it may start.
  wake.wake('terminate-sessions', 'promote-to-terminated', 'decide-retries', 'drive-routes', 'events', 'run-schedules')
}
