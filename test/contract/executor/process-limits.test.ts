import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { openKernelCgroups } from '../../../src/agent/executors/process/limits/kernel-cgroups.ts'
import { eventually } from '../../support/eventually.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'
import { createProcessFixture, type ProcessFixture } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

/** What bounds one kernel, seen where the operating system keeps it: with real programs, in each isolation. */

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

/** What the operating system says of the process that runs this command line, seen from outside. */
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

  test.skipIf(fault !== null || !limitsMemory)('what it stores in /dev/shm is memory', async () => {
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

/** As root of its own namespaces: what it could take away of what hides things from it, and what it says of the rest. */
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

    test.skipIf(fault !== null)('a kernel is root of nothing but what is its own', async () => {
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
      // Where the machine or bubblewrap forbids it, there is nothing more to see.
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

  test.skipIf(fault !== null || !limitsMemory)('in a file system in memory of its own', async () => {
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
