import { readFileSync } from 'node:fs'

/**
 * Imported before an agent: its wall clock is ahead of the machine's by the milliseconds in the file STORM_CLOCK, which
 * is read again at each SIGUSR2.
 */
// oxlint-disable-next-line node/no-process-env -- set by the storm
const file = process.env.STORM_CLOCK
let ahead = 0

function read() {
  ahead = Number(readFileSync(file, 'utf8'))
}

read()
process.on('SIGUSR2', read)

const Real = Date
const now = () => Real.now() + ahead
globalThis.Date = new Proxy(Real, {
  construct: (target, given, newTarget) => Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
