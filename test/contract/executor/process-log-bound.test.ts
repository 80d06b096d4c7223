import { execFileSync, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  LOG_FILE_BYTES_MAX,
  LOG_FILE_CUT_BYTES,
  LOG_FILE_CHECK_MS,
  LOG_HEAD_BYTES_PER_STREAM_MAX,
} from '../../../src/domain/limits.ts'
import { busyMachine } from '../../support/busy-machine.ts'
import { skipReason } from '../../support/distribution.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { kernelSpec, reaches } from './executor-subject.ts'
import { createProcessFixture } from './process-fixture.ts'

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

/** What a program that was silent takes of the disk, at each moment. */
async function samplesOf(program: string) {
  await using kernel = await running(`sleep 1; ${program}; echo end >&2; exec sleep 1000`)
  const samples: { at: number; size: number; allocated: number }[] = [{ at: performance.now(), size: 0, allocated: 0 }]
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
  using _ = busyMachine()
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
