import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { busyMachine } from '../../support/busy-machine.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { find, kernelSpec, reaches } from './executor-subject.ts'
import { createProcessFixture, type ProcessFixture } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

/**
 * A stop is one signal, and a kernel on its way through its isolation may lose it. Nothing repeats it: the kernel would
 * end by SIGKILL after its grace, which is long here.
 */

const GRACE_MS = 120_000
/** The shell that begins a command with such an environment takes long from one step to the next. */
const LARGE = Array.from({ length: 8 }, (_, index) => ({ name: `LARGE${index}`, value: "'".repeat(90 * 1024) }))

let fixture: ProcessFixture
let executor: Executor
let busy: Disposable

describe.each(arrangements)('a stop soon after the start, $arrangement', ({ arrangement, fault }) => {
  beforeEach(async () => {
    if (fault !== null) return
    fixture = await createProcessFixture({ arrangement })
    executor = fixture.create({ changed: () => undefined })
    await executor.recover()
    busy = busyMachine()
  })
  afterEach(async () => {
    if (fault !== null) return
    busy[Symbol.dispose]()
    for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
    await fixture.dispose()
  })

  test.skipIf(fault !== null).each([
    ['at any moment', [], 24],
    ['while its first shell is slow', LARGE, 6],
  ])('reaches the command, %s', async (_, environ, count) => {
    const specs = Array.from({ length: count }, () => kernelSpec({ command: ['sleep', '1000'], environ: [...environ] }))
    const stops = specs.map(async ({ kernelId }, index) => {
      executor.start(specs[index]!, 1)
      await eventually(() => find(executor, kernelId)?.status === 'RUNNING')
      // Spread over what follows: the way into the isolation, the fork of the command, and its own start.
      await pause(index * 8)
      executor.stop(kernelId, 1, GRACE_MS)
      return reaches(executor, kernelId, 'EXITED', 60_000)
    })
    const ends = await Promise.all(stops)
    expect(ends.map(({ exitCode }) => exitCode)).toEqual(specs.map(() => 143))
  })
})
