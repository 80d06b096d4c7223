import type { Executor, ExecutorHooks } from '../../src/agent/executors/executor.ts'
import { kernelSpec } from '../contract/executor/executor-subject.ts'
import type { BenchGround } from './ground.ts'

/** Longer than any bench takes. */
const FENCE_MS = 3_600_000

/**
 * Kernels of `true` prepared, started, awaited and forgotten by an executor, with no server behind: so many at once, the
 * next as one ends. Kernels/s.
 */
export async function executorAlone(
  ground: BenchGround,
  size: number,
  atOnce: number,
  create: (hooks: ExecutorHooks) => Executor,
): Promise<number> {
  const done = Promise.withResolvers<void>()
  let begunKernels = 0
  let looks = false
  const executor = create({ changed: lookSoon })
  const finished = new Set<string>()

  function begin(): void {
    begunKernels++
    executor.start(kernelSpec({ resourceSlots: { cpu: '1' } }), 1)
  }

  /** Once for all changes of a moment, as the agent reports them. */
  function lookSoon(): void {
    if (!looks) setImmediate(look)
    looks = true
  }

  function look(): void {
    looks = false
    for (const { kernelId, status, exitCode } of executor.observe()) {
      if (status !== 'EXITED' || finished.has(kernelId)) continue
      if (exitCode !== 0) return done.reject(new Error(`a kernel ended with ${exitCode}`))
      finished.add(kernelId)
      executor.forget(kernelId, 1)
      if (begunKernels < size) begin()
    }
    if (finished.size === size) done.resolve()
  }

  await executor.recover()
  executor.renewed?.(FENCE_MS)
  const begun = performance.now()
  const aborted = () => done.reject(ground.signal.reason as Error)
  ground.signal.addEventListener('abort', aborted, { once: true })
  try {
    while (begunKernels < Math.min(size, atOnce)) begin()
    await done.promise
    return size / ((performance.now() - begun) / 1000)
  } finally {
    ground.signal.removeEventListener('abort', aborted)
    await executor.close()
  }
}
