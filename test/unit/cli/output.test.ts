import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatTable, type Column } from '../../../src/cli/output/table.ts'
import { isPlain, PLAIN_MEASURE } from '../../../src/cli/output/text-measure.ts'
import { UNICODE_MEASURE } from '../../../src/cli/output/unicode-measure.ts'
import { duration, relative } from '../../../src/cli/output/time.ts'

const plain = (columns: number | undefined) => ({
  columns,
  interactive: columns !== undefined,
  coloured: false,
  style: (_: unknown, text: string) => text,
})

interface Row {
  id: string
  name: string
  size: number
}

const COLUMNS: Column<Row>[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'NAME', value: ({ name }) => name, flexible: true },
  { title: 'SIZE', value: ({ size }) => size, align: 'right' },
]

describe('tables', () => {
  const rows = [
    { id: 'abcdef', name: 'from the beginning to the end', size: 7 },
    { id: 'b', name: '日本語', size: 12 },
  ]

  test('are as wide as they need to be where nobody looks', async () => {
    expect((await formatTable(rows, COLUMNS, plain(undefined))).split('\n')).toEqual([
      'ID      NAME                           SIZE',
      'abcdef  from the beginning to the end     7',
      'b       日本語                           12',
    ])
  })

  test('cut what may be cut, in its middle', async () => {
    expect((await formatTable(rows, COLUMNS, plain(30))).split('\n')).toEqual([
      'ID      NAME              SIZE',
      'abcdef  from the…the end     7',
      'b       日本語              12',
    ])
  })

  test('show of ids what tells them apart, on a terminal', async () => {
    const ids = ['01a206b1-0435-74b4-9fdc-c7fb721f898b', '01a206b1-0dce-7168-8698-37a9e747c196']
    const shown = async (values: readonly string[], columns?: number) => {
      const table = await formatTable(values, [{ title: 'ID', value: (id) => id, id: true }], plain(columns))
      return table.split('\n').slice(1)
    }
    expect(await shown(ids)).toEqual(ids)
    expect(await shown(ids, 80)).toEqual(['01a206b1-0435', '01a206b1-0dce'])
    expect(await shown([ids[0]!, ids[0]!], 80)).toEqual(['01a206b1-0435', '01a206b1-0435'])
    expect(await shown([ids[0]!, ids[0]!.replace('7fb', '7fc')], 80)).toEqual([
      '01a206b1-0435-74b4-9fdc-c7fb',
      '01a206b1-0435-74b4-9fdc-c7fc',
    ])
    expect(await shown([ids[0]!, ids[0]!.replace('74b4', '84b4')], 80)).toEqual(['01a206b1-0435-7', '01a206b1-0435-8'])
  })

  test('leave out columns from the right where that is not enough, and never the first', async () => {
    expect((await formatTable(rows, COLUMNS, plain(17))).split('\n')[0]).toBe('ID      NAME')
    expect((await formatTable(rows, COLUMNS, plain(4))).split('\n')).toEqual(['ID', 'ab…f', 'b'])
  })

  test('of plain text are what those of any text would be', () => {
    const text = fc.string({ unit: fc.constantFrom(...Array.from(' ~aZ09-_:%–…')), maxLength: 30 })
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 32 }), (given, columns) => {
        expect(isPlain(given)).toBe(true)
        expect(PLAIN_MEASURE.width(given)).toBe(UNICODE_MEASURE.width(given))
        expect(PLAIN_MEASURE.cut(given, columns)).toBe(UNICODE_MEASURE.cut(given, columns))
      }),
    )
    for (const other of ['日本語', 'e\u0301', '\u200b', '👩‍💻', '\u001b[1m']) expect(isPlain(other)).toBe(false)
  })

  test('show nothing that moves the cursor', async () => {
    expect(
      (await formatTable([{ id: 'a\u001b[2J\nb', name: '', size: 0 }], COLUMNS, plain(undefined))).split('\n')[1],
    ).toMatch(/^a \[2J b/)
  })
})

test.each([
  [0, '0 s'],
  [0.25, '0.3 s'],
  [9.96, '10 s'],
  [59.6, '1 m'],
  [61, '1 m 1 s'],
  [3_600, '1 h'],
  [90_061, '1 d 1 h'],
  [null, '–'],
])('%j seconds are %s', (seconds, text) => expect(duration(seconds)).toBe(text))

test('relative to now', () => {
  const now = Date.parse('2026-11-21T12:00:00Z')
  expect(relative('2026-11-21T11:58:00Z', now)).toBe('2 m ago')
  expect(relative('2026-11-21T12:00:05Z', now)).toBe('in 5 s')
  expect(relative('2026-11-21T12:00:00.400Z', now)).toBe('now')
  expect(relative(null, now)).toBe('–')
})
