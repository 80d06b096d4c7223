import { execFileSync, spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Executor, FENCED } from '../../../src/agent/executors/executor.ts'
import { readProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import {
  ARGUMENT_BYTES_MAX,
  LOG_FILE_BYTES_MAX,
  LOG_FILE_CHECK_MS,
  LOG_FILE_CUT_BYTES,
  LOG_HEAD_BYTES_PER_STREAM_MAX,
} from '../../../src/domain/limits.ts'
import { cpuLoad } from '../../support/cpu-load.ts'
import { skipReason } from '../../support/distribution.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'
import { createProcessFixture, type ProcessFixture } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

describe('files that programs change', () => {
  /** With isolation `none`, kernels can write to the agent's own files: nothing that they leave there may harm it. */
  let fixture: ProcessFixture
  let executor: Executor

  beforeEach(async () => {
    fixture = await createProcessFixture()
    await open()
  })
  afterEach(async () => {
    for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
    await eventually(() => executor.observe().length === 0)
    await executor.close()
    await fixture.dispose()
  })

  async function open(): Promise<void> {
    executor = fixture.create({ changed: () => undefined })
    await executor.recover()
  }

  /** Runs the attack on the kernel's own control files, then says `ready` and goes on. */
  async function attack(script: string) {
    const command = ['sh', '-c', `cd ..; ${script}; echo $$ >work/pid; touch work/ready; exec sleep 1000`]
    const spec = kernelSpec({ command })
    executor.start(spec, 1)
    const path = join(fixture.agentDir, 'kernels', spec.kernelId)
    await eventually(() => lstatSync(join(path, 'work', 'ready'), { throwIfNoEntry: false }))
    return { ...spec, path }
  }

  describe.each([
    ['pipes', 'for f in stop oom stop.new; do mkfifo $f; done'],
    ['links to nowhere that can be written', 'for f in stop oom stop.new; do ln -s /proc/version $f; done'],
    ['directories', 'mkdir -p stop/x oom/x stop.new/x'],
    ['text that means nothing', 'for f in stop oom; do echo null >$f; done'],
  ])('%s in place of the marks', (_, script) => {
    test('a stop takes effect, and its reason is reported', async () => {
      const { kernelId, path } = await attack(script)
      executor.stop(kernelId, 1, 10_000, FENCED)
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ error: FENCED })
      expect(JSON.parse(readFileSync(join(path, 'stop'), 'utf8'))).toMatchObject({ error: FENCED })
    })

    test('a restarted agent takes the kernel over', async () => {
      const { kernelId } = await attack(script)
      await executor.close()
      await open()
      expect(find(executor, kernelId)?.status).toBe('RUNNING')
      executor.stop(kernelId, 1, 0)
      expect(await reaches(executor, kernelId, 'EXITED')).toMatchObject({ exitCode: 137 })
    })
  })

  /** A program moves its own directory away, and leaves something else: that is in no other's way. */
  describe.each([
    ['nothing', ''],
    ['a file', '>"$own"'],
    ['a pipe', 'mkfifo "$own"'],
    ['a link to itself', 'ln -s "$own" "$own"'],
    ['a link to another place', 'ln -s /proc/self "$own"'],
    ['an empty directory', 'mkdir "$own"'],
    ['directories in place of its files', 'mkdir -p "$own"/{status,stdout,stderr,stop,oom,usage,spec.json,work}/x'],
    [
      'pipes in place of its files',
      'mkdir "$own"; for f in status stdout stderr stop oom usage spec.json work; do mkfifo "$own/$f"; done',
    ],
  ])('%s in place of its directory', (_, replace) => {
    test.each([
      ['an end of its own', 'exit 3', () => {}],
      ['a stop', 'exec sleep 1000', (id: string) => executor.stop(id, 1, 10_000)],
      [
        'a stop that it does not mind',
        'trap "" TERM; while :; do sleep 0.05; done',
        (id: string) => executor.stop(id, 1, 100),
      ],
      ['too much memory', 'head -c 400000000 /dev/zero | tail', () => {}],
      ['the end of what runs it', 'kill -KILL 0', () => {}],
    ])('%s ends it, and the agent continues', async (_name, last, act) => {
      const ready = join(fixture.agentDir, 'ready')
      const script = `own=$(cd ..; pwd); mv "$own" "$own-moved"; ${replace}\ntouch ${ready}; ${last}`
      const spec = kernelSpec({ command: ['bash', '-c', script], resourceSlots: { mem: String(48 * 1024 * 1024) } })
      executor.start(spec, 1)
      await eventually(() => lstatSync(ready, { throwIfNoEntry: false }))
      act(spec.kernelId)
      await reaches(executor, spec.kernelId, 'EXITED')
      for (const stream of ['STDOUT', 'STDERR'] as const) await executor.readLog(spec.kernelId, stream, 0, 100)
      const other = kernelSpec({ command: ['sh', '-c', 'exit 4'] })
      executor.start(other, 1)
      expect(await reaches(executor, other.kernelId, 'EXITED')).toMatchObject({ exitCode: 4 })
      executor.forget(spec.kernelId, 1)
      await eventually(() => find(executor, spec.kernelId) === undefined)
      await executor.close()
      await open()
      expect(executor.observe().map(({ kernelId }) => kernelId)).toEqual([other.kernelId])
      rmSync(join(fixture.agentDir, 'kernels', `${spec.kernelId}-moved`), { recursive: true, force: true })
    })
  })

  test('links in place of the output are not followed: another’s file is never sent as log', async () => {
    const secret = join(fixture.agentDir, 'secret')
    writeFileSync(secret, 'the secret\n')
    const { kernelId } = await attack(`rm stdout stderr; ln -s ${secret} stdout; mkfifo stderr`)
    executor.stop(kernelId, 1, 10_000)
    await reaches(executor, kernelId, 'EXITED')
    for (const stream of ['STDOUT', 'STDERR'] as const)
      expect(await executor.readLog(kernelId, stream, 0, 100)).toEqual({ text: '', bytes: 0, end: true })
  })

  test('damage to the record and the status keeps no agent from starting', async () => {
    const attacks = ['mkfifo x; mv x spec.json', 'rm spec.json; echo "{}" >spec.json', 'rm status; mkfifo status']
    const attacked = await Promise.all(attacks.map(attack))
    const other = kernelSpec({ command: ['sleep', '1000'] })
    executor.start(other, 1)
    await reaches(executor, other.kernelId, 'RUNNING')
    const pids = attacked.map(({ path }) => path).map((path) => readFileSync(join(path, 'work', 'pid'), 'utf8').trim())
    await executor.close()
    await open()
    expect(find(executor, other.kernelId)?.status).toBe('RUNNING')
    for (const pid of pids) if (readProcStat(Number(pid)) !== null) process.kill(Number(pid), 'SIGKILL')
    for (const { path } of attacked) rmSync(path, { recursive: true, force: true })
  })
})

describe('large commands', () => {
  const COUNT = ['/bin/sh', '-c', 'echo $# ${#FILLER}', 'sh']
  const filling = Array.from({ length: 16 }, (_, n) => ({ name: `FULL_${n}`, value: 'x'.repeat(120_000) }))
  const filled = (bytes: number) => [...filling, { name: 'FILLER', value: 'y'.repeat(bytes) }]

  describe.each(arrangements)('with isolation $arrangement', ({ arrangement, fault }) => {
    test.skipIf(fault !== null)(
      'the largest command that the system takes starts, and one byte more is reported',
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
          expect((await reaches(executor, start(command, fits + 1), 'FAILED')).error?.name).toBe(
            'environment-too-large',
          )
        } finally {
          for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
          await eventually(() => executor.observe().length === 0)
          await executor.close()
          await fixture.dispose()
        }
      },
    )
  })

  test('a single string that the system does not take is named, without its content', async () => {
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
})

describe('the bound of logs', () => {
  const MEBIBYTE = 1024 * 1024

  async function running(script: string, under?: string) {
    const fixture = await createProcessFixture({ ...(under !== undefined && { under }) })
    const executor = fixture.create({ changed: () => undefined })
    await executor.recover()
    const spec = kernelSpec({ command: ['sh', '-c', script] })
    executor.start(spec, 1)
    await reaches(executor, spec.kernelId, 'RUNNING')
    const path = join(fixture.agentDir, 'kernels', spec.kernelId)
    await eventually(() => existsSync(join(path, 'stdout')))
    return {
      path,
      sizes: () => {
        const { size, blocks } = statSync(join(path, 'stdout'))
        return { size, allocated: blocks * 512 }
      },
      hasEnded: () => statSync(join(path, 'stderr'), { throwIfNoEntry: false })?.size === 4,
      go: (step: number) => writeFileSync(join(path, 'work', `go${step}`), ''),
      text(offset: number, bytes: number) {
        const file = openSync(join(path, 'stdout'), 'r')
        const buffer = Buffer.alloc(bytes)
        const length = readSync(file, buffer, 0, bytes, offset)
        closeSync(file)
        return buffer.toString('latin1', 0, length)
      },
      async [Symbol.asyncDispose]() {
        executor.forget(spec.kernelId, 1)
        await eventually(() => executor.observe().length === 0)
        await executor.close()
        await fixture.dispose()
      },
    }
  }

  const fastest = `head -c ${1024 * MEBIBYTE} /dev/zero`
  /** 3 MB in at least 10 ms each, whatever it has missed. */
  const documented = `'${process.execPath}' -e '
  const [chunk, clock] = [Buffer.alloc(3_000_000), new Int32Array(new SharedArrayBuffer(4))]
  for (let count = 0; count < 400; count++) {
    const next = performance.now() + 10
    for (let at = 0; at < chunk.length; ) at += require("node:fs").writeSync(1, chunk, at)
    while (performance.now() < next) Atomics.wait(clock, 0, 0, next - performance.now())
  }'`

  /** The disk space of a program that was silent, over time. */
  async function samplesOf(program: string) {
    await using kernel = await running(`sleep 1; ${program}; echo end >&2; exec sleep 1000`)
    const samples: { at: number; size: number; allocated: number }[] = [
      { at: performance.now(), size: 0, allocated: 0 },
    ]
    for (let done = false; !done; await pause(5)) {
      const ended = kernel.hasEnded()
      const sample = { at: performance.now(), ...kernel.sizes() }
      samples.push(sample)
      done = ended && sample.allocated <= LOG_FILE_CUT_BYTES
    }
    expect(kernel.text(0, 1)).toBe('\0')
    return samples
  }

  test('on disk a program that writes up to 300 MB/s takes no more than the limit', async () => {
    const samples = await samplesOf(documented)
    expect(samples.at(-1)!.size).toBe(400 * 3_000_000)
    expect(Math.max(...samples.map(({ allocated }) => allocated))).toBeLessThanOrEqual(LOG_FILE_BYTES_MAX)
  })

  /** The longest that a shell which looks as often as the keeper, with as many programs, has gone without a look. */
  function slowestLook(): { ms(): number } & Disposable {
    const look = `find /dev/null -exec stat /dev/null {} + >/dev/null; read -r up rest </proc/uptime; echo $up`
    const shell = spawn('/bin/sh', ['-c', `while :; do ${look}; sleep ${LOG_FILE_CHECK_MS / 1000}; done`])
    let text = ''
    shell.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
    return {
      ms() {
        const looks = text.trimEnd().split('\n').map(Number)
        return 1_000 * Math.max(...looks.slice(1).map((at, index) => at - looks[index]!))
      },
      [Symbol.dispose]: () => shell.kill('SIGKILL'),
    }
  }

  test('a faster one, on a busy machine, takes no more than the limit and what it has written since the last look', async () => {
    using _ = cpuLoad()
    using looks = slowestLook()
    const samples = await samplesOf(fastest)
    const pauseMs = 1.5 * Math.max(LOG_FILE_CHECK_MS, looks.ms())
    const excess = samples.map(({ at, size, allocated }) => {
      const before = samples.findLast((sample) => sample.at <= at - pauseMs)?.size ?? 0
      return allocated - (size - before) - LOG_FILE_CUT_BYTES
    })
    expect(Math.max(...excess)).toBeLessThanOrEqual(0)
  })

  /** A file system that cannot punch holes. @throws where it cannot be mounted */
  function mountWithoutHoles(): { directory: string } & Disposable {
    const directory = mkdtempSync(join(tmpdir(), 'reprise-ramfs-'))
    try {
      execFileSync('mount', ['-t', 'ramfs', 'none', directory], { stdio: 'pipe' })
    } catch (error) {
      rmdirSync(directory)
      throw error
    }
    return {
      directory,
      [Symbol.dispose]() {
        execFileSync('umount', ['--lazy', directory])
        rmdirSync(directory)
      },
    }
  }

  function faultOfMount(): string | null {
    try {
      mountWithoutHoles()[Symbol.dispose]()
      return null
    } catch (error) {
      return `no ramfs can be mounted: ${(error as Error).message.split('\n')[0]}`
    }
  }

  const fault = skipReason('ramfs', faultOfMount())
  test.skipIf(fault !== null)(
    `where no holes can be punched, a file is cut off behind its head, and its note counts all${fault === null ? '' : `: ${fault}`}`,
    async () => {
      // Filled up to the limit, which a single byte then passes: of a longer write the keeper could count a part alone.
      const note = (bytes: number) => `\n[reprise: ${bytes} bytes of output are left out here]\n`
      const room = LOG_FILE_CUT_BYTES - LOG_HEAD_BYTES_PER_STREAM_MAX
      const dropped = [room + 1, 2 * (room + 1) - note(room + 1).length]
      const fills = [room, room - note(room + 1).length]
      const steps = fills.map(
        (bytes, index) =>
          `dd if=/dev/zero bs=${bytes} count=1 2>/dev/null; printf x; until [ -e go${index} ]; do sleep 0.05; done`,
      )
      const script = `head -c ${LOG_HEAD_BYTES_PER_STREAM_MAX} /dev/zero | tr '\\0' h; ${steps.join('; ')}; echo the end; exec sleep 1000`
      using mounted = mountWithoutHoles()
      await using kernel = await running(script, mounted.directory)
      for (const [index, bytes] of dropped.entries()) {
        await eventually(() => kernel.text(LOG_HEAD_BYTES_PER_STREAM_MAX, 200) === note(bytes))
        expect(kernel.sizes().allocated).toBeLessThan(LOG_FILE_CUT_BYTES)
        kernel.go(index)
      }
      const whole = `h${note(dropped[1]!)}the end\n`
      await eventually(() => kernel.text(LOG_HEAD_BYTES_PER_STREAM_MAX - 1, 200) === whole)
      expect(kernel.text(0, LOG_HEAD_BYTES_PER_STREAM_MAX)).toBe('h'.repeat(LOG_HEAD_BYTES_PER_STREAM_MAX))
    },
    60_000,
  )
})
