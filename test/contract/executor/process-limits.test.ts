import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { openKernelCgroups } from '../../../src/agent/executors/process/limits/kernel-cgroups.ts'
import { readProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'
import type { Arrangement } from './isolation-of.ts'
import { createProcessFixture, type ProcessFixture } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

/** Bounds of one kernel, read from the operating system: with real programs, in each isolation. */
describe('limits', () => {
  const MEMORY = 48 * 1024 * 1024
  const FILES = 100
  const MOUNT = '/sys/fs/cgroup'
  const opened = openKernelCgroups('/probe-of-the-limits')
  const version = opened?.version ?? null
  const limitsMemory = opened?.limitsMemory === true
  opened?.close()

  /** In `none`, root is root and may do as it likes; an ordinary user may not leave its group. */
  const CONFINED = arrangements.filter(({ arrangement }) => arrangement !== 'none' || process.getuid!() !== 0)

  let fixture: ProcessFixture
  let executor: Executor
  /** By which its processes are known in the list of all. */
  let mark: string

  function prepare(arrangement: (typeof arrangements)[number]['arrangement'], fault: string | null): void {
    beforeEach(async () => {
      mark = `${randomInt(10_000, 90_000)}.${randomInt(1_000_000)}`
      if (fault !== null) return
      fixture = await createProcessFixture({ arrangement, limits: { openFiles: FILES } })
      executor = fixture.create({ changed: () => undefined })
      await executor.recover()
    })
    afterEach(async () => {
      if (fault !== null) return
      for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
      await eventually(() => executor.observe().length === 0)
      await executor.close()
      await fixture.dispose()
      await rm(`/dev/shm/${mark}`, { force: true })
    })
  }

  /** The status of the process with this command line, read from outside. */
  async function groupOf(commandLine: string, controller: string): Promise<string> {
    const pid = await eventually(() =>
      readdirSync('/proc').find((name) => /^\d+$/.test(name) && read(`/proc/${name}/cmdline`) === commandLine),
    )
    const pattern = version === 2 ? /^0::(.*)$/m : new RegExp(`^\\d+:(?:.*,)?${controller}(?:,.*)?:(.*)$`, 'm')
    return join(MOUNT, version === 2 ? '' : controller, pattern.exec(read(`/proc/${pid}/cgroup`))![1]!)
  }

  function read(path: string): string {
    try {
      return readFileSync(path, 'latin1')
    } catch {
      return ''
    }
  }

  function start(script: string, resourceSlots: Record<string, string> = {}): string {
    const environ = [{ name: 'MARK', value: mark }]
    const spec = kernelSpec({ command: ['sh', '-c', script], environ, resourceSlots })
    executor.start(spec, 1)
    return spec.kernelId
  }

  describe.each(arrangements)('the bounds of a kernel, $arrangement', ({ arrangement, fault }) => {
    prepare(arrangement, fault)

    test.skipIf(fault !== null || version === null)('its share of the processor follows its slot', async () => {
      const kernelId = start('exec sleep "$MARK"', { cpu: '2.5' })
      const group = await groupOf(`sleep\0${mark}\0`, 'cpu')
      expect(group).toContain(kernelId)
      const [file, share] = version === 2 ? ['cpu.weight', 250] : ['cpu.shares', 2560]
      expect(Number(read(join(group, file)))).toBe(share)
    })

    test.skipIf(fault !== null)('open files and core dumps are bounded for good', async () => {
      const script = `ulimit -n; ulimit -Hn; ulimit -c; ulimit -Hc
      ulimit -n ${FILES * 2} 2>/dev/null || echo not more
      i=0; while [ $i -lt ${FILES * 2} ]; do echo >"f$i"; i=$((i+1)); done
      paste f* 2>&1 >/dev/null | grep -m 1 -o "Too many open files"
      (ulimit -c unlimited) 2>/dev/null || echo no core
      sh -c 'kill -SEGV $$'; ls | grep core; exit 0`
      const kernelId = start(script)
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 0 })
      const { text } = await readAll(executor, kernelId, 'STDOUT')
      const expected = [FILES, FILES, 0, 0, 'not more', 'Too many open files', 'no core']
      expect(text.trim().split('\n')).toEqual(expected.map(String))
    })

    test.skipIf(fault !== null || !limitsMemory)('files in /dev/shm count as memory', async () => {
      const mem = String(MEMORY)
      const kernelId = start(`head -c ${3 * MEMORY} /dev/zero >/dev/shm/$MARK; exit 9`, { mem })
      const modest = start(`head -c ${MEMORY / 4} /dev/zero >/dev/shm/$MARK.less && rm /dev/shm/$MARK.less`, { mem })
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({
        oomKilled: true,
        error: { name: 'oom-killed' },
      })
      expect(await reaches(executor, modest, 'EXITED')).toMatchObject({ exitCode: 0, oomKilled: false })
    })
  })

  /**
   * A script for root of its own namespaces: it tries to remove the mounts that hide things, and reports the result.
   */
  const AS_ROOT = `unshare -Urmn sh -c '
  echo entered
  while read -r name rest; do case $name in *:) echo "network $name" ;; esac; done </proc/net/dev
  mkdir own && mount -t tmpfs none own && echo "mounts in memory"
  touch file && chown 1 file 2>/dev/null && echo "chown to another user"
  mknod device c 1 3 2>/dev/null && echo "makes devices"
  kill -0 "$AGENT" 2>/dev/null && echo "signals the agent"
  while read -r device place rest; do umount -l "$place" 2>/dev/null; done </proc/self/mounts
  read -r line <"$SECRET" && echo "$line"
  exit 0' 2>/dev/null || echo refused`

  describe.each(arrangements.filter(({ arrangement }) => arrangement !== 'none'))(
    'in namespaces that it makes, $arrangement',
    ({ arrangement, fault }) => {
      prepare(arrangement, fault)

      test.skipIf(fault !== null)("a kernel has root's rights only over its own things", async () => {
        const secret = join(fixture.agentDir, 'secret')
        writeFileSync(secret, 'reads the secret\n', { mode: 0o600 })
        const environ = [
          { name: 'SECRET', value: secret },
          { name: 'AGENT', value: String(process.pid) },
        ]
        const spec = kernelSpec({ command: ['sh', '-c', AS_ROOT], environ })
        executor.start(spec, 1)
        expect(await reaches(executor, spec.kernelId, 'EXITED')).toMatchObject({ exitCode: 0 })
        const said = (await readAll(executor, spec.kernelId, 'STDOUT')).text.trim().split('\n')
        // If the machine or bubblewrap forbids it, there is nothing more to check.
        if (said[0] !== 'refused') expect(said).toEqual(['entered', 'network lo:', 'mounts in memory'])
      })
    },
  )

  /** Twice the limit, in a process that is nobody's child in the end. */
  const GREEDY = `head -c ${2 * MEMORY} /dev/zero | tail >/dev/null`
  const WAYS_OUT = {
    'a session of its own': `(setsid sh -c '${GREEDY}; echo "$?" >over' &)`,
    'the group above': `for each in $(find ${MOUNT} -name cgroup.procs 2>/dev/null); do echo $$ >"$each"; done 2>/dev/null
    (setsid sh -c '${GREEDY}; echo "$?" >over' &)`,
  }

  describe.each(CONFINED)('the memory limit holds, $arrangement', ({ arrangement, fault }) => {
    prepare(arrangement, fault)

    test.skipIf(fault !== null || !limitsMemory)('in its own file system in memory', async () => {
      const script = `unshare -Urm sh -c 'mkdir m && mount -t tmpfs none m && { head -c ${2 * MEMORY} /dev/zero >m/f; stat -c %s m/f; }' 2>/dev/null || echo 0`
      const kernelId = start(script, { mem: String(MEMORY) })
      const { oomKilled } = await reaches(executor, kernelId, 'EXITED')
      const { text } = await executor.readLog(kernelId, 'STDOUT', 0, 1_000)
      // Without namespaces of its own there is none.
      if (!oomKilled) expect(Number(text)).toBeLessThanOrEqual(MEMORY)
    })

    test.skipIf(fault !== null || !limitsMemory).each(Object.entries(WAYS_OUT))('in %s', async (_, way) => {
      // A cgroup of version 1 ends the greedy one alone, version 2 all of it.
      const script = `exec 2>/dev/null; ${way}\nwhile [ ! -s over ]; do sleep 0.02; done; cat over; exec sleep "$MARK"`
      const kernelId = start(script, { mem: String(MEMORY) })
      if (version === 1) {
        const group = await groupOf(`sleep\0${mark}\0`, 'memory')
        expect(group).toContain(kernelId)
        expect(read(join(group, 'memory.oom_control'))).toMatch(/^oom_kill [1-9]/m)
        expect(Number(read(join(group, 'memory.limit_in_bytes')))).toBe(MEMORY)
        await eventually(async () => (await executor.readLog(kernelId, 'STDOUT', 0, 1000)).text === '137\n')
      } else expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ oomKilled: true })
    })
  })
})

/** Usage of kernels with real programs, with and without cgroups that count it. */
describe('usage', () => {
  const HOLDER = join(import.meta.dirname, 'executor-holder.ts')
  const BYTES = 60_000_000
  /** A shell that holds a text of this length copies it while it grows, and shares it with what it forks. */
  const BYTES_MAX = 20 * BYTES
  /** The usage of the isolation of a kernel, and of the shells around its program. */
  const BESIDE_SECONDS = 20

  const opened = openKernelCgroups('/probe-of-the-usage')
  const meters = opened?.metersMemory === true
  opened?.close()

  /**
   * A grandchild uses CPU time, says how much of it, and holds memory until there is a file `go`. Behind that comes
   * `end`. What it leaves behind goes on when its parent has ended.
   */
  function program(end: string): string[] {
    const burn = 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'
    const hold = `text=$(head -c ${BYTES} /dev/zero | tr '\\0' x); echo ready; while [ ! -e go ]; do sleep 0.05; done`
    return ['sh', '-c', `(${burn}; times; ${hold}; : $text); ${end}`]
  }

  let fixture: ProcessFixture
  let executors: Executor[]
  let holders: ChildProcess[]

  async function prepare(arrangement: Arrangement, cgroups: boolean): Promise<Executor> {
    fixture = await createProcessFixture({ arrangement, ...(!cgroups && { cgroupMount: null }) })
    return another()
  }

  async function another(): Promise<Executor> {
    const executor = fixture.create({ changed: () => undefined })
    executors.push(executor)
    await executor.recover()
    return executor
  }

  beforeEach(() => {
    executors = []
    holders = []
  })
  afterEach(async () => {
    for (const holder of holders) holder.kill('SIGKILL')
    const executor = executors.at(-1)
    for (const { kernelId, assignment } of executor?.observe() ?? []) executor!.forget(kernelId, assignment)
    await eventually(() => executor?.observe().length === 0)
    for (const each of executors) await each.close()
    await fixture.dispose()
  })

  const at = ({ kernelId }: KernelSpec, name: string) => join(fixture.agentDir, 'kernels', kernelId, name)

  /** Until its memory has been seen, where that depends on somebody looking. @returns the CPU seconds that it told */
  async function isSeen(spec: KernelSpec, cgroups: boolean): Promise<number> {
    const said = await eventually(() => {
      const text = existsSync(at(spec, 'stdout')) ? readFileSync(at(spec, 'stdout'), 'utf8') : ''
      return text.includes('ready') && text
    }, SLOWLY)
    if (!cgroups) await eventually(() => noted(spec) >= BYTES, SLOWLY)
    const parts = [...said.matchAll(/(\d+)m([\d.]+)s/g)].map(
      ([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds),
    )
    expect(parts.length).toBe(4)
    return parts.reduce((sum, part) => sum + part, 0)
  }

  const SLOWLY = { withinMs: 120_000 }

  function noted(spec: KernelSpec): number {
    if (!existsSync(at(spec, 'usage'))) return 0
    return (JSON.parse(readFileSync(at(spec, 'usage'), 'utf8')) as { peakMemoryBytes: number }).peakMemoryBytes
  }

  const goOn = (spec: KernelSpec) => writeFileSync(at(spec, 'work/go'), '')

  function expectUsage(
    usage: Awaited<ReturnType<typeof reaches>>['usage'],
    { cpuSeconds, cgroups }: { cpuSeconds: number; cgroups: boolean },
  ): void {
    expect(usage).toMatchObject({ source: cgroups && meters ? 'CGROUP' : 'PROCESSES' })
    expect(usage!.peakMemoryBytes).toBeGreaterThan(BYTES)
    expect(usage!.peakMemoryBytes).toBeLessThan(BYTES_MAX)
    // `times` and the meters are read one after the other, in steps of a hundredth of a second.
    expect(usage!.cpuSeconds).toBeGreaterThan(cpuSeconds - 0.05)
    expect(usage!.cpuSeconds).toBeLessThan(cpuSeconds + BESIDE_SECONDS)
    expect(usage!.wallSeconds).toBeGreaterThan(0)
  }

  const cases = arrangements.flatMap(({ arrangement, fault }) => [
    { arrangement, fault, cgroups: true, where: 'in a cgroup' },
    { arrangement, fault, cgroups: false, where: 'without one' },
  ])

  describe.each(cases)('isolation $arrangement $where', ({ arrangement, fault, cgroups }) => {
    test.skipIf(fault !== null)(
      'the whole tree counts, of a program that ends, and of one that is killed',
      async () => {
        const executor = await prepare(arrangement, cgroups)
        const [ending, spec] = [kernelSpec({ command: program('kill -SEGV $$') }), kernelSpec({ command: program('') })]
        for (const each of [ending, spec]) executor.start(each, 1)
        const told = [await isSeen(ending, cgroups), await isSeen(spec, cgroups)]
        goOn(ending)
        // With the shim, which could have said what it used.
        executor.stop(spec.kernelId, 1, 0)
        const failed = await reaches(executor, ending.kernelId, 'EXITED')
        const ended = await reaches(executor, spec.kernelId, 'EXITED')
        expect([failed.exitCode, ended.exitCode]).toEqual([139, 137])
        expectUsage(failed.usage, { cpuSeconds: told[0]!, cgroups })
        expectUsage(ended.usage, { cpuSeconds: told[1]!, cgroups })
        await executor.close()
        const next = await another()
        expect((await reaches(next, spec.kernelId, 'EXITED')).usage).toEqual(ended.usage)
      },
    )
  })

  test.skipIf(!meters)('processes that nobody has waited for count in a cgroup', async () => {
    const executor = await prepare('none', true)
    const [shell, flag, script] = program('exit 3')
    const detached = `setsid sh -c "$SCRIPT" & while [ ! -e go ]; do sleep 0.05; done; sleep 0.2; exit 4`
    const spec = kernelSpec({ command: [shell!, flag!, detached], environ: [{ name: 'SCRIPT', value: script! }] })
    executor.start(spec, 1)
    const cpuSeconds = await isSeen(spec, true)
    goOn(spec)
    const { exitCode, usage } = await reaches(executor, spec.kernelId, 'EXITED')
    expect(exitCode).toBe(4)
    expectUsage(usage, { cpuSeconds, cgroups: true })
  })

  describe.each([true, false])('with cgroups: %s', (cgroups) => {
    /** Another process, which is killed while its kernel runs. */
    async function abandon(spec: KernelSpec): Promise<number> {
      fixture = await createProcessFixture(cgroups ? {} : { cgroupMount: null })
      const input = { agentDir: fixture.agentDir, specs: [spec], word: 'start', cgroups }
      const argument = Buffer.from(JSON.stringify(input)).toString('base64')
      const holder = spawn(process.execPath, [HOLDER, argument], { stdio: ['ignore', 'ignore', 'inherit'] })
      holders.push(holder)
      const cpuSeconds = await isSeen(spec, cgroups)
      const gone = new Promise((resolve) => holder.once('exit', resolve))
      holder.kill('SIGKILL')
      await gone
      return cpuSeconds
    }

    test('a kernel that ended while there was no agent has usage', async () => {
      const spec = kernelSpec({ command: program('exit 3') })
      const cpuSeconds = await abandon(spec)
      goOn(spec)
      const pid = Number(/began (\d+)/.exec(readFileSync(at(spec, 'status'), 'utf8'))?.[1])
      await eventually(() => readProcStat(pid) === null)
      const { exitCode, usage } = await reaches(await another(), spec.kernelId, 'EXITED')
      expect(exitCode).toBe(3)
      expectUsage(usage, { cpuSeconds, cgroups })
    })

    test('a kernel that the next agent stops has the usage under both', async () => {
      const spec = kernelSpec({ command: program('exit 3') })
      const cpuSeconds = await abandon(spec)
      const executor = await another()
      executor.stop(spec.kernelId, 3, 0)
      const { exitCode, usage } = await reaches(executor, spec.kernelId, 'EXITED')
      expect(exitCode).toBe(137)
      expectUsage(usage, { cpuSeconds, cgroups })
    })
  })

  test('a kernel that never ran has no usage', async () => {
    const executor = await prepare('none', true)
    const missing = kernelSpec({ image: 'no-such-image' })
    const stopped = kernelSpec()
    executor.start(missing, 1)
    executor.prepare(stopped, 1)
    executor.stop(stopped.kernelId, 1, 0)
    expect((await reaches(executor, missing.kernelId, 'FAILED')).usage).toBeUndefined()
    expect((await reaches(executor, stopped.kernelId, 'EXITED')).usage).toBeUndefined()
  })

  test('an untrue word in the directory of a kernel is bounded', async () => {
    const executor = await prepare('none', false)
    const spec = kernelSpec({ command: ['sleep', '1000'] })
    executor.start(spec, 1)
    await reaches(executor, spec.kernelId, 'RUNNING')
    await executor.close()
    writeFileSync(at(spec, 'usage'), '{"peakMemoryBytes":"1","cpuSeconds":-1,"wallSeconds":1e999}')
    writeFileSync(at(spec, 'status'), 'used 1e9|-5|NaN|nothing\n', { flag: 'a' })
    const next = await another()
    next.stop(spec.kernelId, 1, 0)
    const { usage } = await reaches(next, spec.kernelId, 'EXITED')
    expect(usage!.wallSeconds).toBeLessThan(100_000)
    expect(Object.values(usage!).every((value) => typeof value !== 'number' || value >= 0)).toBe(true)
  })
})
