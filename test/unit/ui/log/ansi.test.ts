import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAnsi, plainText } from '../../../../src/ui/log/ansi.ts'
import { checkProperty } from '../../../support/seeds.ts'

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

  test('invisible characters, and those that reverse the text, are made visible', () => {
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
