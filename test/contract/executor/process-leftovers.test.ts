import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { readProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import { eventually } from '../../support/eventually.ts'
import { kernelSpec, reaches } from './executor-subject.ts'
import { createProcessFixture, type ProcessFixture } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

const TRACKED = [
  ...arrangements.map((each) => ({ ...each, by: 'as this machine can', cgroupMount: undefined })),
  ...arrangements.map((each) => ({ ...each, by: 'without cgroups', cgroupMount: null })),
  // Of a hybrid machine, the hierarchy of version 2: it bounds nothing here, but it kills.
  { arrangement: 'none' as const, fault: null, by: 'by version 2 of cgroups', cgroupMount: '/sys/fs/cgroup/unified' },
]

/** Seconds to sleep, by which its processes are known in the list of all. */
let mark: string
let fixture: ProcessFixture
let executor: Executor

beforeEach(() => {
  mark = `${randomInt(10_000, 90_000)}.${randomInt(1_000_000)}`
})

function leftAlive(): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    try {
      const isOurs = readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(mark)
      return isOurs && !'ZX'.includes(readProcStat(pid)?.state ?? 'X')
    } catch {
      return false
    }
  })
}

/** Each leaves something behind that does not stop by itself. All say `ready` once it runs. */
const PROGRAMS = {
  'a daemon in a session of its own': 'setsid sleep MARK >/dev/null 2>&1 </dev/null &',
  'a daemon of a daemon': '(setsid sh -c "setsid sleep MARK & sleep MARK" >/dev/null 2>&1 </dev/null &)',
  'one that ignores signals':
    'setsid sh -c "trap \\"\\" TERM HUP INT; sleep MARK; sleep MARK" >/dev/null 2>&1 </dev/null & ',
  'many that start many': 'for i in 1 2 3 4 5; do setsid sh -c "sleep MARK & sleep MARK" >/dev/null 2>&1 & done',
}

const wait = (count: number) =>
  `while [ "$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n" | grep -c "^MARK\\$")" -lt ${count} ]; do sleep 0.02; done`

describe.each(TRACKED)('what a kernel starts, $arrangement, $by', ({ arrangement, fault, cgroupMount }) => {
  beforeEach(async () => {
    if (fault !== null) return
    fixture = await createProcessFixture({ arrangement, ...(cgroupMount !== undefined && { cgroupMount }) })
    executor = fixture.create({ changed: () => undefined })
    await executor.recover()
  })
  afterEach(async () => {
    if (fault !== null) return
    for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
    await fixture.dispose()
    for (const pid of leftAlive()) process.kill(pid, 'SIGKILL')
  })

  test.skipIf(fault !== null).each(Object.entries(PROGRAMS))('%s is gone when its end is told', async (_, program) => {
    const script = `${program}\n${wait(1)}\nexit 3`.replaceAll('MARK', mark)
    const spec = kernelSpec({ command: ['sh', '-c', script] })
    executor.start(spec, 1)
    expect(await reaches(executor, spec.kernelId, 'EXITED')).toMatchObject({ exitCode: 3 })
    expect(leftAlive()).toEqual([])
  })

  test.skipIf(fault !== null)('a daemon is gone with a kernel that has to be killed, too', async () => {
    const script = `trap "" TERM\n${PROGRAMS['a daemon of a daemon']}\n${wait(1)}\necho ready\nwhile :; do sleep 0.05; done`
    const spec = kernelSpec({ command: ['sh', '-c', script.replaceAll('MARK', mark)] })
    executor.start(spec, 1)
    await eventually(async () => (await executor.readLog(spec.kernelId, 'STDOUT', 0, 10)).text === 'ready\n')
    executor.stop(spec.kernelId, 1, 100)
    expect(await reaches(executor, spec.kernelId, 'EXITED')).toMatchObject({ exitCode: 137 })
    expect(leftAlive()).toEqual([])
  })

  test.skipIf(fault !== null)('it is gone before the next assignment of the kernel runs', async () => {
    const script = `${PROGRAMS['a daemon in a session of its own']}\n${wait(1)}\nsleep 1000`.replaceAll('MARK', mark)
    const spec = kernelSpec({ command: ['sh', '-c', script] })
    executor.start(spec, 1)
    await eventually(() => leftAlive().length > 1)
    executor.start({ ...spec, command: ['true'] }, 2)
    await eventually(() => executor.observe().some(({ assignment }) => assignment === 2))
    expect(leftAlive()).toEqual([])
  })
})
