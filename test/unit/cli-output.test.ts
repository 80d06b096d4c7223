import { execFileSync, spawnSync } from 'node:child_process'
import { Command } from 'commander'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { SHELLS } from '../../src/cli/completion/completion.ts'
import { commandTree } from '../../src/cli/completion/tree.ts'
import { duration, instant, relative, slotList, slotUse, timeOfDay } from '../../src/cli/output/format.ts'
import { type Column, formatTable, isPlain, PLAIN_MEASURE, unicodeMeasure } from '../../src/cli/output/table.ts'
import { attemptWords, ranFor } from '../../src/cli/session/session-text.ts'
import { redrawn, safeOutput, safeText } from '../../src/cli/output/terminal.ts'
import { addClientCommands } from '../../src/cli/program.ts'
import { checkProperty } from '../support/seeds.ts'

const program = await addClientCommands(new Command('reprise'))

describe('output', () => {
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

    test('cut columns that may be cut, in the middle', async () => {
      expect((await formatTable(rows, COLUMNS, plain(30))).split('\n')).toEqual([
        'ID      NAME              SIZE',
        'abcdef  from the…the end     7',
        'b       日本語              12',
      ])
    })

    test('shorten ids to a unique prefix on a terminal', async () => {
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
      expect(await shown([ids[0]!, ids[0]!.replace('74b4', '84b4')], 80)).toEqual([
        '01a206b1-0435-7',
        '01a206b1-0435-8',
      ])
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
        { title: 'OUTCOME', value: () => 'exit code 1, out of memory', flexible: true, kept: true },
        { title: 'RAN', value: () => '10 s' },
      ]
      const shown = async (width: number) => (await formatTable([null], columns, plain(width))).split('\n')
      expect(await shown(50)).toEqual([
        'ID      STATUS     OUTCOME',
        expect.stringMatching(/^abcdef  SUCCEEDED  exit co.*memory$/),
      ])
      expect((await shown(28))[0]).toBe('ID      STATUS     OUTCOME')
      expect((await shown(20))[0]).toBe('ID      STATUS')
    })

    test('of plain text equal those of any text', async () => {
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

  test.each([
    [1, 0, 0, 'attempt 1'],
    [1, 0, 1, 'attempt 1 · up to 1 retry'],
    [1, 0, 2, 'attempt 1 · up to 2 retries'],
    [3, 1, 2, 'attempt 3 · retry 1 of 2'],
    // Resubmitted.
    [6, 0, 2, 'attempt 6 · up to 2 retries'],
    [7, 1, 2, 'attempt 7 · retry 1 of 2'],
  ])('attempt %i with %i of %i retries used: %s', (attempt, retryCount, maxRetries, words) => {
    expect(attemptWords({ attempt, retryCount, retryState: { maxAttempts: maxRetries + 1 } })).toBe(words)
  })

  describe('how long an attempt ran', () => {
    const [startedAt, terminatedAt] = ['2026-11-21T12:00:00Z', '2026-11-21T12:00:58Z']
    const usage = { peakMemoryBytes: null, cpuSeconds: null, wallSeconds: 3, source: 'PROCESSES' as const }

    test.each([
      ['as measured, though its end was known late', { startedAt, terminatedAt, usage }, '3 s'],
      ['without a measurement', { startedAt, terminatedAt, usage: { ...usage, wallSeconds: null } }, 'at most 58 s'],
      ['without usage', { startedAt, terminatedAt, usage: null }, 'at most 58 s'],
      ['not at all', { startedAt: null, terminatedAt, usage: null }, '–'],
    ])('%s', (_, attempt, words) => {
      expect(ranFor(attempt)).toBe(words)
    })
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
})

describe('text that is safe for terminals', () => {
  test.each([
    ['plain text, Größe, 大きさ, 👩‍💻\n\tnext', 'plain text, Größe, 大きさ, 👩‍💻\n\tnext'],
    ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
    ['\u001b[2J\u001b[H', '\\u001b[2J\\u001b[H'],
    ['over\rwritten\b', 'over\\u000dwritten\\u0008'],
    ['c1 \u009b31m, turned \u202e, line \u2028', 'c1 \\u009b31m, turned \\u202e, line \\u2028'],
    ['\u001b[31mred\u001b[0m', '\\u001b[31mred\\u001b[0m'],
  ])('control characters of terminals are shown: %j', (text, shown) => {
    expect(safeText(text, false)).toBe(shown)
  })

  test('colours stay where there are some, and nothing else', () => {
    expect(safeText('\u001b[31mred\u001b[0m\u001b[2J', true)).toBe('\u001b[31mred\u001b[0m\\u001b[2J')
  })

  test.each([
    ['10 %\r100 %\u001b[K', '10 %\r100 %\u001b[K'],
    ['\u001b[2K\r\u001b[32mdone\u001b[0m\r\n', '\u001b[2K\r\u001b[32mdone\u001b[0m\r\n'],
    ['\r\u001b[2J\u001b[1A\u001b[3K\u0007', '\r\\u001b[2J\\u001b[1A\\u001b[3K\\u0007'],
  ])('output of a program may redraw its line, and nothing else: %j', (text, shown) => {
    expect(safeOutput(text)).toBe(shown)
  })

  test.each([
    ['10 %\r100 %', '100 %'],
    ['100 %\r\r', '100 %'],
    ['plain', 'plain'],
    ['', ''],
  ])('of %j, %j is seen', (line, seen) => expect(redrawn(line)).toBe(seen))

  test('JSON stays the JSON that it was', () => {
    const value = { name: 'c1 \u009b, deleted \u007f, escaped \u001b' }
    expect(JSON.parse(safeText(JSON.stringify(value), false))).toEqual(value)
  })
})

describe('completion', () => {
  const tree = commandTree(program)
  const has = (shell: string) => spawnSync(shell, ['--version']).status === 0

  describe.skipIf(!has('bash'))('bash (needs bash)', () => {
    const script = SHELLS.bash(tree)

    function complete(...words: string[]): string[] {
      const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reprise; printf '%s\\n' "\${COMPREPLY[@]}"`
      const output = execFileSync('bash', ['--norc', '-c', `${script}\n${ask}`, 'bash', 'reprise', ...words], {
        encoding: 'utf8',
      })
      return output.split('\n').filter(Boolean)
    }

    test.each([
      [['re'], ['retry', 'resubmit', 'resource-groups']],
      [
        ['retry', ''],
        ['now', 'update', 'cancel', '-h', '--help'],
      ],
      [['list', '--lim'], ['--limit']],
      [['list', '--json', '--status', 'er'], ['error']],
      [['tokens', 'create', '--role', 'mem'], ['member']],
      [['switch', 'set', 'c'], ['cluster']],
      [['completion', 'z'], ['zsh']],
      [['run', '--', '/etc/hosts'], ['/etc/hosts']],
      [['list', 'retry', '--stat'], ['--status']],
    ])('%j', (words, expected) => expect(complete(...words)).toEqual(expected))
  })

  describe.each(['zsh', 'fish'] as const)('%s', (shell) => {
    test.skipIf(!has(shell))(`its grammar is right (needs ${shell})`, () => {
      expect(spawnSync(shell, ['-n'], { input: SHELLS[shell](tree), encoding: 'utf8' })).toMatchObject({ status: 0 })
    })

    test('all commands and options are in it', () => {
      const script = SHELLS[shell](tree)
      const flags = tree.flatMap(({ options }) => options.flatMap((option) => option.flags))
      const written = (flag: string) =>
        shell === 'zsh'
          ? script.includes(`*${flag}=[`)
            ? `*${flag}=[`
            : `*${flag}[`
          : flag.startsWith('--')
            ? `-l ${flag.slice(2)} `
            : `-s ${flag.slice(1)} `
      expect(flags.filter((flag) => !script.includes(written(flag)))).toEqual([])
      for (const { path } of tree)
        expect(script).toContain(
          shell === 'zsh' ? `_reprise${path && '_'}${path.replaceAll(/[ -]/g, '_')}() {` : `__reprise_at "${path}"`,
        )
    })
  })

  test('each requested id is named after its kind', () => {
    const placeholders = (command: Command): string[] => [
      ...command.options.filter(({ long }) => long !== '--creation-id').map(({ flags }) => flags),
      ...command.registeredArguments.map((argument) => `<${argument.name()}>`),
      ...command.commands.flatMap(placeholders),
    ]
    const all = placeholders(program)
    expect(all).toContain('--on-agent <agent>')
    expect(all.filter((each) => each.includes('<id>'))).toEqual([])
  })
})
