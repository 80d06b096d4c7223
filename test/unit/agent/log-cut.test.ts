import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cutLog, shippedBytes, tailShift } from '../../../src/domain/agent/kernel-logs.ts'
import { LOG_BYTES_PER_KERNEL_MAX, LOG_HEAD_BYTES_PER_STREAM_MAX } from '../../../src/domain/limits.ts'
import { checkProperty } from '../../support/seeds.ts'

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

it('keeps what fits, loses no byte without saying so, and never more than there is room for', () => {
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
