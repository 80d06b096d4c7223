import { describe, expect, test } from 'vitest'
import { type NewestAttempt, outlook } from '../../src/domain/chain/outlook.ts'
import { type AttemptSpec, flattenOverrides, specDifference } from '../../src/domain/chain/spec-difference.ts'
import { attemptWindow } from '../../src/graphql/paging.ts'
import { assemblePage, type PageArguments, serialCursor } from '../../src/services/paging.ts'

describe('the outlook of a chain', () => {
  const RUNNING: NewestAttempt = {
    status: 'RUNNING',
    sessionType: 'BATCH',
    attempt: 3,
    retryCount: 2,
    maxRetries: 3,
    phase: null,
    explanation: null,
    holdReason: null,
    heldBy: null,
    dueAt: null,
  }
  const NOW = new Date('2026-06-01T12:00:00Z')
  const LATER = new Date('2026-06-01T12:01:00Z')
  const EARLIER = new Date('2026-06-01T11:59:00Z')

  test.each<[string, Partial<NewestAttempt>, boolean, string, Date | null]>([
    ['one retry is left', {}, true, 'attempt 3 is RUNNING; 1 of 3 retries is left if it fails', null],
    ['all retries are used', { retryCount: 3 }, false, 'attempt 3 is RUNNING; all 3 retries are used', null],
    ['it has no retries', { retryCount: 0, maxRetries: 0 }, false, 'attempt 3 is RUNNING; maxRetries is 0', null],
    [
      'the session is interactive',
      { sessionType: 'INTERACTIVE' },
      false,
      'INTERACTIVE sessions are never retried',
      null,
    ],
    [
      'the attempt has ended, without a decision yet',
      { status: 'ERROR' },
      true,
      'attempt 3 is over and not yet judged; 1 of 3 retries is left if it fails',
      null,
    ],
    ['the retry waits', { phase: 'SCHEDULED', explanation: 'exit code 1', dueAt: LATER }, true, 'exit code 1', LATER],
    [
      'the retry is held',
      { phase: 'HELD', explanation: 'exit code 1', dueAt: LATER },
      true,
      'held; exit code 1',
      LATER,
    ],
    [
      'the retry is held for longer than its backoff',
      { phase: 'HELD', explanation: 'exit code 1', dueAt: EARLIER },
      true,
      'held; exit code 1',
      null,
    ],
    [
      'a switch holds the retry',
      {
        phase: 'HELD',
        explanation: 'exit code 1',
        holdReason: 'DISABLED',
        heldBy: {
          scope: 'PROJECT',
          name: 'research',
          by: 'ada',
          reason: 'storm',
          since: '2026-06-01T11:00:00.000Z',
          until: '2026-06-01T13:00:00.000Z',
        },
      },
      true,
      'held: retries are switched off (project research), set by ada, until 2026-06-01T13:00:00Z: storm; exit code 1',
      null,
    ],
    ['the retries are exhausted', { phase: 'EXHAUSTED', explanation: 'all used' }, false, 'all used', null],
  ])('the outlook of a chain: %s', (_, more, willRetry, reason, at) => {
    expect(outlook({ ...RUNNING, ...more }, NOW)).toEqual({ willRetry, reason, at })
  })
})

describe('differences between attempts', () => {
  const ENVIRON = [
    { name: 'B', value: '1' },
    { name: 'A', value: '' },
  ]
  const SPEC: AttemptSpec = {
    image: null,
    command: ['sh', '-c', 'true'],
    environ: ENVIRON,
    secretEnviron: [{ name: 'KEY', sealed: 'a', digest: 'd' }],
    resourceSlots: { cpu: '1', mem: '1024' },
    clusterMode: 'SINGLE_NODE',
    clusterSize: 1,
    batchTimeout: 60,
    priority: 10,
    labels: {},
    resourceGroup: 'default',
    retryPolicy: { maxRetries: 1, maxElapsed: null, rules: [] },
    avoidAgents: [],
    allowAgents: [],
    excludeAgents: [],
    avoidGroups: [],
  }

  test('the same spec has no differences, whatever the order of its maps', () => {
    const turned = { ...SPEC, environ: ENVIRON.toReversed(), resourceSlots: { mem: '1024', cpu: '1' } }
    expect(specDifference(SPEC, turned)).toEqual([])
  })

  test.each<[string, Partial<AttemptSpec>, object[]]>([
    ['text', { image: 'python' }, [{ field: 'image', before: null, after: 'python' }]],
    ['a number', { batchTimeout: 90.5 }, [{ field: 'batchTimeout', before: '60', after: '90.5' }]],
    ['a number that goes', { batchTimeout: null }, [{ field: 'batchTimeout', before: '60', after: null }]],
    ['a list', { command: ['true'] }, [{ field: 'command', before: '["sh","-c","true"]', after: '["true"]' }]],
    [
      'one of a map',
      { resourceSlots: { cpu: '1', mem: '2048' } },
      [{ field: 'resourceSlots.mem', before: '1024', after: '2048' }],
    ],
    [
      'what its GPUs must be like',
      { gpuNeed: { model: null, memoryBytes: 1024 } },
      [{ field: 'gpus.memory', before: null, after: '1024' }],
    ],
    [
      'variables that come, go, and were empty',
      {
        environ: [
          { name: 'C', value: '' },
          { name: 'A', value: 'x' },
        ],
      },
      [
        { field: 'environ.A', before: '', after: 'x' },
        { field: 'environ.B', before: '1', after: null },
        { field: 'environ.C', before: null, after: '' },
      ],
    ],
    [
      'fields of the policy',
      { retryPolicy: { maxRetries: 0, maxElapsed: 60, rules: [{ action: 'FAIL' }] } },
      [
        { field: 'retryPolicy.maxElapsed', before: null, after: '60' },
        { field: 'retryPolicy.maxRetries', before: '1', after: '0' },
        { field: 'retryPolicy.rules', before: '[]', after: '[{"action":"FAIL"}]' },
      ],
    ],
  ])('a difference in %s', (_name, changed, differences) => {
    expect(specDifference(SPEC, { ...SPEC, ...changed })).toEqual(differences)
  })

  test('overrides are listed one by one', () => {
    const overrides = { priority: 3, batchTimeout: null, resourceSlots: { mem: '1' }, avoidAgents: ['a'] }
    const before = { priority: 10, batchTimeout: 60, resourceSlots: { cpu: '1', mem: '2' } }
    expect(flattenOverrides(overrides, before)).toEqual([
      { field: 'avoidAgents', value: '["a"]', before: null },
      { field: 'batchTimeout', value: null, before: '60' },
      { field: 'priority', value: '3', before: '10' },
      { field: 'resourceSlots.mem', value: '1', before: '2' },
    ])
  })
})

describe('windows of attempts', () => {
  const ATTEMPTS = 5

  /** The page as a chain's `sessions` makes it, of attempts that are numbers. */
  function pageOf(args: PageArguments) {
    const { after, limit, backward } = attemptWindow(args, ATTEMPTS)
    const found = Array.from({ length: limit }, (_, index) => ({ attempt: after + index + 1 }))
    const rows = backward ? found.toReversed() : found
    const page = assemblePage({
      args,
      rows,
      cursorOf: (row) => serialCursor(String(row.attempt)),
      count: async () => 0,
    })
    return { attempts: page.edges.map(({ node }) => node.attempt), ...page.pageInfo }
  }

  /** All sizes from both ends, between all pairs of places, beyond the ends too. */
  test('every page is the slice of the list that it names', () => {
    const places = [null, 1, 2, 3, 4, 5, 9]
    let pages = 0
    for (const after of places) {
      for (const before of places) {
        for (const size of [0, 1, 2, 5, 20]) {
          const cursors = {
            after: after && serialCursor(String(after)),
            before: before && serialCursor(String(before)),
          } as PageArguments
          const between = [1, 2, 3, 4, 5].filter((attempt) => attempt > (after ?? 0) && attempt < (before ?? 99))
          const forward = pageOf({ ...cursors, first: size })
          expect(forward.attempts).toEqual(between.slice(0, size))
          expect(forward.hasNextPage).toBe(between.length > size)
          const backward = pageOf({ ...cursors, last: size })
          expect(backward.attempts).toEqual(size === 0 ? [] : between.slice(-size))
          expect(backward.hasPreviousPage).toBe(between.length > size)
          pages += 2
        }
      }
    }
    expect(pages).toBe(490)
  })
})
