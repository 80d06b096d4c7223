import { expect, test } from 'vitest'
import { createNoopExecutor } from '../../../src/agent/executors/noop-executor.ts'
import { executorConformance } from './executor-conformance.ts'
import { kernelSpec, reaches } from './executor-subject.ts'

executorConformance('noop', async () => ({
  commands: {
    succeed: ['noop'],
    exit: (code) => ['noop', 'exit', String(code)],
    hang: ['noop', 'hang'],
    stubborn: ['noop', 'stubborn'],
    family: null,
    print: (text) => ['noop', 'print', text],
    outOfMemory: { command: ['noop', 'oom'], mem: '1' },
    vanish: ['noop', 'vanish'],
    shell: null,
  },
  missingImage: 'missing',
  create: createNoopExecutor,
  dispose: async () => undefined,
}))

test.each([
  ['prepare-fail', 'executor-failed'],
  ['start-fail', 'executor-failed'],
])('noop %s', async (word, name) => {
  const executor = createNoopExecutor({ changed: () => undefined })
  const spec = kernelSpec({ command: ['noop', word] })
  executor.start(spec, 1)
  expect((await reaches(executor, spec.kernelId, 'FAILED')).error?.name).toBe(name)
})

test('noop succeed-at fails before that attempt', async () => {
  const executor = createNoopExecutor({ changed: () => undefined })
  const command = ['noop', 'succeed-at', '3']
  for (const [attempt, exitCode] of [
    [1, 1],
    [2, 1],
    [3, 0],
  ] as const) {
    const spec = kernelSpec({ command, attempt })
    executor.start(spec, 1)
    expect(await reaches(executor, spec.kernelId, 'EXITED')).toMatchObject({ exitCode })
  }
})

test('noop slow-start pulls for a while, and starts when it is through', async () => {
  const executor = createNoopExecutor({ changed: () => undefined })
  const spec = kernelSpec({ command: ['noop', 'slow-start', '30', '4'] })
  executor.start(spec, 1)
  await reaches(executor, spec.kernelId, 'PULLING')
  expect(await reaches(executor, spec.kernelId, 'EXITED')).toMatchObject({ exitCode: 4 })
  const stopped = kernelSpec({ command: ['noop', 'slow-start', '30'] })
  executor.prepare(stopped, 1)
  executor.stop(stopped.kernelId, 1, 0)
  expect(await reaches(executor, stopped.kernelId, 'EXITED')).toMatchObject({ startedAt: null })
})

test('noop reports the changes of one turn at once', async () => {
  let changes = 0
  const executor = createNoopExecutor({ changed: () => changes++ })
  for (let n = 0; n < 1000; n++) executor.start(kernelSpec({ command: ['noop'] }), 1)
  await new Promise((resolve) => setImmediate(resolve))
  expect(changes).toBe(1)
  expect(executor.observe().filter(({ status }) => status === 'EXITED')).toHaveLength(1000)
})
