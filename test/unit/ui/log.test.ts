import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAnsi, plainText } from '../../../src/ui/log/ansi.ts'
import { LINE_UNITS_MAX, type LogPiece, LogText } from '../../../src/ui/log/log-text.ts'
import { ELEMENT_PX_MAX, type Rows, scrollHeight, scrollTopOf, windowAt } from '../../../src/ui/log/window.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('ANSI colours', () => {
  const E = '\u001b'

  describe('colours of terminals', () => {
    test.each([
      ['plain', [{ text: 'plain' }]],
      [`${E}[31mred${E}[0m not`, [{ text: 'red', colour: 1 }, { text: ' not' }]],
      [
        `${E}[1;92mok${E}[22m?`,
        [
          { text: 'ok', bold: true, colour: 10 },
          { text: '?', colour: 10 },
        ],
      ],
      [
        `${E}[44;37mx${E}[49my${E}[39mz`,
        [{ text: 'x', colour: 7, background: 4 }, { text: 'y', colour: 7 }, { text: 'z' }],
      ],
      [
        `${E}[3;4mi${E}[23mu${E}[24m.`,
        [{ text: 'i', italic: true, underline: true }, { text: 'u', underline: true }, { text: '.' }],
      ],
      [
        `${E}[38;5;9mA${E}[38;5;196mB${E}[38;5;244mC`,
        [
          { text: 'AB', colour: 9 },
          { text: 'C', colour: 7 },
        ],
      ],
      [
        `${E}[38;2;10;200;30mg${E}[48;2;0;0;0mb`,
        [
          { text: 'g', colour: 2 },
          { text: 'b', colour: 2, background: 0 },
        ],
      ],
      [`${E}[mreset`, [{ text: 'reset' }]],
      [`${E}[31m`, []],
      ['', []],
    ])('%j', (line, wanted) => {
      expect(parseAnsi(line)).toEqual(wanted)
    })

    test.each([
      ['a carriage return overwrites', '10 %\r50 %\r100 %', '100 %'],
      ['one at the end ends the line', 'done\r', 'done'],
      ['movements of the cursor', `a${E}[2Kb${E}[10;3Hc${E}[?25ld`, 'abcd'],
      ['a title', `a${E}]0;title\u0007b`, 'ab'],
      ['a link of the terminal', `${E}]8;;https://evil.example${E}\\text${E}]8;;${E}\\`, 'text'],
      ['a sequence of eight bits', 'a\u009b31mb', 'ab'],
      ['what does not end', `a${E}[31`, 'a'],
      ['a title that does not end', `a${E}]0;${'x'.repeat(100)}`, 'a'],
      ['a bare escape', `a${E}`, 'a'],
    ])('%s', (_, line, wanted) => {
      expect(
        parseAnsi(line)
          .map(({ text }) => text)
          .join(''),
      ).toBe(wanted)
      expect(plainText(line)).toBe(wanted)
    })

    test('invisible characters, and those that reverse the text, are shown', () => {
      expect(parseAnsi('a\u0000b\u202ec\u2066d\u0007e')).toEqual([{ text: 'a\ufffdb\ufffdc\ufffdd\ufffde' }])
      expect(plainText('a\u202eb')).toBe('ab')
    })

    test('only web addresses become links, shown in full', () => {
      expect(parseAnsi('see https://a.example/x?y=1. Or (http://b.example) or javascript:alert(1)')).toEqual([
        { text: 'see ' },
        { text: 'https://a.example/x?y=1', href: 'https://a.example/x?y=1' },
        { text: '. Or (' },
        { text: 'http://b.example', href: 'http://b.example' },
        { text: ') or javascript:alert(1)' },
      ])
      expect(parseAnsi('ftp://x https://')).toEqual([{ text: 'ftp://x https://' }])
    })

    test('any bytes give few spans without control characters, and nothing is invented', () => {
      const unit = fc.constantFrom(
        E,
        '[',
        ']',
        ';',
        '3',
        '1',
        '8',
        '5',
        'm',
        '\\',
        '\u0007',
        '\r',
        'a',
        '\u009b',
        '\u202e',
        'h',
      )
      checkProperty(
        fc.property(fc.string({ unit, maxLength: 200 }), (line) => {
          const spans = parseAnsi(line)
          const text = spans.map((span) => span.text).join('')
          // oxlint-disable-next-line no-control-regex -- the test looks for them
          expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
          expect(plainText(line)).toBe(text.replaceAll('\ufffd', ''))
          for (const { colour } of spans) expect(colour === undefined || (colour >= 0 && colour < 16)).toBe(true)
        }),
      )
    })

    test('a line of style changes alone has a bounded number of spans', () => {
      const line = Array.from({ length: 20_000 }, (_, index) => `${E}[${31 + (index % 6)}mx`).join('')
      const spans = parseAnsi(line)
      expect(spans).toHaveLength(500)
      expect(spans.reduce((sum, { text }) => sum + text.length, 0)).toBe(20_000)
    })
  })
})

describe('the text of a log', () => {
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
      ['a progress bar', [out('1 %\r2 %\r3 %\r'), out('\r\nb')], ['3 %\r', 'b']],
      ['one longer than a line', [out(`${'x'.repeat(50_000)}\r`), out('99'), out(' %\nb')], ['99 %', 'b']],
      ['one redrawn in a later chunk', [out('x'.repeat(50_000)), out('9 %\r100'), out(' %')], ['100 %']],
      ['breaks of two characters, also divided', [out('a\r\nb\r'), out('\nc')], ['a', 'b', 'c']],
      ['of the other stream', [out('a'), err('E1\nE2'), out('b\n')], ['a', 'E1', 'E2', 'b']],
    ])('%s', (_, pieces, wanted) => {
      const log = new LogText()
      log.append(pieces)
      expect(linesOf(log)).toEqual(wanted)
    })

    test('show their stream', () => {
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

    test('added before the others move those, by the reported number', () => {
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
})

describe('the window of a log', () => {
  const million: Rows = { count: 1_000_000, height: 20, viewHeight: 600 }

  describe('the window of a log', () => {
    test('few rows are drawn at their own positions', () => {
      const rows = { count: 100, height: 20, viewHeight: 600 }
      expect(scrollHeight(rows)).toBe(2000)
      expect(windowAt(rows, 0)).toEqual({ first: 0, end: 30, top: 0 })
      expect(windowAt(rows, 25)).toEqual({ first: 1, end: 32, top: -5 })
      expect(windowAt(rows, 1400)).toEqual({ first: 70, end: 100, top: 0 })
    })

    test('no rows, and fewer rows than fit', () => {
      expect(windowAt({ count: 0, height: 20, viewHeight: 600 }, 0)).toEqual({ first: 0, end: 0, top: 0 })
      const few = { count: 3, height: 20, viewHeight: 600 }
      expect(windowAt(few, 500)).toEqual({ first: 0, end: 3, top: 0 })
      expect(scrollTopOf(few, 2)).toBe(0)
    })

    test('no element is higher than browsers can draw, and the last of a million rows is reached', () => {
      expect(scrollHeight(million)).toBe(ELEMENT_PX_MAX)
      expect(windowAt(million, ELEMENT_PX_MAX - 600)).toEqual({ first: 999_970, end: 1_000_000, top: 0 })
      expect(windowAt(million, 0).first).toBe(0)
    })

    const rows = fc.record({
      count: fc.integer({ min: 1, max: 16_000_000 }),
      height: fc.integer({ min: 10, max: 40 }),
      viewHeight: fc.integer({ min: 40, max: 3000 }),
    })

    test('moves only forwards while scrolling forwards, fills the view, and starts at its top', () => {
      const places = fc.array(fc.integer({ min: 0, max: ELEMENT_PX_MAX }), { minLength: 2 })
      checkProperty(
        fc.property(rows, places, (all, tops) => {
          let last = 0
          for (const scrollTop of tops.toSorted((a, b) => a - b)) {
            const { first, end, top } = windowAt(all, scrollTop)
            expect(first).toBeGreaterThanOrEqual(last)
            last = first
            expect(top).toBeLessThanOrEqual(0)
            expect(top).toBeGreaterThan(-all.height - 1e-6)
            expect(end).toBeLessThanOrEqual(all.count)
            const filled = (end - first) * all.height + top
            expect(filled).toBeGreaterThanOrEqual(Math.min(all.viewHeight, all.count * all.height) - 1e-6)
          }
        }),
      )
    })

    test('every row can be brought into view, at whole scroll positions', () => {
      const place = fc.double({ min: 0, max: 1, noNaN: true })
      checkProperty(
        fc.property(rows, place, fc.constantFrom(0, 0.5, 1), (all, share, at) => {
          const row = Math.min(all.count - 1, Math.floor(share * all.count))
          const { first, end } = windowAt(all, Math.round(scrollTopOf(all, row, at)))
          // A pixel is up to two rows and a half of 16 million of the highest.
          const slack = Math.ceil((all.count * all.height) / ELEMENT_PX_MAX / all.height) + 1
          expect(row).toBeGreaterThanOrEqual(first - slack)
          expect(row).toBeLessThan(end + slack)
        }),
      )
    })
  })
})
