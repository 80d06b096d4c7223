import fc from 'fast-check'

/** Halves of surrogate pairs, which lie between them, are no text. */
const CODE_POINTS = [
  { min: 0, max: 0x7f },
  { min: 0x80, max: 0xd7ff },
  { min: 0xe000, max: 0x10ffff },
]

/**
 * Text of any code points, at most `maxLength` of them. What fast-check has for it, `string({ unit: 'binary' })`, needs
 * more than a second of CPU to begin with.
 */
export function anyText({ maxLength }: { maxLength: number }): fc.Arbitrary<string> {
  const codePoint = fc.oneof(...CODE_POINTS.map((range) => fc.integer(range)))
  return fc.array(codePoint, { maxLength }).map((codePoints) => String.fromCodePoint(...codePoints))
}
