import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import process from 'node:process'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { promisify } from 'node:util'

/**
 * Imported before a program of ours (`node --import`): its clocks are ahead of the machine's by what the file
 * MOVED_CLOCK says, and its timers go by them. The file has a line `<milliseconds ahead>` for each move, and its last
 * whole line counts. Clocks only go forward.
 *
 * A move takes no time, and what programs do takes as long as ever. So a timer never fires earlier than FLOOR_MS after it
 * was set, unless it was set for less: an answer that is under way can still come. What is set for between ten seconds
 * and a minute, or by `AbortSignal.timeout`, is usually a limit of waiting for another program (a connection, a
 * statement, an answer), and gives that PATIENCE_MS. Timers of Node itself (sockets, HTTP) go by the machine's clock.
 *
 * `/proc/uptime` is replaced for the whole process tree, see `start-moved.ts`.
 */

const LOOK_MS = 20
const FLOOR_MS = 300
const PATIENCE_MS = 12_000
const isPatient = (ms: number) => ms >= 10_000 && ms <= 60_000
/** Timers that were cleared are forgotten at the next move, or when there are so many. */
const KNOWN_MAX = 4_096

interface Timer {
  dueAt: number
  /** By the machine's clock: not before. */
  floorAt: number
}

// oxlint-disable-next-line node/no-process-env -- set by the storm
const file = fs.openSync(process.env['MOVED_CLOCK']!, 'r')
const real = {
  Date,
  now: performance.now.bind(performance),
  hrtime: process.hrtime,
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
}
let ahead = 0
let readBytes = 0

/** Those that wait. */
const known = new Map<NodeJS.Timeout, Timer>()

const now = () => real.now() + ahead

function look(): void {
  const { size } = fs.fstatSync(file)
  if (size === readBytes) return
  const added = Buffer.alloc(size - readBytes)
  fs.readSync(file, added, 0, added.length, readBytes)
  const whole = added.lastIndexOf(10) + 1
  if (whole === 0) return
  readBytes += whole
  move(Number(added.subarray(0, whole).toString('latin1').trimEnd().split('\n').at(-1)))
}

function move(to: number): void {
  if (!(to > ahead)) return
  ahead = to
  forget()
  const [up, machine] = [now(), real.now()]
  for (const [timeout, timer] of [...known].toSorted(([, a], [, b]) => a.dueAt - b.dueAt)) {
    shorten(timeout, Math.max(timer.dueAt - up, timer.floorAt - machine, 0))
  }
}

/** Keeps whether the event loop waits for it. Those of equal lengths fire in the order in which they are started. */
function shorten(timeout: NodeJS.Timeout, ms: number): void {
  const own = timeout as unknown as { _idleTimeout: number; refresh(): void }
  const before = own._idleTimeout
  own._idleTimeout = Math.max(1, Math.ceil(ms))
  Object.getPrototypeOf(timeout).refresh.call(timeout)
  // A later `refresh()` starts the whole time again.
  if (!isRepeated(timeout)) wholeTimes.set(timeout, wholeTimes.get(timeout) ?? before)
}

const wholeTimes = new WeakMap<NodeJS.Timeout, number>()

const isRepeated = (timeout: NodeJS.Timeout) => (timeout as unknown as { _repeat: unknown })._repeat !== null

function forget(): void {
  for (const timeout of known.keys()) {
    if ((timeout as unknown as { _destroyed: boolean })._destroyed) known.delete(timeout)
  }
}

function note(timeout: NodeJS.Timeout, ms: number, floorMs: number): void {
  known.set(timeout, { dueAt: now() + ms, floorAt: real.now() + Math.min(ms, floorMs) })
  if (known.size > KNOWN_MAX) forget()
}

type Callback = (...args: unknown[]) => void

function started(callback: Callback, ms: number | undefined, args: unknown[], repeat: boolean, patient = false) {
  const length = Number(ms) >= 1 ? Number(ms) : 1
  const floorMs = patient || (!repeat && isPatient(length)) ? PATIENCE_MS : FLOOR_MS
  const fire = () => {
    if (repeat) note(timeout, length, floorMs)
    else known.delete(timeout)
    callback(...args)
  }
  const timeout = (repeat ? real.setInterval : real.setTimeout)(fire, length)
  note(timeout, length, floorMs)
  timeout.refresh = () => {
    const whole = wholeTimes.get(timeout)
    if (whole !== undefined) Object.assign(timeout, { _idleTimeout: whole })
    note(timeout, length, floorMs)
    return Object.getPrototypeOf(timeout).refresh.call(timeout)
  }
  return timeout
}

const setTimeoutMoved = (callback: Callback, ms?: number, ...args: unknown[]) => started(callback, ms, args, false)
const setIntervalMoved = (callback: Callback, ms?: number, ...args: unknown[]) => started(callback, ms, args, true)

interface Waiting {
  signal?: AbortSignal
  ref?: boolean
}

async function sleep(ms?: number, value?: unknown, { signal, ref = true }: Waiting = {}): Promise<unknown> {
  const abortError = () => Object.assign(new Error('The operation was aborted', { cause: signal!.reason }), ABORTED)
  if (signal?.aborted) throw abortError()
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const timeout = setTimeoutMoved(() => resolve(value), ms)
  if (!ref) timeout.unref()
  const aborted = () => {
    clearTimeout(timeout)
    reject(abortError())
  }
  signal?.addEventListener('abort', aborted, { once: true })
  try {
    return await promise
  } finally {
    signal?.removeEventListener('abort', aborted)
  }
}

const ABORTED = { name: 'AbortError', code: 'ABORT_ERR' }

function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController()
  const reason = () => new DOMException('The operation was aborted due to timeout', 'TimeoutError')
  started(() => controller.abort(reason()), ms, [], false, true).unref()
  return controller.signal
}

Object.defineProperty(setTimeoutMoved, promisify.custom, { value: sleep })
const moved = { setTimeout: setTimeoutMoved, setInterval: setIntervalMoved }
Object.assign(globalThis, moved)
Object.assign(timers, moved)
Object.assign(timersPromises, { setTimeout: sleep })
Object.assign(timersPromises.scheduler, { wait: (ms: number, options?: Waiting) => sleep(ms, undefined, options) })
Object.assign(AbortSignal, { timeout: timeoutSignal })
Object.defineProperty(performance, 'now', { value: now, configurable: true, writable: true })

const wall = () => Math.round(real.Date.now() + ahead)
globalThis.Date = new Proxy(real.Date, {
  apply: () => new real.Date(wall()).toString(),
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [wall()] : given, newTarget) as object,
  get: (target, name) => (name === 'now' ? wall : (Reflect.get(target, name) as unknown)),
})

const bigint = () => real.hrtime.bigint() + BigInt(Math.round(ahead * 1e6))
const hrtime = (before?: [number, number]): [number, number] => {
  const at = bigint() - (before === undefined ? 0n : BigInt(before[0]) * 1_000_000_000n + BigInt(before[1]))
  return [Number(at / 1_000_000_000n), Number(at % 1_000_000_000n)]
}
Object.assign(process, { hrtime: Object.assign(hrtime, { bigint }) })
syncBuiltinESMExports()

look()
real.setInterval(look, LOOK_MS).unref()
