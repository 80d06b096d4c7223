import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { chownSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { readProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import { cpuLoad } from '../../support/cpu-load.ts'
import { skipReason } from '../../support/distribution.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { find, kernelSpec, reaches } from './executor-subject.ts'
import { createProcessFixture, type ProcessFixture } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

describe('processes that are left', () => {
  const TRACKED = [
    ...arrangements.map((each) => ({ ...each, by: 'as this machine can', cgroupMount: undefined })),
    ...arrangements.map((each) => ({ ...each, by: 'without cgroups', cgroupMount: null })),
    // On a hybrid machine, the hierarchy of version 2: it sets no bounds here, but can kill.
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

  describe.each(TRACKED)('processes that a kernel starts, $arrangement, $by', ({ arrangement, fault, cgroupMount }) => {
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

    test.skipIf(fault !== null).each(Object.entries(PROGRAMS))(
      '%s is gone when its end is reported',
      async (_, program) => {
        const script = `${program}\n${wait(1)}\nexit 3`.replaceAll('MARK', mark)
        const spec = kernelSpec({ command: ['sh', '-c', script] })
        executor.start(spec, 1)
        expect(await reaches(executor, spec.kernelId, 'EXITED')).toMatchObject({ exitCode: 3 })
        expect(leftAlive()).toEqual([])
      },
    )

    test.skipIf(fault !== null)('a daemon is also gone with a kernel that has to be killed', async () => {
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
})

describe('removal of files', () => {
  const CHECKOUT = join(import.meta.dirname, '../../..')
  const PROGRAM = join(CHECKOUT, 'test/support/programs/tree-removal-program.ts')
  const LEVELS = 6_000
  const GUARD_MS = 600_000

  const OTHERS_READ = (path: string): boolean =>
    path === '/' || ((statSync(path).mode & 0o005) === 0o005 && OTHERS_READ(dirname(path)))
  const AM_ROOT = process.getuid!() === 0
  const unreadable = skipReason('isolation', OTHERS_READ(CHECKOUT) ? null : 'other users cannot read it')
  const onlyRoot = skipReason('isolation', AM_ROOT ? unreadable : 'only root becomes another user')

  const REMOVED = {
    whole: [],
    inPasses: { passes: 60, largest: 1, left: [] },
    whileItChanges: { gone: true, left: [] },
    outside: { names: ['directory', 'directory/inner', 'file'], content: 'kept', mode: 0o500, links: 1 },
  }

  async function removedBy(asUser: string[], uid: number): Promise<unknown> {
    const directory = await temporaryDirectory('trees')
    chownSync(directory, uid, uid)
    const [command, ...args] = [...asUser, process.execPath, PROGRAM, directory, String(LEVELS)]
    return JSON.parse(execFileSync(command, args, { encoding: 'utf8' }))
  }

  const TREES = 'trees of 6,000 locked levels, ones that change meanwhile, and ones that an earlier instance has left'

  test(`${TREES} go, and nothing outside of them`, { timeout: GUARD_MS }, async () => {
    expect(await removedBy(['env'], process.getuid!())).toMatchObject(REMOVED)
  })

  test.skipIf(onlyRoot !== null)(`${TREES} go also without root`, { timeout: GUARD_MS }, async () => {
    const user = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    expect(await removedBy(user, 65_534)).toMatchObject({
      ...REMOVED,
      whileItChanges: { gone: true, swapped: 7, left: [] },
    })
  })

  test.skipIf(!AM_ROOT)('mounts in a tree are left alone, and the rest is removed', { timeout: GUARD_MS }, async () => {
    const directory = await temporaryDirectory('mounted')
    const script = `mkdir -p outside tree/a/mount tree/b; echo kept >outside/file
mount --bind outside tree/a/mount
"$NODE" -e 'import(process.argv[1]).then(({ removeTree }) => removeTree("tree")).catch(({ code }) => console.log(code))' "$MODULE"
find . -name file; find . -name b`
    const env = {
      PATH: process.env['PATH'],
      NODE: process.execPath,
      MODULE: join(CHECKOUT, 'src/agent/remove-tree.ts'),
    }
    const said = execFileSync('unshare', ['--mount', 'sh', '-ec', script], { cwd: directory, env, encoding: 'utf8' })
    const [code, ...found] = said.trim().split('\n')
    expect(code).toBe('EBUSY')
    // The old and the new path of the mount.
    expect(found).toHaveLength(2)
    expect(found.every((path) => path.endsWith('/file'))).toBe(true)
  })
})

/**
 * A stop is one signal, and a kernel on its way through its isolation may lose it. Nothing repeats it: the kernel would
 * end by SIGKILL after its grace, which is long here.
 */
describe('stops', () => {
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
      busy = cpuLoad()
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
      const specs = Array.from({ length: count }, () =>
        kernelSpec({ command: ['sleep', '1000'], environ: [...environ] }),
      )
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
})
