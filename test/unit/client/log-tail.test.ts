import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lastLines } from '../../../src/client/log.ts'
import { checkProperty } from '../../support/seeds.ts'

interface Chunk {
  stream: 'STDOUT' | 'STDERR'
  text: string
}

function tailOf(chunks: readonly Chunk[], count: number): Chunk[] {
  const cut = lastLines(count)
  const tail: Chunk[] = []
  for (const chunk of chunks.toReversed()) {
    const { text, complete } = cut(chunk)
    if (text !== '') tail.unshift({ ...chunk, text })
    if (complete) break
  }
  return tail
}

const text = fc.string({ maxLength: 8, unit: fc.constantFrom('a', '\n', 'é') })

test('of one stream they are its last lines, wherever its chunks end', () => {
  checkProperty(
    fc.property(fc.array(text), fc.nat(6), (texts, count) => {
      const whole = texts.join('')
      const lines = whole.match(/[^\n]*\n|[^\n]+$/g) ?? []
      const tail = tailOf(
        texts.map((each) => ({ stream: 'STDOUT', text: each })),
        count,
      )
      expect(tail.map((chunk) => chunk.text).join('')).toBe(lines.slice(Math.max(0, lines.length - count)).join(''))
    }),
  )
})

test.each<[string, number, Chunk[], string]>([
  ['lines of both count, as they arrived', 2, written('o:a\n', 'e:b\n', 'o:c\n'), 'b\nc\n'],
  ['what each has not ended counts', 3, written('o:a\nb', 'e:c\nd'), 'bc\nd'],
  ['none', 0, written('o:a\nb'), ''],
  ['more than there are', 9, written('o:a\n', 'e:b'), 'a\nb'],
  ['empty ones', 2, written('o:\n\n', 'e:\n'), '\n\n'],
])('of two streams: %s', (_name, count, given, expected) => {
  expect(
    tailOf(given, count)
      .map((chunk) => chunk.text)
      .join(''),
  ).toBe(expected)
})

function written(...texts: string[]): Chunk[] {
  return texts.map((each) => ({ stream: each.startsWith('e') ? 'STDERR' : 'STDOUT', text: each.slice(2) }))
}
