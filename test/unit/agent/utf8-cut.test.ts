import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readableText, utf8CutLength } from '../../../src/agent/executors/kernels/kernel-logs.ts'
import { anyText } from '../../support/any-text.ts'
import { checkProperty } from '../../support/seeds.ts'

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
