import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { SavedSeed } from '../support/run/saved-seeds.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** The loop with new seeds notices a planted fault, saves the seed and can repeat it. */

const PROGRAM = join(import.meta.dirname, '../support/run/long.ts')
const FILE = 'test/integration/properties/event-order.property.test.ts'
const TEST = 'a reader that goes on from its cursor sees each event once, in cursor order, whoever commits when'

function startLoop(...args: string[]) {
  const { VITEST: _, VITEST_MODE: _mode, VITEST_WORKER_ID: _id, VITEST_POOL_ID: _pool, ...env } = process.env
  const child = spawn(process.execPath, [PROGRAM, ...args, FILE], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const run = { output: '' }
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (run.output += chunk.toString()))
  const ended = once(child, 'close').then(([status]) => status as number | null)
  onTestFinished(() => void child.kill('SIGKILL'))
  return { run, ended, interrupt: () => child.kill('SIGINT') }
}

test('a planted fault is found, saved and repeated', { timeout: 600_000 }, async () => {
  const seedsFile = join(await temporaryDirectory('seeds'), 'seeds.json')
  const loop = startLoop('--minutes', '60', '--seeds-file', seedsFile, '--canary')
  await eventually(() => loop.run.output.includes('saved in'), { withinMs: 300_000, what: 'a seed is saved' })
  loop.interrupt()
  expect([await loop.ended, loop.run.output]).toEqual([1, expect.stringMatching(/\d+ failed, \d+ seeds saved in/)])
  const saved = JSON.parse(readFileSync(seedsFile, 'utf8')) as SavedSeed[]
  expect(saved[0]).toMatchObject({ file: FILE, test: TEST, found: expect.stringContaining('Property failed') })

  const seed = String(saved[0]!.seed)
  const again = startLoop('--seed', seed, '--canary')
  expect([await again.ended, again.run.output]).toEqual([1, expect.stringContaining(`FAILED with seed ${seed}`)])
  const sound = startLoop('--seed', seed)
  expect([await sound.ended, sound.run.output]).toEqual([0, expect.stringContaining('0 failed')])
})
