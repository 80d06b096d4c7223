import { readLogTextPlaces, type LogTextPlace } from '../../store/sql/agent/read-log-text.sql.ts'
import type { ServiceContext } from '../service-context.ts'

/** Of one stream, or of both as they arrived. */
export interface LogTextOf {
  kernelId: string
  stream: 'STDOUT' | 'STDERR' | null
}

/** What a log is as a text, at one moment. */
export interface MeasuredLog {
  bytes: number
  /** The last piece, decimal; 0 if there is none. */
  lastId: string
  /** Where some pieces begin, in their order. */
  marks: readonly LogTextPlace[]
}

/** What lies between two marks is summed up to find a byte: some thousand lines. */
const MARK_EVERY_BYTES = 256 * 1024
/** A log has at most some 64 marks. */
const LOGS_REMEMBERED_MAX = 500

interface Remembered extends MeasuredLog {
  /** The first piece that there was: an older log is not the same once its beginning has been removed. */
  firstId: string
  /** Up to `lastId` all is settled as soon as no transaction is under way that was when it was measured. */
  unsettled: { lastId: string; next: string } | null
}

const NOTHING: Remembered = { bytes: 0, lastId: '0', marks: [], firstId: '0', unsettled: null }

/**
 * Measures logs by what has been added to them since they were last measured, whoever asked. Pieces are numbered before
 * they are committed, so that an earlier one may still come: remembered is only what none can come before.
 */
export function createLogTextIndex() {
  const known = new Map<string, Remembered>()

  async function measure({ db }: Pick<ServiceContext, 'db'>, of: LogTextOf): Promise<MeasuredLog> {
    const key = `${of.kernelId} ${of.stream}`
    const before = known.get(key) ?? NOTHING
    const { measured, remembered } = await readOn(db, of, before)
    known.delete(key)
    if (remembered.firstId !== '0') known.set(key, remembered)
    if (known.size > LOGS_REMEMBERED_MAX) known.delete(known.keys().next().value!)
    return measured
  }

  return { measure }
}

export type LogTextIndex = ReturnType<typeof createLogTextIndex>

async function readOn(
  db: ServiceContext['db'],
  of: LogTextOf,
  before: Remembered,
): Promise<{ measured: MeasuredLog; remembered: Remembered }> {
  const { firstId, settled, next, places } = await readLogTextPlaces(db, {
    ...of,
    afterId: before.lastId,
    bytes: before.bytes,
    everyBytes: MARK_EVERY_BYTES,
    wantedId: before.unsettled?.lastId ?? null,
  })
  if (before !== NOTHING && firstId !== before.firstId) return readOn(db, of, NOTHING)
  const upTo = (last: LogTextPlace | undefined): MeasuredLog => ({
    bytes: last?.ends ?? before.bytes,
    lastId: last?.id ?? before.lastId,
    marks: [...before.marks, ...places.filter((place) => isMark(place) && place.ends <= (last?.ends ?? 0))],
  })
  const measured = upTo(places.at(-1))
  const waited = before.unsettled
  const over = waited !== null && BigInt(settled) >= BigInt(waited.next)
  // Where no transaction is under way, nothing can come before what there is.
  const lastSettled =
    settled === next ? places.at(-1) : over ? places.find(({ id }) => id === waited.lastId) : undefined
  const kept = lastSettled ? upTo(lastSettled) : before
  const unsettled = waited && !over ? waited : { lastId: measured.lastId, next }
  return { measured, remembered: { ...kept, firstId, unsettled } }
}

function isMark({ begins, ends }: LogTextPlace): boolean {
  return Math.floor(begins / MARK_EVERY_BYTES) !== Math.floor(ends / MARK_EVERY_BYTES)
}
