import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readSession, shellQuoted, shellWords } from '../../../../src/ui/pages/new-session/session-draft.ts'
import { readTiming } from '../../../../src/ui/pages/new-session/timing.ts'
import { sessionAsCommand } from '../../../../src/ui/pages/new-session/session-text.ts'
import { checkProperty } from '../../../support/seeds.ts'

describe('words of a line', () => {
  test.each([
    ['python train.py  --epochs 20', ['python', 'train.py', '--epochs', '20']],
    [`sh -c 'echo "a b"; exit 3'`, ['sh', '-c', 'echo "a b"; exit 3']],
    [`echo "it's" "" a\\ b "\\$HOME \\n"`, ['echo', "it's", '', 'a b', String.raw`$HOME \n`]],
    ['one \\\n  two\nthree', ['one', 'two', 'three']],
    ['', []],
  ])('%j', (line, wanted) => {
    expect(shellWords(line)).toEqual(wanted)
    // The words that a real shell makes of it.
    const printed = spawnSync('sh', ['-c', `printf '%s\\0' x ${line.replaceAll('\n', ' ').replaceAll('\\ ', '" "')}`])
    if (!line.includes('\n')) expect(printed.stdout.toString().split('\0').slice(1, -1)).toEqual(wanted)
  })

  test.each(["echo 'open", 'echo "open'])('%s has an open quote', (line) => {
    expect(shellWords(line)).toBeNull()
  })

  test('a quoted text is one word again', () => {
    checkProperty(
      fc.property(fc.array(fc.string()), (words) => {
        expect(shellWords(words.map(shellQuoted).join(' '))).toEqual(words)
      }),
    )
  })
})

describe('what is typed of a session', () => {
  test('is sent as typed, without empty fields', () => {
    const { input, faults } = readSession({
      command: '/usr/bin/python train.py',
      env: 'A=1\nB=x=y\n',
      labels: 'team=cms ',
      mem: '4g',
      slots: 'cuda.device=1',
      timeout: '1.5h',
      retries: '2',
      image: ' ',
    })
    expect(faults).toEqual({})
    expect(input).toEqual({
      name: 'python',
      command: ['/usr/bin/python', 'train.py'],
      environ: [
        { name: 'A', value: '1' },
        { name: 'B', value: 'x=y' },
      ],
      labels: [{ key: 'team', value: 'cms' }],
      resourceSlots: [
        { slot: 'mem', amount: '4g' },
        { slot: 'cuda.device', amount: '1' },
      ],
      batchTimeout: 5400,
      retryPolicy: { maxRetries: 2 },
    })
  })

  test("has faults at their fields, the server's too", () => {
    const { faults, places } = readSession({ env: 'A', priority: 'high', timeout: 'soon', cpu: '1', slots: 'x=1\ny=2' })
    expect(Object.keys(faults).toSorted()).toEqual(['command', 'env', 'priority', 'timeout'])
    expect(places).toMatchObject({
      'resourceSlots.0': 'cpu',
      'resourceSlots.1': 'slots',
      'resourceSlots.2': 'slots',
      'retryPolicy.retryDelay': 'delay',
    })
  })

  test('is a command with options, and with the policy from standard input where options are not enough', () => {
    const draft = {
      command: `sh -c 'exit 3'`,
      name: 'two words',
      cpu: '0.5',
      slots: 'cuda.device=1',
      retries: '3',
      delay: '5 m',
    }
    expect(sessionAsCommand(draft, readSession(draft).input, null)).toBe(
      [
        'npx reprise create',
        `--name 'two words'`,
        '--cpu 0.5',
        '--slot cuda.device=1',
        '--retries 3',
        '--retry-delay 5m',
        `-- sh -c 'exit 3'`,
      ].join(' \\\n  '),
    )
    const ruled = { command: 'true', rules: '[{"match": {"exitCodes": [3]}, "action": {"eligible": true}}]' }
    expect(sessionAsCommand(ruled, readSession(ruled).input, null)).toMatch(
      /--policy - \\\n {2}-- true <<'JSON'\n\{[^]*\}\nJSON$/,
    )
  })

  test('has a concurrency key with its limit', () => {
    const draft = { command: 'true', concurrencyKey: 'customer-17', concurrencyLimit: '2' }
    const { input } = readSession(draft)
    expect(input).toMatchObject({ concurrencyKey: 'customer-17', concurrencyLimit: 2 })
    expect(sessionAsCommand(draft, input, null)).toContain('--concurrency-key customer-17 \\\n  --concurrency-limit 2')
  })

  test('with times is a command for a schedule', () => {
    const draft = {
      command: './report.sh',
      cron: '30 2 * * *',
      timeZone: 'Europe/Berlin',
      overlap: 'QUEUE',
      spread: '5m',
    }
    const { input } = readSession(draft)
    const timing = readTiming(draft, input.name, Date.UTC(2026, 0, 1))
    expect(timing).toMatchObject({
      input: { name: 'report.sh', cron: '30 2 * * *', timeZone: 'Europe/Berlin', overlap: 'QUEUE', jitter: 300 },
      faults: {},
    })
    expect(timing.times[0]).toBe(Date.UTC(2026, 0, 1, 1, 30))
    expect(sessionAsCommand(draft, input, timing.input)).toBe(
      [
        'npx reprise schedules create report.sh',
        `--cron '30 2 * * *'`,
        '--timezone Europe/Berlin',
        '--overlap queue',
        '--spread 300s',
        '--name report.sh',
        '-- ./report.sh',
      ].join(' \\\n  '),
    )
  })

  test.each([
    [{}, ['cron']],
    [{ cron: '@daily', every: '5m' }, ['every']],
    [{ every: 'often' }, ['every']],
    [{ cron: '@daily', catchUp: 'some' }, ['catchUp']],
    [{ cron: '@daily', timeZone: 'Nowhere' }, ['timeZone']],
  ])('is not made again and again by %j', (draft, fields) => {
    const { faults, times } = readTiming(draft, 'name', 0)
    expect(Object.keys(faults)).toEqual(fields)
    if (fields[0] !== 'catchUp') expect(times).toEqual([])
  })
})
