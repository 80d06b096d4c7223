import { readKernelUsage } from '../../../src/domain/agent/kernel-report.ts'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { openKernelCgroups } from '../../../src/agent/executors/process/limits/kernel-cgroups.ts'
import { readProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { executorConformance } from './executor-conformance.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'
import { createProcessFixture, type ProcessFixture } from './process-fixture.ts'

describe('conformance', () => {
  executorConformance('process, memory watched, no cgroups', () =>
    createProcessFixture({ memoryLimit: 'watch', cgroupMount: null }),
  )
  executorConformance('process, memory by cgroup where writable', () => createProcessFixture())
})

describe('kernels', () => {
  let fixture: ProcessFixture
  let executor: Executor

  beforeEach(async () => {
    fixture = await createProcessFixture()
    executor = fixture.create({ changed: () => undefined })
    await executor.recover()
  })
  afterEach(async () => {
    for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
    await fixture.dispose()
  })

  function start(command: string[], overrides: Partial<KernelSpec> = {}): KernelSpec {
    const spec = kernelSpec({ command, ...overrides })
    executor.start(spec, 1)
    return spec
  }

  async function output(command: string[], overrides: Partial<KernelSpec> = {}): Promise<string> {
    const { kernelId } = start(command, overrides)
    expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 0 })
    return (await readAll(executor, kernelId, 'STDOUT')).text
  }

  const isGone = (pid: number) => ['Z', undefined].includes(readProcStat(pid)?.state)

  test.each([
    [['no-such-command'], 127, 'command not found: no-such-command is not on the session’s PATH'],
    [['/no/such/command'], 127, 'command not found: there is no /no/such/command on the agent’s machine'],
    [['./train.sh'], 127, 'command not found: there is no ./train.sh in the directory of its own in which it runs'],
    [['/etc/passwd'], 126, '/etc/passwd is no program: it is not executable. chmod +x makes it so'],
    [['/etc'], 126, '/etc is no program: it is a directory'],
    [['exit', '3'], 127, 'command not found: exit is not on the session’s PATH'],
    [['sh', '-c', 'no-such-command'], 127, null],
    [['sh', '-c', 'kill -SEGV $$'], 139, null],
    [['sh', '-c', 'kill -TERM $$'], 143, null],
  ])('%j exits with %i: %s', async (command, exitCode, message) => {
    // A directory in PATH that this user may not look into would make 126 of what is nowhere.
    const { kernelId } = start(command, { environ: [{ name: 'PATH', value: '/usr/bin:/bin' }] })
    expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({
      exitCode,
      error: message === null ? null : { name: 'command-not-found', message, exitCode },
    })
  })

  test.each([[[]], [['echo', 'a\0b']]])('%j cannot be started', async (command) => {
    const { kernelId } = start(command)
    expect((await reaches(executor, kernelId, 'FAILED')).error?.name).toBe('executor-failed')
  })

  test('a program has a verdict on its own failure, and none when it is stopped', async () => {
    const say = `echo '{"reason":"mine"}' >$REPRISE_VERDICT_FILE; echo said`
    const failed = start(['sh', '-c', `${say}; exit 3`])
    expect(await reaches(executor, failed.kernelId, 'EXITED')).toMatchObject({ verdict: { reason: 'mine' } })
    const stopped = start(['sh', '-c', `trap 'exit 3' TERM; ${say}; while :; do sleep 0.05; done`])
    await eventually(async () => (await executor.readLog(stopped.kernelId, 'STDOUT', 0, 100)).text === 'said\n')
    executor.stop(stopped.kernelId, 1, 10_000)
    const ended = await reaches(executor, stopped.kernelId, 'EXITED')
    expect(ended).toMatchObject({ exitCode: 3, stopped: true })
    expect(ended).not.toHaveProperty('verdict')
  })

  test('output, a touched file and a published checkpoint are progress; an end that onHang causes is a hang', async () => {
    const limits = { progressTimeoutMs: 4_000, stopGraceMs: 0 }
    const repeats = (what: string) => ['sh', '-c', `for i in 1 2 3 4 5 6; do ${what}; sleep 1; done`]
    const alive = [
      start(repeats('echo $i'), limits),
      start(repeats('echo $i >>$REPRISE_PROGRESS_FILE'), limits),
      start(['sh', '-c', 'sleep 6'], { ...limits, progressTimeoutMs: null }),
    ]
    const onHang = ['sh', '-c', 'kill -QUIT "$REPRISE_PID"; exec sleep 60']
    const quits = start(['sleep', '1000'], { ...limits, onHang })
    const ended = await reaches(executor, quits.kernelId, 'EXITED')
    expect(ended).toMatchObject({ stopped: false, error: { name: 'no-progress' } })
    for (const { kernelId } of alive) {
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 0, error: null })
    }
  })

  test('arguments and variables arrive as they are', async () => {
    const odd = `it's "$HOME" \`x\` \\ *\n\ttwo  blanks é😀`
    const command = ['sh', '-c', 'printf "%s|" "$@"; printf "%s" "$ODD"', 'sh', odd, '', '-n']
    expect(await output(command, { environ: [{ name: 'ODD', value: odd }] })).toBe(`${odd}||-n|${odd}`)
  })

  test('the environment is the base, the session and the chain directory, and nothing of the agent', async () => {
    process.env['REPRISE_LEAK_TEST'] = 'leak'
    const environ = [
      { name: 'LANG', value: 'C' },
      { name: 'a.b-c', value: 'odd name' },
    ]
    const text = await output(['env', '-0'], { environ })
    delete process.env['REPRISE_LEAK_TEST']
    const names = readableNames(text)
    expect(names.filter((name) => !['_', 'SHLVL', 'OLDPWD'].includes(name))).toEqual(
      [
        'HOME',
        'LANG',
        'PATH',
        'PWD',
        'PYTHONUNBUFFERED',
        'REPRISE_CHAIN_DIR',
        'REPRISE_CHECKPOINT',
        'REPRISE_CHECKPOINT_ATTEMPT',
        'REPRISE_CPUS',
        'REPRISE_DEADLINE',
        'REPRISE_KERNEL_ID',
        'REPRISE_MEMORY_BYTES',
        'REPRISE_OUTPUT_DIR',
        'REPRISE_PROGRESS_FILE',
        'REPRISE_SLOTS',
        'REPRISE_STARTED_AT',
        'REPRISE_VERDICT_FILE',
        'TMPDIR',
        'a.b-c',
      ].toSorted(),
    )
    expect(text).toContain('a.b-c=odd name')
    expect(text).toContain('LANG=C\uFFFD')
  })

  function readableNames(text: string): string[] {
    const entries = text.split('\uFFFD').filter(Boolean)
    return entries.map((entry) => entry.slice(0, entry.indexOf('='))).toSorted()
  }

  test('it works in its own directory, with a place for temporary files', async () => {
    const text = await output(['sh', '-c', 'pwd; echo $HOME; ls -d $TMPDIR; cat'])
    const [cwd, home, tmp] = text.split('\n')
    expect(cwd).toBe(home)
    expect(cwd?.startsWith(join(fixture.agentDir, 'kernels'))).toBe(true)
    expect(tmp?.startsWith(join(fixture.agentDir, 'kernels'))).toBe(true)
  })

  test('attempts of a chain share the chain directory, and forget leaves it', async () => {
    const first = start(['sh', '-c', 'echo saved >$REPRISE_CHAIN_DIR/checkpoint'])
    await reaches(executor, first.kernelId, 'EXITED')
    executor.forget(first.kernelId, 1)
    await eventually(() => !existsSync(join(fixture.agentDir, 'kernels', first.kernelId)))
    const { chainId } = first
    expect(await output(['sh', '-c', 'cat $REPRISE_CHAIN_DIR/checkpoint'], { chainId })).toBe('saved\n')
  })

  test('the shim’s pipe and status file are closed to the command', async () => {
    expect(
      (await output(['sh', '-c', 'ls /proc/$$/fd'])).split('\n').filter((fd) => Number(fd) > 2 && Number(fd) < 10),
    ).toEqual([])
  })

  test('children that outlive the command are killed with it', async () => {
    const pid = Number(await output(['sh', '-c', 'sleep 1000 >/dev/null 2>&1 & echo $!']))
    await eventually(() => isGone(pid))
  })

  test('so are those that left its process group', async () => {
    const script = 'set -m; sleep 1000 >/dev/null 2>&1 & echo $!'
    const pid = Number(await output(['bash', '-c', script]))
    await eventually(() => isGone(pid))
  })

  test('a stop reaches the whole group, and the exit status is the command’s', async () => {
    const script = 'trap "echo bye; exit 9" TERM; sleep 1000 & echo $!; wait'
    const { kernelId } = start(['sh', '-c', script])
    const pid = Number(await eventually(async () => (await executor.readLog(kernelId, 'STDOUT', 0, 100)).text || null))
    executor.stop(kernelId, 1, 10_000)
    expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 9 })
    expect((await readAll(executor, kernelId, 'STDOUT')).text).toBe(`${pid}\nbye\n`)
    await eventually(() => isGone(pid))
  })

  test('bytes that are no UTF-8, and NUL, are replaced', async () => {
    expect(await output(['printf', 'a\\0b\\377c\\303'])).toBe('a\uFFFDb\uFFFDc\uFFFD')
  })

  test('a big output arrives whole, both streams apart', async () => {
    const { kernelId } = start(['sh', '-c', 'seq 300000; seq 5 >&2'])
    await reaches(executor, kernelId, 'EXITED')
    const { text } = await readAll(executor, kernelId, 'STDOUT')
    expect(text).toBe(Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`).join(''))
    expect((await readAll(executor, kernelId, 'STDERR')).text).toBe('1\n2\n3\n4\n5\n')
  })

  test('a growing log is reported while the kernel runs', async () => {
    let changes = 0
    const other = fixture.create({ changed: () => changes++ })
    const spec = kernelSpec({ command: ['sh', '-c', 'sleep 0.3; echo hello; sleep 1000'] })
    other.start(spec, 1)
    await reaches(other, spec.kernelId, 'RUNNING')
    const before = changes
    await eventually(() => changes > before)
    expect(await other.readLog(spec.kernelId, 'STDOUT', 0, 100)).toEqual({ text: 'hello\n', bytes: 6, end: false })
    other.forget(spec.kernelId, 1)
    await eventually(() => other.observe().length === 0)
    await other.close()
  })

  test('an image is an environment, and an interpreter for commands that are no program', async () => {
    expect(await output(['-c', 'print(6 * 7)'], { image: 'python3' })).toBe('42\n')
  })

  test('output of Python is in the log at once, unless the session disables that', async () => {
    expect(await output(['sh', '-c', 'echo $PYTHONUNBUFFERED'])).toBe('1\n')
    const { kernelId } = start(['python3', '-c', 'import time; print("begun"); time.sleep(1000)'])
    await eventually(async () => (await executor.readLog(kernelId, 'STDOUT', 0, 100)).text === 'begun\n')
    const environ = [{ name: 'PYTHONUNBUFFERED', value: '' }]
    expect(await output(['sh', '-c', 'echo "<$PYTHONUNBUFFERED>"'], { environ })).toBe('<>\n')
  })

  test('spec and script are readable to the owner alone', async () => {
    const { kernelId } = start(['sleep', '1000'])
    await reaches(executor, kernelId, 'RUNNING')
    const record = join(fixture.agentDir, 'kernels', kernelId, 'spec.json')
    expect(JSON.parse(readFileSync(record, 'utf8'))).toMatchObject({ assignment: 1, spec: { kernelId } })
    expect(statSync(record).mode & 0o077).toBe(0)
  })

  test('as much as a session may give starts: the largest command with the largest environment', async () => {
    const environ = Array.from({ length: 8 }, (_, n) => ({ name: `V${n}`, value: 'x'.repeat(131_050) }))
    const words = Array.from({ length: 5 }, () => 'x'.repeat(131_071))
    const added = [{ name: 'REPRISE_CLUSTER_HOSTS', value: 'x'.repeat(100_000) }]
    const { kernelId } = start(['sh', '-c', 'echo ${#V7} $#', ...words], { environ: [...environ, ...added] })
    expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 0 })
    expect(await readAll(executor, kernelId, 'STDOUT')).toMatchObject({ text: '131050 4\n' })
  })
})

describe('memory', () => {
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
      expect(error?.message).toContain('48 MiB')
      // A cgroup lets nothing beyond its limit; the watcher sees what was.
      if (mode === 'cgroup') expect(usage!.peakMemoryBytes).toBeLessThanOrEqual(LIMIT)
      expect(usage!.peakMemoryBytes).toBeGreaterThan(mode === 'cgroup' ? LIMIT / 2 : LIMIT)
      // The watcher ends the whole kernel; a cgroup of version 1 the biggest process, and the command decides.
      expect([137, 20]).toContain(exitCode)
      expect(find(executor, modest.kernelId)?.status).toBe('RUNNING')
      await executor.close()
      // The state after a crash before the report to the server.
      const next = fixture.create({ changed: () => undefined })
      await next.recover()
      const found = await reaches(next, greedy.kernelId, 'EXITED', 20_000)
      expect({ ...found, usage: readKernelUsage(found.usage) }).toMatchObject({
        error,
        exitCode,
        oomKilled,
        usage: readKernelUsage(usage),
      })
      expect(find(next, modest.kernelId)?.status).toBe('RUNNING')
      for (const { kernelId, assignment } of next.observe()) next.forget(kernelId, assignment)
      await eventually(() => next.observe().length === 0)
      await next.close()
      await fixture.dispose()
    })
  })

  test.skipIf(probed === null)(
    'a pipeline that loses a process to it has run out of memory, whatever its exit code',
    async () => {
      const fixture = await createProcessFixture({ memoryLimit: 'cgroup' })
      const executor = fixture.create({ changed: () => undefined })
      await executor.recover()
      const command = ['sh', '-c', 'head -c 400000000 /dev/zero | tail | wc -c']
      const spec = kernelSpec({ command, resourceSlots: { mem: String(LIMIT) } })
      executor.start(spec, 1)
      const ended = await reaches(executor, spec.kernelId, 'EXITED', 20_000)
      expect(ended).toMatchObject({ oomKilled: true, error: { name: 'oom-killed' } })
      // Version 2 ends the whole kernel.
      expect(ended.exitCode).toBe(probed!.version === 1 ? 0 : 137)
      executor.forget(spec.kernelId, 1)
      await eventually(() => executor.observe().length === 0)
      await executor.close()
      await fixture.dispose()
    },
  )

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

  test.skipIf(probed === null)(
    'a kernel’s cgroup is removed with it, and kills processes with their own session',
    async () => {
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
    },
  )
})
