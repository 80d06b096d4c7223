import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench, Measure } from './bench.ts'

/** Of the tests of this program; they run only if they are asked for by name. */
export const TEST_BENCHES: readonly Bench[] = [
  { name: 'test-hangs', size: 1, limitSeconds: 300, load: async () => hangs },
  { name: 'test-given-up', size: 1, limitSeconds: 2, load: async () => hangs },
  { name: 'test-steady', size: 1, limitSeconds: 300, load: async () => steady },
  { name: 'test-planted', size: 1, limitSeconds: 300, load: async () => planted },
]

/** Starts a process that outlives its parent, and then holds its event loop for ever. */
const hangs: Measure = async function* (ground) {
  spawn('sleep', ['3600'], { detached: true, stdio: 'ignore' }).unref()
  yield { what: 'a first figure', figure: 1, unit: 'figures' }
  ground.progress('hangs')
  // What was reported leaves this process first.
  await sleep(100)
  for (;;);
}

const steady: Measure = async function* () {
  yield { what: 'another figure', figure: 2, unit: 'figures', ceiling: 4 }
}

/** Measures the first ratio of a file, and removes it from there. */
const planted: Measure = async function* () {
  const file = process.env['BENCH_PLANTED']!
  const [ratio, ...next] = (await readFile(file, 'utf8')).split(' ')
  await writeFile(file, next.join(' '))
  yield { what: 'a planted ratio', figure: Number(ratio), unit: 'times', ceiling: 1 }
}
