import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { type ExitEvidence, judgeExit } from '../../../src/agent/executors/kernels/exit-verdict.ts'
import { limitFiles } from '../../../src/agent/executors/process/limits/cgroup-limits.ts'
import { faultOf, type FileView, readOnlyFailure } from '../../../src/agent/executors/process/program-fault.ts'
import { readableText, utf8CutLength } from '../../../src/agent/executors/kernels/kernel-logs.ts'
import { binaryBytes } from '../../../src/cli/output/format.ts'
import { formatUsage } from '../../../src/cli/session/session-text.ts'
import { cutLog, shippedBytes, tailShift } from '../../../src/domain/agent/kernel-logs.ts'
import { readKernelUsage } from '../../../src/domain/agent/kernel-report.ts'
import {
  CPU_SECONDS_MAX,
  LOG_BYTES_PER_KERNEL_MAX,
  LOG_HEAD_BYTES_PER_STREAM_MAX,
  PEAK_MEMORY_BYTES_MAX,
  WALL_SECONDS_MAX,
} from '../../../src/domain/limits.ts'
import { exitSignalOf } from '../../../src/domain/session/failure.ts'
import { anyText } from '../../support/any-text.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('usage of a kernel', () => {
  const USAGE = { peakMemoryBytes: 104_857_600, cpuSeconds: 1.25, wallSeconds: 3.5, source: 'CGROUP' }

  describe('usage that an agent reports', () => {
    it('is taken as it is if it can be true', () => {
      expect(readKernelUsage(USAGE)).toEqual(USAGE)
      expect(readKernelUsage({ cpuSeconds: 0 })).toEqual({
        peakMemoryBytes: null,
        cpuSeconds: 0,
        wallSeconds: null,
        source: 'PROCESSES',
      })
    })

    it.each([
      [{ peakMemoryBytes: PEAK_MEMORY_BYTES_MAX + 1 }],
      [{ peakMemoryBytes: -1 }],
      [{ peakMemoryBytes: '1' }],
      [{ cpuSeconds: Number.NaN }],
      [{ cpuSeconds: CPU_SECONDS_MAX * 2 }],
      [{ cpuSeconds: Infinity }],
      [{ cpuSeconds: 1n }],
      [{ wallSeconds: WALL_SECONDS_MAX + 1 }],
      [{ wallSeconds: [1] }],
    ])('%o is unknown, and the rest counts', (lie) => {
      const [name] = Object.keys(lie)
      expect(readKernelUsage({ ...USAGE, ...lie })).toEqual({ ...USAGE, [name!]: null })
      expect(readKernelUsage(lie)).toBeNull()
    })

    it('is never refused, and never anything but finite figures from 0 on', () => {
      const fields = {
        peakMemoryBytes: fc.anything(),
        cpuSeconds: fc.double(),
        wallSeconds: fc.anything(),
        source: fc.anything(),
      }
      const said = fc.oneof(fc.anything(), fc.record(fields, { requiredKeys: [] }))
      checkProperty(
        fc.property(said, (value) => {
          const { source, ...figures } = readKernelUsage(value) ?? { source: 'CGROUP' }
          expect(['CGROUP', 'PROCESSES']).toContain(source)
          const known = Object.values(figures).filter((figure) => figure !== null)
          expect(known.every((figure) => Number.isFinite(figure) && figure >= 0)).toBe(true)
        }),
      )
    })
  })

  describe('the signal of an exit code', () => {
    it.each([
      [129, 'SIGHUP', 1],
      [137, 'SIGKILL', 9],
      [139, 'SIGSEGV', 11],
      [143, 'SIGTERM', 15],
      [159, 'SIGSYS', 31],
    ])('%i: %s', (exitCode, name, number) => expect(exitSignalOf(exitCode)).toEqual({ name, number }))

    it.each([null, 0, 1, 127, 128, 160, 255, -119, 2 ** 31])('%s: none', (exitCode) =>
      expect(exitSignalOf(exitCode)).toBeNull(),
    )
  })

  describe('in words', () => {
    it.each([
      [0, '0 B'],
      [1023, '1023 B'],
      [1024, '1 KiB'],
      [1_572_864, '1.5 MiB'],
      [104_857_600, '100 MiB'],
      [1_073_741_823, '1 GiB'],
      [PEAK_MEMORY_BYTES_MAX, '1 PiB'],
    ])('%i bytes: %s', (bytes, words) => expect(binaryBytes(bytes)).toBe(words))

    it('figures that were added up from processes are marked as approximate', () => {
      const used = { cpuSeconds: 1.25, peakMemoryBytes: 104_857_600 }
      expect(formatUsage({ ...used, source: 'CGROUP' })).toBe('1.3 s CPU, 100 MiB')
      expect(formatUsage({ ...used, source: 'PROCESSES' })).toBe('about 1.3 s CPU, 100 MiB')
      expect(formatUsage({ ...used, peakMemoryBytes: null, source: 'CGROUP' })).toBe('1.3 s CPU')
      expect(formatUsage({ cpuSeconds: null, peakMemoryBytes: null, source: 'CGROUP' })).toBeNull()
    })
  })
})

describe('limits of a cgroup', () => {
  const ALL = new Set(['memory', 'pids', 'cpu'] as const)

  test.each([
    [
      1,
      { memoryBytes: 1000, processes: 7, cpus: 2.5 },
      ['pids.max 7', 'cpu.shares 2560', 'memory.limit_in_bytes 1000', 'memory.memsw.limit_in_bytes 1000 if there'],
    ],
    [
      2,
      { memoryBytes: 1000, processes: 7, cpus: 2.5 },
      ['pids.max 7', 'cpu.weight 250', 'memory.max 1000', 'memory.swap.max 0 if there', 'memory.oom.group 1'],
    ],
    // The share of one processor is what a group has that nobody touches: 1024, or 100.
    [1, { memoryBytes: null, processes: 7, cpus: null }, ['pids.max 7']],
    [2, { memoryBytes: null, processes: 7, cpus: null }, ['pids.max 7']],
    [1, { memoryBytes: null, processes: 7, cpus: 1 }, ['pids.max 7', 'cpu.shares 1024']],
    [2, { memoryBytes: null, processes: 7, cpus: 1 }, ['pids.max 7', 'cpu.weight 100']],
    [1, { memoryBytes: null, processes: 7, cpus: 0.0001 }, ['pids.max 7', 'cpu.shares 2']],
    [2, { memoryBytes: null, processes: 7, cpus: 0.0001 }, ['pids.max 7', 'cpu.weight 1']],
    [1, { memoryBytes: null, processes: 7, cpus: 1000 }, ['pids.max 7', 'cpu.shares 262144']],
    [2, { memoryBytes: null, processes: 7, cpus: 1000 }, ['pids.max 7', 'cpu.weight 10000']],
  ] as const)('version %i: %j', (version, limits, expected) => {
    const files = limitFiles(version, ALL, limits)
    expect(files.map(({ name, value, optional }) => `${name} ${value}${optional ? ' if there' : ''}`)).toEqual(expected)
  })

  test.each([1, 2] as const)('version %i: nothing is written for a controller that is not there', (version) => {
    const limits = { memoryBytes: 1000, processes: 7, cpus: 2 }
    expect(limitFiles(version, new Set(), limits)).toEqual([])
    for (const controller of ALL)
      for (const { name } of limitFiles(version, new Set([controller]), limits))
        expect(name.startsWith(`${controller}.`)).toBe(true)
  })
})

describe('the verdict on an exit', () => {
  const nothing: ExitEvidence = {
    exitCode: null,
    stopOrdered: false,
    stopError: null,
    oomKills: 0,
    oomMark: null,
    memoryLimitBytes: 100,
    missing: null,
  }
  const fenced = { stopOrdered: true, stopError: { name: 'agent-fenced', message: '' } }
  const oomMark = { usedBytes: 120, limitBytes: 100 }

  test.each<[string, Partial<ExitEvidence>, number | null, string | null]>([
    ['success', { exitCode: 0 }, 0, null],
    ['a failure', { exitCode: 3 }, 3, null],
    ['success in spite of an ordered stop', { exitCode: 0, stopOrdered: true }, 0, null],
    ['ended by the stop', { exitCode: 143, stopOrdered: true }, 143, null],
    ['killed by the stop', { stopOrdered: true }, 137, null],
    ['ended by the fence', { exitCode: 143, ...fenced }, 143, 'agent-fenced'],
    ['killed by the fence', fenced, 137, 'agent-fenced'],
    ['left with 0 when the fence told it to end', { exitCode: 0, ...fenced }, 0, 'agent-fenced'],
    ['out of memory behind the fence', { oomKills: 1, ...fenced }, 137, 'oom-killed'],
    ['gone', {}, null, 'kernel-vanished'],
    ['a part of a pipeline lost to the limit', { exitCode: 0, oomKills: 2 }, 0, 'oom-killed'],
    ['the same, behind the fence', { exitCode: 0, oomKills: 2, ...fenced }, 0, 'agent-fenced'],
    ['succeeded before the watcher’s kill', { exitCode: 0, oomMark }, 0, null],
    ['killed by the cgroup', { exitCode: 137, oomKills: 1 }, 137, 'oom-killed'],
    ['failed for want of a killed child', { exitCode: 1, oomKills: 1 }, 1, 'oom-killed'],
    ['killed by the cgroup with its shim', { oomKills: 1 }, 137, 'oom-killed'],
    ['killed by the watcher', { oomMark }, 137, 'oom-killed'],
    ['no program', { exitCode: 127, missing: 'not there' }, 127, 'command-not-found'],
    ['no program, stopped', { exitCode: 127, missing: 'not there', stopOrdered: true }, 127, null],
    ['ended by itself before the watcher’s kill', { exitCode: 2, oomMark }, 2, null],
  ])('%s', (_name, evidence, exitCode, error) => {
    const verdict = judgeExit({ ...nothing, ...evidence })
    expect(verdict.exitCode).toBe(exitCode)
    expect(verdict.error?.name ?? null).toBe(error)
    expect(verdict.oomKilled).toBe(error === 'oom-killed')
  })

  test('numbers are shown', () => {
    expect(judgeExit({ ...nothing, oomMark }).error?.message).toMatch(/120.*100/)
    expect(judgeExit({ ...nothing, oomKills: 1 }).error?.message).toBe('ran out of its 100 bytes of memory')
    expect(judgeExit({ ...nothing, oomKills: 1, exitCode: 0 }).error?.message).toBe(
      'ran out of its 100 bytes of memory: a process of it was killed, although the command exited with 0',
    )
    expect(judgeExit({ ...nothing, oomKills: 1, memoryLimitBytes: null }).error?.message).toBe('ran out of memory')
  })
})

describe('why a program could not be run', () => {
  let place: string
  let view: FileView

  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), 'reprise-programs-'))
    chmodSync(place, 0o755)
    mkdirSync(join(place, 'closed'), { mode: 0o700 })
    view = { work: join(place, 'work'), chain: join(place, 'chain'), uid: null, namespaces: null, machine: 'it' }
    mkdirSync(view.work)
  })
  afterAll(() => rmSync(place, { recursive: true }))

  function script(name: string, text: string | Buffer, mode = 0o755): string {
    const path = join(place, name)
    writeFileSync(path, text, { mode })
    chmodSync(path, mode)
    return path
  }
  const textOf = (program: string, more: Partial<FileView> = {}, path = '/usr/bin:/bin') =>
    faultOf(program, path, 'agent’s', { ...view, ...more })?.text ?? null

  test.each([
    ['lines of Windows', '#!/bin/sh\r\ntrue\r\n', /lines end with a carriage return.*sed -i 's\/\\r\$\/\/' \//],
    ['lines of Windows, with env', '#!/usr/bin/env python3\r\n', /carriage return/],
    ['no interpreter', '#!/no/such/python -u\n', /names the interpreter \/no\/such\/python, which kernels do not find/],
    [
      'no interpreter for env',
      '#!/usr/bin/env -S A=1 no-such-python -u\n',
      /interpreter no-such-python, .* not on the PATH/,
    ],
    ['an interpreter with a blank before it', '#! /bin/sh\n', null],
    ['an interpreter of env', '#!/usr/bin/env sh\n', null],
    ['text without a first line for the system', 'echo \r\n', null],
    ['nothing', '', null],
  ])('%s', (name, text, fault) => {
    const path = script(name, text)
    if (fault === null) expect(textOf(path)).toBeNull()
    else expect(textOf(path)).toMatch(fault)
  })

  test('a binary whose loader is missing', () => {
    const elf = Buffer.alloc(200)
    elf.write('\x7fELF\x02\x01', 'latin1')
    elf.writeBigUInt64LE(64n, 32)
    elf.writeUInt16LE(56, 54)
    elf.writeUInt16LE(1, 56)
    elf.writeUInt32LE(3, 64)
    elf.writeBigUInt64LE(120n, 72)
    elf.writeBigUInt64LE(15n, 96)
    elf.write('/lib/ld-none.so\0', 120)
    elf.writeBigUInt64LE(16n, 96)
    expect(textOf(script('binary', elf))).toMatch(/needs the loader \/lib\/ld-none\.so, which is not/)
    for (const length of [0, 10, 63, 64, 100, 125]) script(`cut${length}`, elf.subarray(0, length))
    expect(textOf(join(place, 'cut125'))).toBeNull()
    expect(textOf(process.execPath)).toBeNull()
  })

  test('a file in a directory that the kernel’s user may not enter, also by a link', () => {
    const path = script('closed/run', '#!/bin/sh\n')
    symlinkSync(path, join(place, 'link'))
    const closed = `the kernel’s user (31000) may not enter ${join(place, 'closed')}.`
    expect(textOf(path, { uid: 31_000 })).toContain(closed)
    expect(textOf(join(place, 'link'), { uid: 31_000 })).toContain(closed)
    expect(textOf(script('own', '#!/bin/sh\n', 0o700), { uid: 31_000 })).toContain('(31000) may not run it.')
    expect(textOf(script('open', '#!/bin/sh\n'), { uid: 31_000 })).toBeNull()
  })

  test('a file that kernels do not see, and one of a kernel’s own', () => {
    const namespaces = { mask: join(place, 'data'), hidden: [], own: null }
    const path = script('temporary', '#!/bin/sh\n')
    const text = textOf(path, { namespaces })
    expect(text).toContain(`there is no ${path} for kernels, which have their own /tmp. Move it`)
    expect(textOf('temporary', { namespaces }, `${place}:/bin`)).toBe(text)
    expect(textOf('sh', { namespaces }, `${place}:/bin`)).toBeNull()
    script('work/train', '#!/bin/sh\n')
    expect(textOf('./train', { namespaces })).toBeNull()
    mkdirSync(namespaces.mask)
    expect(textOf(script('data/run', ''), { namespaces: { ...namespaces, mask: '/usr' } })).toContain('their own /tmp')
    expect(textOf('/usr/bin/env', { namespaces: { ...namespaces, mask: '/usr' } })).toContain('to which /usr is hidden')
  })

  test.each([
    ["OSError: [Errno 30] Read-only file system: '/home/ada/out.csv'\n", '/home/ada/out.csv'],
    ['run.sh: 3: cannot create /home/ada/x: Read-only file system\n', '/home/ada/x'],
    ['/usr/bin/save.sh: line 3: /home/ada/x: Read-only file system\nbye\n', '/home/ada/x'],
    ["Error: EROFS: read-only file system, open '/home/ada/x'\n    at node:fs\n", '/home/ada/x'],
    ['open /home/ada/x: read-only file system', '/home/ada/x'],
    ['this is a read-only file system, or not', null],
    ['/home/ada/x: permission denied', null],
  ])('%j names %s', (output, path) => {
    const failure = readOnlyFailure(output, 1)
    expect(failure?.message.split(':')[0] ?? null).toBe(path === null ? null : `could not write ${path}`)
  })
})

describe('where a log is cut', () => {
  const MIB = 1024 * 1024

  it.each([
    [0, 0, 0, 0],
    [3, 16, 0, 3],
    [16, 0, 0, 0],
    [17, 0, 1, 0],
    [40, 2, 26, 0],
    [40, 40, 32, 32],
    [7, 40, 0, 31],
  ])('of %i and %i MiB, %i and %i are left out', (stdout, stderr, ...leftOut) => {
    const cuts = cutLog({ STDOUT: stdout * MIB, STDERR: stderr * MIB })
    expect([cuts.STDOUT.leftOut / MIB, cuts.STDERR.leftOut / MIB]).toEqual(leftOut)
  })

  it('keeps what fits, counts every lost byte, and never keeps more than there is room for', () => {
    const size = fc.integer({ min: 0, max: 64 * MIB })
    checkProperty(
      fc.property(size, size, (STDOUT, STDERR) => {
        const cuts = Object.values(cutLog({ STDOUT, STDERR }))
        const kept = cuts.reduce((sum, { head, tail }) => sum + head + tail, 0)
        expect(kept).toBe(Math.min(STDOUT + STDERR, LOG_BYTES_PER_KERNEL_MAX))
        for (const cut of cuts) {
          expect(cut.head + cut.leftOut + cut.tail).toBe(cut.size)
          expect(cut.head).toBe(Math.min(cut.size, LOG_HEAD_BYTES_PER_STREAM_MAX))
          expect(cut.tail).toBeLessThanOrEqual(LOG_BYTES_PER_KERNEL_MAX - LOG_HEAD_BYTES_PER_STREAM_MAX)
          // The last shipped byte is the file's last.
          if (cut.tail > 0) expect(shippedBytes(cut) + tailShift(cut)).toBe(cut.size)
        }
      }),
    )
  })
})

describe('where UTF-8 is cut', () => {
  test('any text cut at any byte comes back whole from its pieces', () => {
    checkProperty(
      fc.property(anyText({ maxLength: 30 }), fc.integer({ min: 4, max: 9 }), (text, size) => {
        const bytes = Buffer.from(text.replaceAll('\0', 'n'))
        let read = ''
        for (let offset = 0; offset < bytes.length;) {
          const piece = bytes.subarray(offset, offset + size)
          const length = utf8CutLength(piece)
          read += readableText(piece.subarray(0, length))
          offset += length
        }
        expect(read).toBe(bytes.toString('utf8'))
      }),
    )
  })

  test('any bytes move on and read without NUL', () => {
    checkProperty(
      fc.property(fc.uint8Array({ minLength: 4, maxLength: 40 }), (bytes) => {
        expect(bytes.length - utf8CutLength(bytes)).toBeLessThanOrEqual(3)
        expect(readableText(bytes)).not.toContain('\0')
      }),
    )
  })
})
