/** What the log of a failed program says, masked, and the fingerprint that follows. */
import { firstLogDifference } from '../../src/domain/insight/log-difference.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chooseFailureLines, isErrorLike, usualLines } from '../../src/domain/insight/failure-lines.ts'
import { findSimilar, similarityOf } from '../../src/domain/insight/failure-group.ts'
import { type FailureFacts, fingerprintOf } from '../../src/domain/insight/fingerprint.ts'
import { FAILURE_PATTERN_LENGTH_MAX, FAILURE_RULES_MAX } from '../../src/domain/limits.ts'
import { MASK_VERSIONS, MASKED_CHARACTERS_MAX, maskLine } from '../../src/domain/insight/mask-lines.ts'
import { checkProperty } from '../support/seeds.ts'

const nothingIsUsual = () => false

describe('similar groups', () => {
  test('have most words in common, whatever their order', () => {
    // 2 × 6 common words of 7 and 7.
    expect(similarityOf(['disk a of the machine is full'], ['disk b of the machine is full'])).toBe(12 / 14)
    expect(similarityOf(['a b', 'c'], ['c', 'b', 'a'])).toBe(1)
    expect(similarityOf(['a a a b'], ['a b b b'])).toBe(0.5)
    expect(similarityOf([], [])).toBe(0)
    expect(similarityOf(['--- ---'], ['--- ---'])).toBe(0)
  })

  test('come with the most similar one first, without the group itself', () => {
    const group = { id: 'a', masked: ['cannot open <path>: no space left on device'] }
    const others = [
      group,
      { id: 'b', masked: ['cannot write <path>: no space left on device'] },
      { id: 'c', masked: ['cannot open <path>: no space left on device'] },
      { id: 'd', masked: ['killed'] },
    ]
    expect(findSimilar(group, others).map(({ id }) => id)).toEqual(['c', 'b'])
  })

  test('are similar both ways, by a share', () => {
    const lines = fc.array(
      fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 6 }).map((words) => words.join(' ')),
    )
    checkProperty(
      fc.property(lines, lines, (one, other) => {
        const similarity = similarityOf(one, other)
        expect(similarity).toBe(similarityOf(other, one))
        expect(similarity >= 0 && similarity <= 1).toBe(true)
      }),
    )
  })
})

describe('masks', () => {
  test.each([
    ['\u001B[31mError\u001B[0m at 12:34:56.789', 'Error at <time>'],
    ['2026-11-30T06:20:01.123Z worker 7 failed', '<time> worker <n> failed'],
    ['Nov 30 06:20:01 node-7 kernel: oom', '<time> <id> kernel: oom'],
    ['job 0f8fad5b-d9cb-469f-a165-70867728950e is gone', 'job <uuid> is gone'],
    ['GET https://api.example.com/v1/items?id=3 failed: 503', 'GET <url> failed: <n>'],
    ['connect to 10.0.0.12:5432 refused', 'connect to <ip> refused'],
    ['cannot resolve db1.internal.example.com:5432', 'cannot resolve <host>'],
    ['link 00:1a:2b:3c:4d:5e down', 'link <mac> down'],
    ['segfault at 0xdeadbeef ip 00007f12ab34cd56', 'segfault at <hex> ip <hex>'],
    ['File "/home/ann/run-12/train.py", line 41, in main', 'File "<path>/train.py", line <n>, in main'],
    ["No such file: '/scratch/ann/x9/data.bin'", "No such file: '<path>'"],
    ['task_0a1 of blk_123 lost', '<id> of <id> lost'],
    ['used 2.5 GiB of 2GiB after 90 s (99%)', 'used <n> of <n> after <n> (<n>)'],
    [
      'RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x16 and 32x4)',
      'RuntimeError: mat<n> and mat<n> shapes cannot be multiplied (<n>x<n> and <n>x<n>)',
    ],
    ['java.lang.NullPointerException: x', 'java.lang.NullPointerException: x'],
  ])('%s', (line, masked) => {
    expect(maskLine(line)).toBe(masked)
  })

  test('take no longer than a line is long, whatever it has', () => {
    const characters = ['/', '.', ':', '-', '_', 'a', '0', 'f', ' ', '<', '\\', '%', 'x']
    const text = fc
      .array(fc.constantFrom(...characters), { minLength: 300, maxLength: 400 })
      .map((each) => each.join(''))
    checkProperty(
      fc.property(text, (line) => {
        const began = performance.now()
        expect(maskLine(line).length).toBeLessThan(2_000)
        expect(performance.now() - began).toBeLessThan(200)
      }),
    )
  })
})

describe('the lines that say why', () => {
  const python = `step 1
Traceback (most recent call last):
  File "/usr/lib/python3.11/runpy.py", line 198, in _run_module_as_main
    return _run_code(code)
  File "/srv/train.py", line 41, in main
    load(path)
  File "/env/lib/python3.11/site-packages/torch/serialization.py", line 998, in load
    with open(path)
FileNotFoundError: [Errno 2] No such file or directory: 'data/7.pt'
cleaning up`

  test.each<[string, string, string, string[]]>([
    [
      'a traceback of Python',
      python,
      'traceback',
      ["FileNotFoundError: [Errno 2] No such file or directory: 'data/7.pt'", 'at /srv/train.py in main'],
    ],
    [
      'the last of several',
      `Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File "b.py", line 2, in g\nValueError: bad`,
      'traceback',
      ['ValueError: bad', 'at b.py in g'],
    ],
    [
      'the last cause in Java',
      `Exception in thread "main" java.lang.RuntimeException: wrapped\n\tat org.acme.Main.run(Main.java:9)\nCaused by: java.io.IOException: disk quota exceeded\n\tat java.base/java.io.FileOutputStream.write(FileOutputStream.java:1)\n\tat org.acme.Store.put(Store.java:77)\n\t... 3 more`,
      'traceback',
      ['java.io.IOException: disk quota exceeded', 'at org.acme.Store.put'],
    ],
    [
      'an error of Node',
      `TypeError: Cannot read properties of undefined (reading 'id')\n    at get (/app/node_modules/x/index.js:3:1)\n    at main (/app/src/run.js:10:5)`,
      'traceback',
      ["TypeError: Cannot read properties of undefined (reading 'id')", 'at /app/src/run.js in main'],
    ],
    [
      'a panic of Go',
      `panic: index out of range [3]\n\ngoroutine 1 [running]:\nmain.work(0x1)\n\t/src/main.go:9 +0x1d`,
      'traceback',
      ['panic: index out of range [3]', 'at main.work'],
    ],
    [
      'a panic of Rust',
      `thread 'main' panicked at src/main.rs:4:5:\nno data`,
      'traceback',
      ['panicked: no data', 'at src/main.rs'],
    ],
    [
      'what C++ throws',
      `terminate called after throwing an instance of 'std::runtime_error'\n  what():  bad geometry`,
      'traceback',
      ['std::runtime_error: bad geometry'],
    ],
    [
      'the report of a sanitizer',
      `==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x6`,
      'traceback',
      ['ERROR: AddressSanitizer: heap-use-after-free on address 0x6'],
    ],
    [
      'the first error lines',
      `ok\nwarning: deprecated, may fail\nERROR: cannot open a\nfatal: b\nError: c\nError: d\ntotal: 0 errors\n`,
      'errors',
      ['ERROR: cannot open a', 'fatal: b', 'Error: c'],
    ],
    ['the last line', 'one\ntwo\n\n', 'last', ['two']],
    ['nothing', '\n \n', 'none', []],
  ])('%s', (_what, log, kind, lines) => {
    expect(chooseFailureLines(log, nothingIsUsual)).toEqual({ kind, lines })
  })

  test('leave out what successful runs print, too', () => {
    const usual = new Set(usualLines('ERROR: retrying 7\nall is well\n', maskLine))
    const chosen = chooseFailureLines('ERROR: retrying 12\nERROR: disk full\n', (line) => usual.has(maskLine(line)))
    expect(chosen.lines).toEqual(['ERROR: disk full'])
  })

  test.each(['no errors', 'errors: 0', 'failed=0', 'Warning: invalid', '0 failures'])('%s is no error', (line) => {
    expect(isErrorLike(line)).toBe(false)
  })
})

describe('a fingerprint', () => {
  const facts = (log: string, more: Partial<FailureFacts> = {}): FailureFacts => ({
    cause: 'KERNEL_NONZERO_EXIT',
    exitCode: 1,
    error: { name: 'kernel-exited', message: 'exited with 1', exitCode: 1 },
    log,
    isUsual: nothingIsUsual,
    rules: [],
    ...more,
  })
  const of = (log: string, more?: Partial<FailureFacts>) => fingerprintOf(facts(log, more)).fingerprint

  test('is the same for what differs only in what is masked', () => {
    expect(of('12:00:01 ERROR: shard 7 of /data/a/7 is broken')).toBe(
      of('13:10:59 ERROR: shard 12 of /data/b/12 is broken'),
    )
    expect(of('ERROR: shard 7 is broken')).not.toBe(of('ERROR: shard 7 is locked'))
    expect(of('ERROR: x')).not.toBe(of('ERROR: x', { exitCode: 2 }))
  })

  test('of a failure that the program did not cause is that of its message, whatever the log says', () => {
    const error = { name: 'agent-lost', message: 'its agent was lost' }
    const lost = { cause: 'AGENT_TRANSIENT', error, exitCode: null } as const
    expect(of('ERROR: a', lost)).toBe(of('step 7', lost))
    expect(fingerprintOf(facts('ERROR: a', lost)).title).toBe('its agent was lost')
  })

  test('is that of the program, if it gives one', () => {
    const verdict = { reason: 'no data', retry: null, delaySeconds: null, fault: null, fingerprint: 'data-missing' }
    const error = { name: 'kernel-exited', message: 'no data', exitCode: 3, verdict }
    expect(of('ERROR: a', { error })).toBe(of('ERROR: b', { error, exitCode: 4 }))
    expect(fingerprintOf(facts('ERROR: a', { error })).title).toBe('data-missing')
  })

  test('is that of the first rule that matches one of its lines, as written or masked', () => {
    const rules = [
      { pattern: '*shard ? is broken*', name: 'first ten' },
      { pattern: '*shard <n> is broken', name: 'shards' },
      { pattern: '*locked', name: 'shards' },
    ]
    const named = (log: string, more = {}) => fingerprintOf(facts(log, { rules, ...more }))
    expect(named('ERROR: shard 7 is broken')).toMatchObject({
      title: 'first ten',
      rule: '*shard ? is broken*',
      lines: ['ERROR: shard 7 is broken'],
      masked: ['ERROR: shard <n> is broken'],
    })
    expect(named('ERROR: shard 12 is broken')).toMatchObject({ title: 'shards', rule: '*shard <n> is broken' })
    expect(named('ERROR: it is locked', { exitCode: 9 }).fingerprint).toBe(
      named('ERROR: shard 12 is broken').fingerprint,
    )
    expect(named('ERROR: else')).toEqual(fingerprintOf(facts('ERROR: else')))
    expect(named('ERROR: else').rule).toBeNull()
    // The program knows better.
    const verdict = { reason: null, retry: null, delaySeconds: null, fault: null, fingerprint: 'mine' }
    const error = { name: 'kernel-exited', message: 'x', exitCode: 3, verdict }
    expect(named('ERROR: it is locked', { error })).toMatchObject({ title: 'mine', rule: null })
    const lost = { name: 'agent-lost', message: 'node-7 is locked' }
    expect(named('', { error: lost, cause: 'AGENT_TRANSIENT' })).toMatchObject({ title: 'shards' })
  })

  test('depends on the version of the masks, unless people or programs give it', () => {
    const versions = [{ version: 2, mask: maskLine }, MASK_VERSIONS[0]] as const
    const given = facts('ERROR: shard 7 is broken')
    const [before, after] = [fingerprintOf(given), fingerprintOf(given, versions)]
    expect(after).toEqual({ ...before, version: 2, fingerprint: after.fingerprint, former: before.fingerprint })
    expect(after.fingerprint).not.toBe(before.fingerprint)
    const verdict = { reason: null, retry: null, delaySeconds: null, fault: null, fingerprint: 'mine' }
    const error = { name: 'kernel-exited', message: 'x', exitCode: 3, verdict }
    for (const more of [{ error }, { rules: [{ pattern: '*shard*', name: 'shards' }] }]) {
      const named = facts('ERROR: shard 7 is broken', more)
      expect(fingerprintOf(named, versions)).toEqual({ ...fingerprintOf(named), version: 2 })
      expect(fingerprintOf(named, versions).former).toBeNull()
    }
  })

  test('takes bounded time, whatever the rules and the lines are', () => {
    const texts = [
      [`*${'a'.repeat(FAILURE_PATTERN_LENGTH_MAX - 2)}b`, 'a'],
      [`${'*a'.repeat(FAILURE_PATTERN_LENGTH_MAX / 2 - 1)}b`, 'a'],
      [`*${'?'.repeat(FAILURE_PATTERN_LENGTH_MAX - 2)}~`, 'a'],
    ] as const
    for (const [pattern, letter] of texts) {
      const rules = Array.from({ length: FAILURE_RULES_MAX }, () => ({ pattern, name: 'x' }))
      const log = [1, 2, 3].map((n) => `ERROR ${n} ${letter.repeat(MASKED_CHARACTERS_MAX)}`).join('\n')
      const began = performance.now()
      expect(fingerprintOf(facts(log, { rules })).rule).toBeNull()
      expect(performance.now() - began).toBeLessThan(1_000)
    }
  })

  test('exists for every text', () => {
    checkProperty(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (log) => {
        const { fingerprint, lines, masked } = fingerprintOf(facts(log))
        expect(fingerprint).toMatch(/^[\w-]{27}$/)
        expect(masked).toHaveLength(lines.length)
      }),
    )
  })
})

describe('the first difference of two logs', () => {
  test('ignores what differs in each run, and empty lines', () => {
    const one = 'epoch 1 of 3 in 0.5 s\n\n2026-01-02T03:04:05Z loaded /data/a\nloss 0.4\n'
    const other = 'epoch 2 of 9 in 11.25 s\r\n2027-02-03T04:05:06Z loaded /data/b\r\nloss 7\r\n'
    expect(firstLogDifference(one, other)).toBeNull()
    expect(firstLogDifference('', '')).toBeNull()
  })

  test('has its numbers, both lines, and what came before', () => {
    const found = firstLogDifference('a\n\nb 1\nc\nd\nTraceback\n', 'a\nb 2\nc\nd\ne\nf')
    expect(found).toEqual({
      leftNumber: 6,
      rightNumber: 5,
      leftLine: 'Traceback',
      rightLine: 'e',
      linesBefore: ['b 1', 'c', 'd'],
      leftLinesAfter: [],
      rightLinesAfter: ['f'],
    })
  })

  test('is the end of a log that stops early', () => {
    expect(firstLogDifference('a\nb\n', 'a\n')).toEqual({
      leftNumber: 2,
      rightNumber: 2,
      leftLine: 'b',
      rightLine: null,
      linesBefore: ['a'],
      leftLinesAfter: [],
      rightLinesAfter: [],
    })
    expect(firstLogDifference('', 'x')).toMatchObject({ leftNumber: 1, leftLine: null, rightLine: 'x' })
  })

  test('cuts endless lines', () => {
    const found = firstLogDifference('x'.repeat(100_000), 'y'.repeat(100_000))!
    expect([found.leftLine!.length, found.rightLine!.length]).toEqual([400, 400])
  })
})
