import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Column, formatTable, isPlain, PLAIN_MEASURE, unicodeMeasure } from '../../../src/cli/output/table.ts'
import { duration, instant, relative, slotList, slotUse, timeOfDay } from '../../../src/cli/output/format.ts'
import { checkProperty } from '../../support/seeds.ts'

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

  test('keep some to the last, readable while others can be left out', async () => {
    const columns: Column<null>[] = [
      { title: 'ID', value: () => 'abcdef' },
      { title: 'STATUS', value: () => 'SUCCEEDED', kept: true },
      { title: 'RETRY', value: () => 'DISPATCHED' },
      { title: 'OUTCOME', value: () => 'exit code 1, KERNEL_NONZERO_EXIT', flexible: true, kept: true },
      { title: 'RAN', value: () => '10 s' },
    ]
    const shown = async (width: number) => (await formatTable([null], columns, plain(width))).split('\n')
    expect(await shown(50)).toEqual([
      'ID      STATUS     OUTCOME',
      expect.stringMatching(/^abcdef  SUCCEEDED  exit cod.*EXIT$/),
    ])
    expect((await shown(28))[0]).toBe('ID      STATUS     OUTCOME')
    expect((await shown(20))[0]).toBe('ID      STATUS')
  })

  test('of plain text are what those of any text would be', async () => {
    const unicode = await unicodeMeasure()
    const text = fc.string({ unit: fc.constantFrom(...Array.from(' ~aZ09-_:%–…')), maxLength: 30 })
    checkProperty(
      fc.property(text, fc.integer({ min: 1, max: 32 }), (given, columns) => {
        expect(isPlain(given)).toBe(true)
        expect(PLAIN_MEASURE.width(given)).toBe(unicode.width(given))
        expect(PLAIN_MEASURE.cut(given, columns)).toBe(unicode.cut(given, columns))
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
  expect(relative('2026-11-21T11:56:55Z', now)).toBe('3 m ago')
  expect(relative('2026-11-20T05:00:00Z', now)).toBe('1 d ago')
  expect(relative('2026-11-21T11:59:48Z', now)).toBe('12 s ago')
  expect(relative('2026-11-21T12:00:05Z', now)).toBe('in 5 s')
  expect(relative('2026-11-21T12:01:20Z', now)).toBe('in 1 m 20 s')
  expect(relative('2026-11-21T12:00:00.400Z', now)).toBe('now')
  expect(relative(null, now)).toBe('–')
})

describe('times have their zone', () => {
  afterEach(() => vi.unstubAllEnvs())

  test.each([
    ['UTC', '2026-11-21 12:00:03Z', '12:00:03.250Z'],
    ['Asia/Kolkata', '2026-11-21 17:30:03+05:30', '17:30:03.250+05:30'],
    ['America/St_Johns', '2026-11-21 08:30:03-03:30', '08:30:03.250-03:30'],
  ])('%s', (zone, whole, ofDay) => {
    vi.stubEnv('TZ', zone)
    expect(instant('2026-11-21T12:00:03.250Z')).toBe(whole)
    expect(timeOfDay('2026-11-21T12:00:03.250Z')).toBe(ofDay)
  })
})

test('slots: bytes as people write them', () => {
  const GIB = 2 ** 30
  const mem = (used: number, capacity: number) =>
    slotUse({ slot: 'mem', used: String(used), capacity: String(capacity) })
  expect(mem(1.5 * GIB, 16 * GIB)).toBe('mem 1.5/16 GiB')
  expect(mem(GIB / 2, 16 * GIB)).toBe('mem 512 MiB/16 GiB')
  expect(mem(0, GIB / 2)).toBe('mem 0/512 MiB')
  expect(mem(100, 1000)).toBe('mem 100/1000')
  expect(slotUse({ slot: 'cpu', used: '0.5', capacity: '8' })).toBe('cpu 0.5/8')
  expect(
    slotList([
      { slot: 'cpu', amount: '2' },
      { slot: 'cuda.mem', amount: '1073741824' },
    ]),
  ).toBe('cpu 2, cuda.mem 1 GiB')
})
