import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createChainReports } from '../../../src/agent/chain-reports.ts'
import { createChainSizes } from '../../../src/agent/chain-reports.ts'
import type { KernelEntry } from '../../../src/agent/executors/kernels/kernel-entry.ts'
import { chainDirectory } from '../../../src/agent/executors/chain/chain-directory.ts'
import type { ChainHost } from '../../../src/agent/executors/chain/chain-host.ts'
import { leftCheckpoint } from '../../../src/agent/executors/chain/look-at-checkpoint.ts'
import {
  type CheckpointOffer,
  judgeCheckpoint,
  readFoundCheckpoint,
  readLeftCheckpoint,
} from '../../../src/domain/agent/checkpoint.ts'
import {
  CHAIN_MEASURE_INTERVAL_MS,
  CHAIN_REPORT_INTERVAL_MS,
  CHECKPOINT_LOOK_ENTRIES_MIN,
  DROPPED_CHAINS_MAX,
} from '../../../src/domain/limits.ts'
import { kernelSpec } from '../../contract/executor/executor-subject.ts'
import { checkProperty } from '../../support/seeds.ts'

const log = pino({ enabled: false })

describe('reports of chain directories', () => {
  function subject(stored: string[], atOnceMax = 10) {
    const clock = { now: 0 }
    const chains = {
      store: '00000000-0000-4000-8000-000000000000',
      list: async () => stored.map((chainId) => ({ chainId, oldest: 0 })),
      isUncounted: false,
      measure: async () => [],
      drop: (id: string) => stored.includes(id) && stored.splice(stored.indexOf(id), 1).length > 0,
    }
    const reports = createChainReports(chains, log, { now: () => clock.now, atOnceMax })
    const next = async () => {
      reports.next()
      await turn()
      return reports.next()
    }
    return { clock, reports, next, stored }
  }

  test('all directories are reported at the start and then hourly, each report until it is answered', async () => {
    const { clock, reports, next } = subject(['a', 'b'])
    const first = await next()
    expect(first).toEqual({ after: null, upTo: null, chainIds: ['a', 'b'] })
    expect(await next()).toBe(first)
    reports.answered(first!, { dropChains: ['b'] })
    clock.now = CHAIN_REPORT_INTERVAL_MS - 1
    expect(await next()).toBeUndefined()
    clock.now++
    expect(await next()).toEqual({ after: null, upTo: null, chainIds: ['a'] })
  })

  test('many are reported in parts, and all of them again to a server that knows nothing', async () => {
    const { reports, next } = subject(['a', 'b', 'c'], 2)
    const first = await next()
    expect(first).toEqual({ after: null, upTo: 'b', chainIds: ['a', 'b'] })
    reports.answered(first!, {})
    expect(await next()).toEqual({ after: 'b', upTo: null, chainIds: ['c'] })
    reports.restart()
    expect(await next()).toEqual(first)
  })

  test('where an answer names as many as it may, the same part is reported again, unless none could be dropped', async () => {
    const ids = Array.from({ length: DROPPED_CHAINS_MAX + 1 }, (_, index) => `chain-${index}`)
    const { reports, next, stored } = subject([...ids], 10_000)
    reports.answered((await next())!, { dropChains: ids.slice(0, DROPPED_CHAINS_MAX) })
    expect(stored).toHaveLength(1)
    const second = await next()
    expect(second?.chainIds).toEqual(stored)
    reports.answered(second!, { dropChains: ids.slice(0, DROPPED_CHAINS_MAX) })
    expect(await next()).toBeUndefined()
  })

  test('an executor without directories reports nothing', () => {
    expect(createChainReports(undefined, log).next()).toBeUndefined()
  })
})

describe('sizes of chain directories', () => {
  function subject(bytes: Record<string, number>, atOnceMax = 10) {
    const clock = { now: 0 }
    const uncounted = new Set<string>()
    const measure = async (all: boolean) => {
      const measured = Object.entries(bytes).filter(([chainId]) => all || uncounted.has(chainId))
      uncounted.clear()
      return measured.map(([chainId, size]) => ({ chainId, generation: 0, bytes: size }))
    }
    const chains = {
      store: 'a',
      list: async () => [],
      drop: () => false,
      get isUncounted() {
        return uncounted.size > 0
      },
      measure,
    }
    const sizes = createChainSizes(chains, log, { now: () => clock.now, atOnceMax })
    const next = async () => {
      sizes.next()
      await turn()
      return sizes.next()?.map((size) => `${size.chainId} ${size.bytes}`)
    }
    return { bytes, uncounted, clock, sizes, next }
  }

  test('changed sizes are reported at the start and then every few minutes, each until it is answered', async () => {
    const { bytes, clock, sizes, next } = subject({ a: 1, b: 2 })
    expect(await next()).toEqual(['a 1', 'b 2'])
    expect(await next()).toEqual(['a 1', 'b 2'])
    sizes.answered()
    bytes['b'] = 3
    clock.now = CHAIN_MEASURE_INTERVAL_MS - 1
    expect(await next()).toBeUndefined()
    clock.now++
    expect(await next()).toEqual(['b 3'])
  })

  test('only a failed count is reported at once', async () => {
    const { bytes, uncounted, clock, sizes, next } = subject({ a: 1, b: 2 })
    await next()
    sizes.answered()
    Object.assign(bytes, { a: 5, b: 6 })
    uncounted.add('b')
    expect(await next()).toEqual(['b 6'])
    sizes.answered()
    expect(await next()).toBeUndefined()
    clock.now = CHAIN_MEASURE_INTERVAL_MS
    expect(await next()).toEqual(['a 5'])
  })

  test('many are reported in parts, and all of them again to a server that knows nothing', async () => {
    const { sizes, next } = subject({ a: 1, b: 2, c: 3 }, 2)
    expect(await next()).toEqual(['a 1', 'b 2'])
    sizes.answered()
    expect(await next()).toEqual(['c 3'])
    sizes.restart()
    expect(await next()).toEqual(['a 1', 'b 2'])
  })

  test('an executor without directories has no report', () => {
    expect(createChainSizes(undefined, log).next()).toBeUndefined()
  })
})

describe('checkpoints', () => {
  const [OWN, OTHER] = ['store-1', 'store-2']

  function offer(attempt: number, store: string | null): CheckpointOffer {
    return { generation: 0, newest: { attempt, store } }
  }

  /** The checkpoint that attempt 5 finds, in words. */
  function finds(
    given: CheckpointOffer | null | undefined,
    how: { mark?: number; markFound?: number; isEmpty?: boolean; isFirstKernel?: boolean } = {},
  ): string {
    const { mark, markFound, isEmpty = false, isFirstKernel = true } = how
    const before = markFound === undefined ? null : ({ state: 'FETCHED', attempt: markFound } as const)
    const known = mark === undefined ? null : { attempt: mark, found: before }
    const place = { attempt: 5, isFirstKernel, offer: given, store: OWN, mark: known, isEmpty }
    const { found, isStale } = judgeCheckpoint(place)
    return `${found?.state ?? 'NONE'}${found?.attempt ?? ''}${isStale ? ' aside' : ''}`
  }

  test.each([
    ['nothing anywhere', finds(null, { isEmpty: true }), 'NONE'],
    ['of an older agent or server', finds(undefined), 'HERE'],
    ['never reported', finds(null, { mark: 3 }), 'HERE3'],
    ['on record here', finds(offer(4, OWN), { mark: 4 }), 'HERE4'],
    ['on record here, and gone on with by one that died', finds(offer(2, OWN), { mark: 4 }), 'HERE4'],
    ['on record here, unmarked', finds(offer(2, OWN)), 'HERE2'],
    ['on record here, and emptied', finds(offer(2, OWN), { isEmpty: true }), 'MISSING2'],
    ['on record here, and put back from a backup', finds(offer(4, OWN), { mark: 2 }), 'MISSING4 aside'],
    ['elsewhere', finds(offer(4, OTHER), { isEmpty: true }), 'MISSING4'],
    ['elsewhere, an old one here', finds(offer(4, OTHER), { mark: 3 }), 'MISSING4 aside'],
    ['elsewhere, one of unknown age here', finds(offer(4, OTHER)), 'MISSING4 aside'],
    ['elsewhere, a newer one here', finds(offer(3, OTHER), { mark: 4 }), 'HERE4'],
    ['elsewhere, of the same attempt', finds(offer(4, OTHER), { mark: 4 }), 'MISSING4 aside'],
    ["another kernel's own", finds(offer(4, OTHER), { mark: 4, isFirstKernel: false }), 'HERE4'],
    ['dropped', finds(offer(4, null), { isEmpty: true }), 'MISSING4'],
    ['taken by this attempt before', finds(offer(4, OTHER), { mark: 5 }), 'NONE'],
    ['taken by this attempt before, and put back', finds(offer(5, OWN), { mark: 5, markFound: 4 }), 'HERE5'],
    ['put back, and gone on with elsewhere', finds(offer(5, OTHER), { mark: 5, markFound: 4 }), 'MISSING5 aside'],
    ['put back, and gone on with elsewhere, and empty', finds(offer(5, OTHER), { isEmpty: true }), 'MISSING5'],
    ['put back, and taken again', finds(offer(5, OTHER), { mark: 5, markFound: 5 }), 'FETCHED5'],
  ])('%s', (_, found, expected) => expect(found).toBe(expected))

  test('an older directory is never used for the record, and no newer one is moved aside', () => {
    const attempts = fc.integer({ min: 1, max: 6 })
    const place = fc.record({
      attempt: fc.constant(7),
      isFirstKernel: fc.boolean(),
      offer: fc.record({ attempt: attempts, store: fc.constantFrom(OWN, OTHER, null) }).map((newest) => ({
        generation: 0,
        newest,
      })),
      store: fc.constant(OWN),
      mark: fc.option(attempts.map((attempt) => ({ attempt, found: null }))),
      isEmpty: fc.boolean(),
    })
    checkProperty(
      fc.property(place, (given) => {
        const { found, isStale } = judgeCheckpoint(given)
        const { newest } = given.offer
        expect(found).not.toBeNull()
        if (found!.state === 'HERE') {
          expect(given.isEmpty).toBe(false)
          expect(found!.attempt).toBeGreaterThanOrEqual(newest.attempt)
        } else expect(found).toEqual({ state: 'MISSING', attempt: newest.attempt })
        if (isStale) expect(given.mark?.attempt ?? 0).toBeLessThanOrEqual(newest.attempt)
      }),
    )
  })

  test.each([undefined, null, 'here', [], { state: 'NONE' }, { files: 3 }])('%j is ignored', (value) => {
    expect([readFoundCheckpoint(value), readLeftCheckpoint(value)]).toEqual([null, null])
  })

  test('figures that are none count as unknown', () => {
    expect(readFoundCheckpoint({ state: 'HERE', attempt: 1e300 })).toEqual({ state: 'HERE', attempt: null })
    const left = { generation: 1, files: -1, bytes: Number.NaN, newestAt: '+275760-09-13T00:00:00.000Z' }
    expect(readLeftCheckpoint(left)).toEqual({ generation: 1, files: null, bytes: null, newestAt: null })
  })
})

describe('looking at a checkpoint', () => {
  const chainsDir = mkdtempSync(join(tmpdir(), 'reprise-look-'))
  afterEach(() => {
    vi.restoreAllMocks()
    rmSync(chainsDir, { recursive: true, force: true })
  })

  test.each([
    ['a small checkpoint is counted, however slow the machine is', CHECKPOINT_LOOK_ENTRIES_MIN, true],
    ['a larger one is not, once the time is up', CHECKPOINT_LOOK_ENTRIES_MIN + 1, false],
  ])('%s', async (_, count, isCounted) => {
    const host = { chainsDir, tooLarge: new Map() } as unknown as ChainHost
    const entry = { spec: kernelSpec({ command: ['true'] }), found: null } as unknown as KernelEntry
    const directory = chainDirectory(host, entry.spec)
    mkdirSync(directory, { recursive: true })
    for (let n = 0; n < count; n++) writeFileSync(join(directory, String(n)), 'x')
    let seconds = 0
    vi.spyOn(performance, 'now').mockImplementation(() => 1_000 * seconds++)
    const left = await leftCheckpoint(host, entry)
    expect(left).toMatchObject({ files: isCounted ? count : null, bytes: isCounted ? count : null })
  })
})

const canLimit = existsSync('/usr/bin/prlimit')

describe('measurements of chain directories', () => {
  const [shell, size] = ['process/shell', 'chain/chain-size'].map((name) =>
    join(import.meta.dirname, `../../../src/agent/executors/${name}.ts`),
  )
  const uses = `const { spawn } = process.getBuiltinModule('node:child_process'), fs = process.getBuiltinModule('node:fs')
    const { runInBackground } = await import('${size}'), { killAfter } = await import('${shell}')
    const withinMs = 600_000`
  /** Resolves when the process ends by itself. */
  const ended = (script: string, through: string[] = []) => {
    const [program, ...args] = [...through, process.execPath, '--input-type=module', '-e', `${uses}; ${script}`]
    return promisify(execFile)(program, args, { timeout: 60_000, killSignal: 'SIGKILL' })
  }

  test.skipIf(!canLimit)('that cannot be started do not keep their process from ending', async () => {
    const script = `const open = []
      try { for (;;) open.push(fs.openSync('/dev/null')) } catch {}
      runInBackground(['true'], { withinMs }).then(console.log)
      for (const fd of open) fs.closeSync(fd)`
    const { stdout } = await ended(script, ['prlimit', '--nofile=64'])
    expect(stdout).toContain('code: null')
  })

  test('that take their time do not keep it either', async () => {
    await ended(`runInBackground(['sleep', '100'], { withinMs })`)
  })

  test('are killed when their time is up', async () => {
    const script = `const child = spawn('sleep', ['1000']); killAfter(child, 1)
      child.once('exit', (code, signal) => console.log(signal))`
    expect((await ended(script)).stdout).toBe('SIGKILL\n')
  })
})
