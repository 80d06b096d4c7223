import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openKernelCgroups } from '../../../src/agent/executors/process/limits/kernel-cgroups.ts'
import { eventually } from '../../support/eventually.ts'
import { find, kernelSpec, reaches } from './executor-subject.ts'
import { createProcessFixture } from './process-fixture.ts'

const LIMIT = 48 * 1024 * 1024
const opened = openKernelCgroups('/probe-of-the-test')
const probed = opened?.limitsMemory === true ? opened : null
opened?.close()

describe.each(['watch', 'cgroup'] as const)('memory limit by %s', (mode) => {
  test.skipIf(mode === 'cgroup' && probed === null)('ends one that outgrows it, and no other', async () => {
    const fixture = await createProcessFixture({ memoryLimit: mode })
    const executor = fixture.create({ changed: () => undefined })
    await executor.recover()
    const mem = String(LIMIT)
    const modest = kernelSpec({ command: ['sleep', '1000'], resourceSlots: { mem } })
    const greedy = kernelSpec({
      // The memory is a grandchild's: the limit is of the whole kernel.
      command: ['sh', '-c', '(head -c 400000000 /dev/zero | tail); exit 20'],
      resourceSlots: { mem },
    })
    executor.start(modest, 1)
    executor.start(greedy, 1)
    const { error, exitCode, oomKilled, usage } = await reaches(executor, greedy.kernelId, 'EXITED', 20_000)
    expect({ oomKilled, name: error?.name }).toEqual({ oomKilled: true, name: 'oom-killed' })
    expect(error?.message).toContain(mem)
    // A cgroup lets nothing beyond its limit; the watcher sees what was.
    if (mode === 'cgroup') expect(usage!.peakMemoryBytes).toBeLessThanOrEqual(LIMIT)
    expect(usage!.peakMemoryBytes).toBeGreaterThan(mode === 'cgroup' ? LIMIT / 2 : LIMIT)
    // The watcher ends the whole kernel; a cgroup of version 1 the biggest process, and the command decides.
    expect([137, 20]).toContain(exitCode)
    expect(find(executor, modest.kernelId)?.status).toBe('RUNNING')
    await executor.close()
    // As after a crash before the server was told.
    const next = fixture.create({ changed: () => undefined })
    await next.recover()
    expect(await reaches(next, greedy.kernelId, 'EXITED', 20_000)).toMatchObject({ error, exitCode, oomKilled, usage })
    expect(find(next, modest.kernelId)?.status).toBe('RUNNING')
    for (const { kernelId, assignment } of next.observe()) next.forget(kernelId, assignment)
    await eventually(() => next.observe().length === 0)
    await next.close()
    await fixture.dispose()
  })
})

test('one that outgrows it, and has made it impossible to write that down, ends, and others go on', async () => {
  const fixture = await createProcessFixture({ memoryLimit: 'watch' })
  const executor = fixture.create({ changed: () => undefined })
  await executor.recover()
  const modest = kernelSpec({ command: ['sleep', '1000'] })
  const greedy = kernelSpec({
    command: ['sh', '-c', 'own=$(cd ..; pwd); mv "$own" "$own-moved"; head -c 400000000 /dev/zero | tail'],
    resourceSlots: { mem: String(LIMIT) },
  })
  executor.start(modest, 1)
  executor.start(greedy, 1)
  expect(await reaches(executor, greedy.kernelId, 'EXITED', 20_000)).toMatchObject({ oomKilled: true })
  expect(find(executor, modest.kernelId)?.status).toBe('RUNNING')
  for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
  await eventually(() => executor.observe().length === 0)
  await executor.close()
  await fixture.dispose()
})

test.skipIf(probed === null)('a kernel’s cgroup goes with it, and kills what made a session of its own', async () => {
  const fixture = await createProcessFixture({ memoryLimit: 'cgroup' })
  const executor = fixture.create({ changed: () => undefined })
  await executor.recover()
  const group = join(fixture.agentDir, 'group')
  const command = [
    'sh',
    '-c',
    `sed -n 's/.*memory:\\|^0:://p' /proc/self/cgroup | grep reprise >${group}; setsid sleep 1000 & sleep 0.1`,
  ]
  const spec = kernelSpec({ command, resourceSlots: { mem: String(LIMIT) } })
  executor.start(spec, 1)
  await reaches(executor, spec.kernelId, 'EXITED')
  const path = readFileSync(group, 'utf8').trim()
  expect(path).toContain(spec.kernelId)
  const mount = existsSync('/sys/fs/cgroup/cgroup.controllers') ? '/sys/fs/cgroup' : '/sys/fs/cgroup/memory'
  expect(existsSync(join(mount, path))).toBe(true)
  expect(readFileSync(join(mount, path, 'cgroup.procs'), 'utf8')).toBe('')
  executor.forget(spec.kernelId, 1)
  await eventually(() => !existsSync(join(mount, path)))
  await eventually(() => executor.observe().length === 0)
  await executor.close()
  expect(existsSync(join(mount, path, '..'))).toBe(false)
  await fixture.dispose()
})
