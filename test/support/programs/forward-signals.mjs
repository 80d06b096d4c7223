import { spawn } from 'node:child_process'

/**
 * Runs a program as npm does: in its own process group, with its terminal, and each signal that reaches it is sent to
 * the program as well. `forward-signals.mjs <µs> <program> …`: so long after it was received.
 */
const [delay, program, ...args] = process.argv.slice(2)
const child = spawn(program, args, { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    // Timers are too coarse.
    const until = process.hrtime.bigint() + BigInt(delay) * 1000n
    while (process.hrtime.bigint() < until);
    child.kill(signal)
  })
}
child.on('exit', (status, signal) => {
  if (signal !== null) console.log(`ended by ${signal}`)
  process.exit(signal === null ? status : 128)
})
console.log(`group ${process.pid}`)
