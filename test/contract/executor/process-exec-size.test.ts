import { describe, expect, test } from 'vitest'
import { ARGUMENT_BYTES_MAX } from '../../../src/domain/limits.ts'
import { eventually } from '../../support/eventually.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'
import { createProcessFixture } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

const COUNT = ['/bin/sh', '-c', 'echo $# ${#FILLER}', 'sh']
const filling = Array.from({ length: 16 }, (_, n) => ({ name: `FULL_${n}`, value: 'x'.repeat(120_000) }))
const filled = (bytes: number) => [...filling, { name: 'FILLER', value: 'y'.repeat(bytes) }]

describe.each(arrangements)('with isolation $arrangement', ({ arrangement, fault }) => {
  test.skipIf(fault !== null)(
    'what is exactly as large as the system takes starts, and one byte more says so',
    async () => {
      const fixture = await createProcessFixture({ arrangement })
      const executor = fixture.create({ changed: () => undefined })
      await executor.recover()
      const start = (command: string[], fillerBytes: number) => {
        const spec = kernelSpec({ command, environ: filled(fillerBytes) })
        executor.start(spec, 1)
        return spec.kernelId
      }
      try {
        const command = [...COUNT, 'z'.repeat(ARGUMENT_BYTES_MAX)]
        const TOO_MUCH = 130_000
        const refused = await reaches(executor, start(command, TOO_MUCH), 'FAILED')
        expect(refused.error?.name).toBe('environment-too-large')
        const [, taken, room] = /take (\d+) bytes.* may take (\d+)$/.exec(refused.error!.message)!
        const fits = TOO_MUCH - (Number(taken) - Number(room))
        const largest = start(command, fits)
        expect(await reaches(executor, largest, 'EXITED')).toMatchObject({ exitCode: 0, error: null })
        expect((await readAll(executor, largest, 'STDOUT')).text).toBe(`1 ${fits}\n`)
        expect((await reaches(executor, start(command, fits + 1), 'FAILED')).error?.name).toBe('environment-too-large')
      } finally {
        for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
        await eventually(() => executor.observe().length === 0)
        await executor.close()
        await fixture.dispose()
      }
    },
  )
})

test('a single string that the system does not take is named, without what is in it', async () => {
  const fixture = await createProcessFixture()
  const executor = fixture.create({ changed: () => undefined })
  await executor.recover()
  const room = ARGUMENT_BYTES_MAX - 'REPRISE_CLUSTER_HOSTS='.length
  const outcomes = ['FAILED', 'EXITED'] as const
  for (const [index, bytes] of [room + 1, room].entries()) {
    const spec = kernelSpec({ environ: [{ name: 'REPRISE_CLUSTER_HOSTS', value: 'x'.repeat(bytes) }] })
    executor.start(spec, 1)
    const { error } = await reaches(executor, spec.kernelId, outcomes[index]!)
    const message = `REPRISE_CLUSTER_HOSTS takes ${ARGUMENT_BYTES_MAX + 1} bytes, and may take ${ARGUMENT_BYTES_MAX}`
    expect(error).toEqual(index === 0 ? { name: 'environment-too-large', message } : null)
    executor.forget(spec.kernelId, 1)
  }
  await eventually(() => executor.observe().length === 0)
  await executor.close()
  await fixture.dispose()
})
