import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSecretBox, SECRET_KEY_BYTES, SecretKeyError } from '../../../src/services/access/secrets.ts'
import { checkProperty } from '../../support/seeds.ts'

const [old, young] = [Buffer.alloc(SECRET_KEY_BYTES, 1), Buffer.alloc(SECRET_KEY_BYTES, 2)]
const box = createSecretBox([old])

describe('a sealed value', () => {
  test('opens again as it was, and never looks the same', () => {
    checkProperty(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), (value, about) => {
        const [first, second] = [box.seal(value, about), box.seal(value, about)]
        expect(box.open(first, about)).toEqual(Buffer.from(value))
        expect(first.equals(second)).toBe(false)
        expect(first.includes(Buffer.from(value))).toBe(value.length < 4 && first.includes(Buffer.from(value)))
      }),
    )
  })

  test('does not open elsewhere, nor after any change', () => {
    const sealed = box.seal(Buffer.from('value'), 'environ A')
    expect(() => box.open(sealed, 'environ B')).toThrow(SecretKeyError)
    for (let at = 0; at < sealed.length; at++) {
      const bent = Buffer.from(sealed)
      bent[at]! ^= 1
      expect(() => box.open(bent, 'environ A')).toThrow(SecretKeyError)
    }
    for (let length = 0; length < sealed.length; length++) {
      expect(() => box.open(sealed.subarray(0, length), 'environ A')).toThrow(SecretKeyError)
    }
  })

  test('names the key that it needs where there is only another', () => {
    const sealed = box.seal(Buffer.from('value'), 'x')
    const other = createSecretBox([young])
    expect(() => other.open(sealed, 'x')).toThrow(
      `the key ${box.keyId}, and the file of this server has ${other.keyId}`,
    )
  })

  test('opens with the key before, once that is replaced', () => {
    const sealed = box.seal(Buffer.from('value'), 'x')
    const replaced = createSecretBox([young, old])
    expect(replaced.open(sealed, 'x').toString()).toBe('value')
    expect(() => box.open(replaced.seal(Buffer.from('value'), 'x'), 'x')).toThrow(SecretKeyError)
    expect([replaced.knows(box.keyId), box.knows(replaced.keyId)]).toEqual([true, false])
  })
})

test('digests tell values apart, by key and by what they are about', () => {
  const digest = (value: string, about = 'a', by = box) => by.digest(Buffer.from(value), about).toString('hex')
  expect(digest('x')).toBe(digest('x'))
  expect(new Set([digest('x'), digest('y'), digest('x', 'b'), digest('x', 'a', createSecretBox([young]))]).size).toBe(4)
})
