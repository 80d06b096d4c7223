import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readKernelUsage } from '../../../src/domain/agent/kernel-report.ts'
import { CPU_SECONDS_MAX, PEAK_MEMORY_BYTES_MAX, WALL_SECONDS_MAX } from '../../../src/domain/limits.ts'
import { exitSignalOf } from '../../../src/domain/session/failure.ts'
import { binaryBytes } from '../../../src/cli/output/format.ts'
import { formatUsage } from '../../../src/cli/session/session-text.ts'
import { checkProperty } from '../../support/seeds.ts'

const USAGE = { peakMemoryBytes: 104_857_600, cpuSeconds: 1.25, wallSeconds: 3.5, source: 'CGROUP' }

describe('what an agent says of usage', () => {
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

  it('what was put together from processes is about that', () => {
    const used = { cpuSeconds: 1.25, peakMemoryBytes: 104_857_600 }
    expect(formatUsage({ ...used, source: 'CGROUP' })).toBe('1.3 s CPU, 100 MiB')
    expect(formatUsage({ ...used, source: 'PROCESSES' })).toBe('about 1.3 s CPU, 100 MiB')
    expect(formatUsage({ ...used, peakMemoryBytes: null, source: 'CGROUP' })).toBe('1.3 s CPU')
    expect(formatUsage({ cpuSeconds: null, peakMemoryBytes: null, source: 'CGROUP' })).toBeNull()
  })
})
