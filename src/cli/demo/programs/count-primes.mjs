// Work that the demo submits: counts the primes below a bound in steps, and keeps its place in REPRISE_CHAIN_DIR, so that an
// attempt goes on where the one before it ended. Arguments: steps, then `attempt:step:how` for each attempt that is to fail,
// where how is `exit` or `memory`.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const STEP_NUMBERS = 100_000
const [steps, ...failures] = process.argv.slice(2)
const attempt = Number(process.env.REPRISE_ATTEMPT)
const file = join(process.env.REPRISE_CHAIN_DIR, 'checkpoint.json')
const checkpoint = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { step: 0, primes: 0 }
console.log(`attempt ${attempt} goes on from step ${checkpoint.step} with ${checkpoint.primes} primes`)

while (checkpoint.step < Number(steps)) {
  const failure = failures
    .map((text) => text.split(':'))
    .find(([a, s]) => Number(a) === attempt && Number(s) === checkpoint.step)
  if (failure?.[2] === 'exit') {
    console.error(`attempt ${attempt} fails at step ${checkpoint.step}`)
    process.exit(3)
  }
  if (failure?.[2] === 'memory') await eatMemory()
  checkpoint.primes += countPrimes(checkpoint.step * STEP_NUMBERS, (checkpoint.step + 1) * STEP_NUMBERS)
  checkpoint.step += 1
  writeFileSync(`${file}.new`, JSON.stringify(checkpoint))
  renameSync(`${file}.new`, file)
  await sleep(100)
}
const result = `${checkpoint.primes} primes below ${checkpoint.step * STEP_NUMBERS}`
console.log(result)
// The result comes back to the person who ran it.
writeFileSync(join(process.env.REPRISE_OUTPUT_DIR, 'primes.txt'), `${result}\n`)

function countPrimes(from, to) {
  const composite = new Uint8Array(to - from)
  for (let factor = 2; factor * factor < to; factor++) {
    for (let n = Math.max(factor * factor, Math.ceil(from / factor) * factor); n < to; n += factor)
      composite[n - from] = 1
  }
  let primes = 0
  for (let n = Math.max(2, from); n < to; n++) primes += 1 - composite[n - from]
  return primes
}

/** Allocates memory until it is killed. */
async function eatMemory() {
  const eaten = []
  for (;;) {
    eaten.push(Buffer.alloc(16 * 1024 * 1024, 1))
    await sleep(20)
  }
}
