import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'

/**
 * `clock-program.ts <file>`: a clock that can be moved. Each line on standard input is how far it is to be ahead of the
 * machine's, in milliseconds; it is written to the file, and to standard output when the clock shows it.
 *
 * The moved uptime is this process's name: `/proc/<pid>/comm` has the form of `/proc/uptime`, and the operating system
 * gives each reader a whole one, however slowly it reads. A file that is written to again and again would be read half
 * old, half new by a shell, which reads byte by byte.
 */

const TICK_MS = 10
const file = process.argv[2]!
let ahead = 0

function tick(): void {
  const uptime = Number.parseFloat(readFileSync('/proc/uptime', 'latin1'))
  writeFileSync('/proc/self/comm', `${(uptime + ahead / 1000).toFixed(2)} 0`)
}

try {
  setPriority(-20)
} catch {
  // Then it ticks less evenly on a busy machine.
}
setInterval(tick, TICK_MS)
tick()
createInterface({ input: process.stdin })
  .on('line', (line) => {
    ahead = Number(line)
    tick()
    appendFileSync(file, `${line}\n`)
    process.stdout.write(`${line}\n`)
  })
  .on('close', () => process.exit(0))
