import { readFileSync } from 'node:fs'

/**
 * Imported before an agent: its wall clock is ahead of the machine's, or of what it has been moved to, by the
 * milliseconds in the file STORM_CLOCK.
 */
// oxlint-disable-next-line node/no-process-env -- set by the storm
const file = process.env.STORM_CLOCK
const LOOK_MS = 50
let ahead = 0

function read() {
  ahead = Number(readFileSync(file, 'utf8'))
}

read()
setInterval(read, LOOK_MS).unref()

const Real = Date
const now = () => Real.now() + ahead
globalThis.Date = new Proxy(Real, {
  construct: (target, given, newTarget) => Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
