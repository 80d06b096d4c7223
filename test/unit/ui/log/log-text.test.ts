import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LINE_UNITS_MAX, LogText, type LogPiece } from '../../../../src/ui/log/log-text.ts'
import { checkProperty } from '../../../support/seeds.ts'

const out = (text: string): LogPiece => ({ stream: 'STDOUT', text })
const err = (text: string): LogPiece => ({ stream: 'STDERR', text })

function linesOf(log: LogText): string[] {
  return Array.from({ length: log.lineCount }, (_, index) => log.line(index).text)
}

/** Lines of one stream, computed in the simplest way. */
function expectedLines(pieces: readonly LogPiece[]): string[] {
  const text = pieces.map((piece) => piece.text).join('')
  if (text === '') return []
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n').map((line) => line.replace(/\r$/, ''))
}

describe('the lines of a log', () => {
  test.each<[string, LogPiece[], string[]]>([
    ['nothing', [], []],
    ['an empty piece', [out('')], []],
    ['one that has not ended', [out('a')], ['a']],
    ['one that has', [out('a\n')], ['a']],
    ['empty ones', [out('\n\na\n\n')], ['', '', 'a', '']],
    ['one over three chunks', [out('x\na'), out('b'), out('c\nd')], ['x', 'abc', 'd']],
    ['a break that is a chunk', [out('a'), out('\n'), out('b')], ['a', 'b']],
    ['breaks of two characters, also divided', [out('a\r\nb\r'), out('\nc')], ['a', 'b', 'c']],
    ['of the other stream', [out('a'), err('E1\nE2'), out('b\n')], ['a', 'E1', 'E2', 'b']],
  ])('%s', (_, pieces, wanted) => {
    const log = new LogText()
    log.append(pieces)
    expect(linesOf(log)).toEqual(wanted)
  })

  test('have their stream', () => {
    const log = new LogText()
    log.append([out('a'), err('b\n'), out('c')])
    expect([0, 1, 2].map((index) => log.line(index).stream)).toEqual(['STDOUT', 'STDERR', 'STDOUT'])
    expect(() => log.line(3)).toThrow(RangeError)
  })

  test('are cut if they are very long', () => {
    const log = new LogText()
    log.append([out('x'.repeat(30_000)), out('y'.repeat(200_000)), out('\nz')])
    expect(log.line(0)).toEqual({ stream: 'STDOUT', text: 'x'.repeat(LINE_UNITS_MAX), isCut: true })
    expect(log.line(1).text).toBe('z')
  })

  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r\n', 'é', '😀'), maxLength: 30 })
  const pieces = fc.array(text.map(out), { maxLength: 12 })

  test('are the lines of the text, however it is split into chunks', () => {
    checkProperty(
      fc.property(pieces, (all) => {
        const log = new LogText()
        for (const piece of all) log.append([piece])
        expect(linesOf(log)).toEqual(expectedLines(all))
      }),
    )
  })

  test('move by the returned number when earlier ones are added', () => {
    const mixed = fc.array(fc.tuple(fc.boolean(), text).map(([isErr, each]) => (isErr ? err(each) : out(each))))
    checkProperty(
      fc.property(mixed, mixed, mixed, (first, second, third) => {
        const log = new LogText()
        log.append(third)
        const before = linesOf(log)
        const moved = log.prepend(second) + log.prepend(first)
        const whole = new LogText()
        whole.append([...first, ...second, ...third])
        expect(linesOf(log)).toEqual(linesOf(whole))
        // The oldest one may have been the end of a line.
        expect(linesOf(log).slice(moved + 1)).toEqual(before.slice(1))
      }),
    )
  })

  test('are found in any case, across chunks, each once', () => {
    const log = new LogText()
    log.append([out('first\nan er'), out('r'), out('OR and error\nno (match)\nx'), err('ERROR')])
    expect(log.search('error')).toEqual([
      { line: 1, column: 3 },
      { line: 4, column: 0 },
    ])
    expect(log.search('(')).toEqual([{ line: 2, column: 3 }])
    expect(log.search('error', 1)).toHaveLength(1)
    expect(log.search('')).toEqual([])
  })

  test('a search finds exactly the lines that contain the text', () => {
    const query = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 })
    checkProperty(
      fc.property(pieces, query, (all, wanted) => {
        const log = new LogText()
        log.append(all)
        const having = expectedLines(all).flatMap((line, index) => (line.includes(wanted) ? [index] : []))
        const matches = log.search(wanted)
        expect(matches.map(({ line }) => line)).toEqual(having)
        for (const { line, column } of matches)
          expect(log.line(line).text.slice(column, column + wanted.length)).toBe(wanted)
      }),
    )
  })

  test('of a log of a million lines can be read and found', () => {
    const perChunk = 8000
    const chunks = Array.from({ length: 125 }, (_, chunk) =>
      out(Array.from({ length: perChunk }, (__, line) => `${chunk * perChunk + line}\n`).join('')),
    )
    const log = new LogText()
    for (const chunk of chunks.toReversed()) log.prepend([chunk])
    expect(log.lineCount).toBe(1_000_000)
    expect([0, 424_242, 999_999].map((index) => log.line(index).text)).toEqual(['0', '424242', '999999'])
    expect(log.search('77777').map(({ line }) => line)).toEqual(
      Array.from({ length: 1_000_000 }, (_, index) => index).filter((index) => String(index).includes('77777')),
    )
  })
})
