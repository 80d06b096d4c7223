import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseAmount } from '../../../src/domain/amounts.ts'
import type { GpuNeed } from '../../../src/domain/gpu.ts'
import { type DecidedSession, decideRetry } from '../../../src/domain/retry/decide.ts'
import { ruleInWords } from '../../../src/domain/retry/explain.ts'
import type { GpuMemoryGrowth, RetryPolicy, RetryRule } from '../../../src/domain/retry/policy/policy.ts'
import { applyGrowth, type Growable, scaleResources, scaleTimeout } from '../../../src/domain/retry/policy/rules.ts'
import { FAILURE_NAMES } from '../../../src/domain/session/failure.ts'
import { checkProperty } from '../../support/seeds.ts'
import { ENDED_AT, failedSession, policyOf } from './sessions.ts'

describe('growth', () => {
  const EXITED = { name: 'kernel-exited', exitCode: 1 }
  const TIMED_OUT = { name: 'task-timeout', exitCode: null }

  function series<T>(first: T, next: (previous: T) => T, length: number): T[] {
    const values = [first]
    while (values.length < length) values.push(next(values.at(-1)!))
    return values
  }

  describe('resources', () => {
    it('grow by the factor, whole, up to the maximum', () => {
      const grown = series(
        { memory: '2000' },
        (slots) => scaleResources(slots, [{ slot: 'memory', factor: 1.3, max: '7500' }]) as { memory: string },
        8,
      )
      expect(grown.map((slots) => slots.memory)).toEqual([
        '2000',
        '2600',
        '3380',
        '4394',
        '5712',
        '7425',
        '7500',
        '7500',
      ])
    })

    it.each([
      ['above the maximum already', '9000', 1.3, '7500', '9000'],
      ['a factor below 1', '1000', 0.5, '7500', '1000'],
      ['no maximum', '2147483648', 1.3, undefined, '2791728742'],
      ['beyond floats', '900719925474099301', 2, undefined, '1801439850948198602'],
      ['a step too small for a whole', '1', 1.3, undefined, '1'],
      ['a fraction', '0.5', 1.3, undefined, '0.65'],
      ['a fraction, cut behind the third place', '0.845', 1.3, undefined, '1.098'],
      ['nothing', '0', 2, undefined, '0'],
      ['no further than amounts go', '1', 1e40, undefined, '9'.repeat(30)],
    ])('%s', (_, previous, factor, max, expected) => {
      expect(scaleResources({ x: previous }, [{ slot: 'x', factor, max }])).toEqual({ x: expected })
    })

    it('leaves other slots alone and adds none', () => {
      const slots = { cpu: '2', mem: '1024' }
      expect(
        scaleResources(slots, [
          { slot: 'gpu', factor: 2 },
          { slot: 'constructor', factor: 2 },
        ]),
      ).toEqual(slots)
      expect(scaleResources(slots, [{ slot: 'cpu', factor: 2 }])).toEqual({ cpu: '4', mem: '1024' })
    })
  })

  const NO_FACTS = { gpuNeed: null, hadGpuMemoryBytes: null, peakMemoryBytes: null }

  describe('from the peak', () => {
    const grown = (peak: number | null, limit = '1000', max?: string, slot = 'mem') =>
      scaleResources({ [slot]: limit }, [{ slot, from: 'PEAK', factor: 1.5, ...(max !== undefined && { max }) }], peak)[
        slot
      ]

    it.each([
      ['is the peak times the factor', 900, '1350'],
      ['is never less than the request', 600, '1000'],
      ['starts from the request without a peak', null, '1500'],
      ['starts from the request at 95 % of it', 950, '1500'],
      ['starts from the peak just below', 949, '1423'],
      ['starts from the request above it, because watchers are late', 1300, '1500'],
    ])('%s', (_, peak, expected) => {
      expect(grown(peak)).toBe(expected)
    })

    it('ends at the maximum, and knows the use of memory only', () => {
      expect(grown(900, '1000', '1200')).toBe('1200')
      expect(grown(900, '1000', '800')).toBe('1000')
      expect(grown(900, '1000', undefined, 'cpu')).toBe('1500')
    })

    it('never lowers, never passes the maximum, and asks for no more than growth from the request', () => {
      const bytes = fc.nat(2 ** 40)
      const factor = fc.double({ min: 0.01, max: 10, noNaN: true })
      checkProperty(
        fc.property(bytes, fc.option(bytes), factor, bytes, (limit, peak, by, max) => {
          const growth = { slot: 'mem', factor: by, max: String(max) }
          const from = (start: 'PEAK' | 'REQUEST') =>
            Number(scaleResources({ mem: String(limit) }, [{ ...growth, from: start }], peak)['mem'])
          expect(from('PEAK')).toBeGreaterThanOrEqual(limit)
          expect(from('PEAK')).toBeLessThanOrEqual(Math.max(limit, max))
          expect(from('PEAK')).toBeLessThanOrEqual(from('REQUEST'))
          const wanted = peak === null || peak * 100 >= limit * 95 ? limit : peak
          if (Number.isInteger(by)) expect(from('PEAK')).toBe(Math.max(limit, Math.min(wanted * by, max)))
        }),
      )
    })
  })

  it('of timeouts follows timeouts only, and nothing grows after a preemption', () => {
    const amount = fc.integer({ min: 1, max: 1e6 })
    const factor = fc.double({ min: 0.5, max: 10, noNaN: true })
    const exitCode = fc.option(fc.integer({ min: 1, max: 255 }))
    const named = fc.option(fc.constant<(number | string)[]>([124, '200-210']), { nil: undefined })
    checkProperty(
      fc.property(amount, amount, factor, fc.constantFrom(...FAILURE_NAMES), exitCode, named, (...given) => {
        const [mem, batchTimeout, by, name, code, exitCodes] = given
        const growths = [{ slot: 'mem', factor: by }]
        const scales = { scaleResources: growths, scaleTimeout: { factor: by }, scaleGpuMemory: { factor: by } }
        const before = { ...NO_FACTS, resourceSlots: { mem: String(mem), 'cuda.device': '1' }, batchTimeout }
        const rule = { match: { ...(exitCodes && { exitCodes }) }, ...scales }
        const after = applyGrowth({ ...before, hadGpuMemoryBytes: mem }, rule, { name, exitCode: code })
        const isNamed = exitCodes !== undefined && code !== null && (code === 124 || (code >= 200 && code <= 210))
        const isTimeout = name === 'task-timeout' || (name === 'kernel-exited' && isNamed)
        if (!isTimeout) expect(after.batchTimeout).toBe(batchTimeout)
        else expect(after.batchTimeout).toBe(scaleTimeout(batchTimeout, { factor: by }))
        if (name === 'preempted') expect(after).toEqual({ ...before, hadGpuMemoryBytes: mem })
        else expect(Number(after.resourceSlots['mem'])).toBe(Math.max(mem, Number(scaled(mem, by))))
      }),
    )
  })

  const scaled = (mem: number, factor: number) => scaleResources({ mem: String(mem) }, [{ slot: 'mem', factor }])['mem']

  describe('timeouts', () => {
    it.each([
      [3600, { factor: 1.3 }, 4680],
      [3600, { factor: 100, max: 169_200 }, 169_200],
      [null, { factor: 2 }, null],
      [2.5, { factor: 1.5 }, 3.75],
      [1, { factor: 1.3 }, 1.3],
      [3, { factor: 1.3 }, 3.9],
      [4, { factor: 1.3 }, 5],
      [1, { factor: 1.3, max: 1.2 }, 1.2],
      [1, { factor: 1.0001 }, 1],
      [7200, { factor: 1.3, max: 3600 }, 7200],
      [31_536_000, { factor: 2 }, 31_536_000],
    ])('%s by %o is %s', (timeout, growth, expected) => {
      expect(scaleTimeout(timeout, growth)).toBe(expected)
    })
  })

  describe('GPU memory', () => {
    const HAS_GPU = {
      resourceSlots: { 'cuda.device': '1' },
      batchTimeout: null,
      gpuNeed: null,
      hadGpuMemoryBytes: null,
      peakMemoryBytes: null,
    }
    const need = (memoryBytes: number | null, model: string | null = null) => ({ model, memoryBytes })

    it.each<[string, Partial<Growable>, GpuMemoryGrowth, GpuNeed | null]>([
      ['from what it asks for', { gpuNeed: need(40), hadGpuMemoryBytes: 80 }, { factor: 2 }, need(80)],
      ['and keeps the model', { gpuNeed: need(40, 'a100') }, { factor: 2 }, need(80, 'a100')],
      ['from what it had if it asks for none', { hadGpuMemoryBytes: 24 }, { factor: 2 }, need(48)],
      ['beside a model', { gpuNeed: need(null, 'a'), hadGpuMemoryBytes: 24 }, { factor: 2 }, need(48, 'a')],
      ['in whole bytes', { gpuNeed: need(3) }, { factor: 1.5 }, need(4)],
      ['up to the maximum', { gpuNeed: need(40) }, { factor: 3, max: '100' }, need(100)],
      ['no further than a number is exact', { gpuNeed: need(1) }, { factor: 1e40 }, need(Number.MAX_SAFE_INTEGER)],
      ['not above the maximum already', { gpuNeed: need(120) }, { factor: 2, max: '100' }, need(120)],
      ['not by a factor below 1', { hadGpuMemoryBytes: 24 }, { factor: 0.5 }, null],
      ['not if nothing is known', {}, { factor: 2 }, null],
      ['not without GPUs', { resourceSlots: { cpu: '1' }, hadGpuMemoryBytes: 24 }, { factor: 2 }, null],
      [
        'for a part of a GPU of AMD',
        { resourceSlots: { 'rocm.device': '0.5' }, hadGpuMemoryBytes: 24 },
        { factor: 2 },
        need(48),
      ],
    ])('grows %s', (_, session, scaleGpuMemory, expected) => {
      const rule = { match: {}, scaleGpuMemory }
      expect(applyGrowth({ ...HAS_GPU, ...session }, rule, EXITED).gpuNeed).toEqual(expected)
    })
  })

  it('never lowers and never passes the maximum', () => {
    const amount = fc.oneof(
      fc.nat().map(String),
      fc.integer({ min: 1, max: 9999 }).map((n) => parseAmount('x', n / 1000)!),
    )
    const factor = fc.double({ min: 0.01, max: 10, noNaN: true })
    checkProperty(
      fc.property(amount, factor, amount, fc.integer({ min: 1, max: 1e6 }), (previous, by, max, timeout) => {
        const growths = [{ slot: 'x', factor: by, max }]
        const rule = { match: {}, scaleResources: growths, scaleTimeout: { factor: by, max: 5000 } }
        const before = { resourceSlots: { x: previous }, batchTimeout: timeout, ...NO_FACTS }
        const after = applyGrowth(before, rule, TIMED_OUT)
        const grown = Number(after.resourceSlots['x'])
        expect(grown).toBeGreaterThanOrEqual(Number(previous))
        expect(grown).toBeLessThanOrEqual(Math.max(Number(previous), Number(max)))
        expect(after.batchTimeout).toBeGreaterThanOrEqual(timeout)
        expect(after.batchTimeout).toBeLessThanOrEqual(Math.max(timeout, 5000))
      }),
    )
  })

  describe('in a decision', () => {
    const decided = (session: Partial<DecidedSession>, rules: RetryPolicy['rules']) =>
      decideRetry({ session: failedSession(session), policy: policyOf({ rules }), now: ENDED_AT, random: 0 })
    const failedWith = (name: string) => ({ statusData: { error: { name, message: 'm' } } })

    it.each([
      [1_610_612_736, '3221225472', 'mem 2 GiB → 3 GiB; its peak of mem was 1.5 GiB'],
      [536_870_912, undefined, 'its peak of mem was 512 MiB'],
      [2_100_000_000, '4294967296', 'mem 2 GiB → 4 GiB; its peak of mem was 1.96 GiB, at the limit'],
      [null, '4294967296', 'mem 2 GiB → 4 GiB; its peak of mem is not known'],
    ])('explains growth from a peak of %s', (peakMemoryBytes, mem, words) => {
      const growths = [{ slot: 'mem', from: 'PEAK' as const, factor: 2 }]
      const verdict = decided({ peakMemoryBytes }, [{ match: {}, action: 'RETRY', scaleResources: growths }])
      expect(verdict.growth?.resourceSlots['mem']).toBe(mem)
      expect(verdict.explanation).toContain(`; ${words}; waits`)
    })

    it('nothing grows after a preemption, and no timeout after another failure', () => {
      const growths = [{ slot: 'mem', factor: 2 }]
      const rules: RetryPolicy['rules'] = [
        {
          match: {},
          action: 'RETRY',
          scaleResources: growths,
          scaleTimeout: { factor: 2 },
          scaleGpuMemory: { factor: 2 },
        },
      ]
      const preempted = decided(failedWith('preempted'), rules)
      expect(preempted.growth).toBeNull()
      expect(preempted.explanation).toContain('; nothing grows after a preemption; waits')
      expect(decided(failedWith('oom-killed'), rules).growth).toMatchObject({
        batchTimeout: 60,
        resourceSlots: { mem: '4294967296' },
      })
    })
  })
})

describe('rules', () => {
  it.each<[RetryRule, string]>([
    [{ match: {}, action: 'RETRY' }, 'any failure is retried'],
    [{ match: { exitCodes: [1, 5, '64-78'] }, action: 'FAIL' }, 'exit code 1, 5 or 64-78 is not retried'],
    [
      { match: { causes: ['AGENT_TRANSIENT', 'HUNG'] }, action: 'RETRY_UNCOUNTED', delay: 90, avoid: 'AGENT' },
      'agent lost or hung is retried without using up a retry, after 90 s, rather on another agent',
    ],
    [
      {
        match: { causes: ['OOM_KILLED'], exitCodesNotIn: [2], reason: 'cuda*' },
        action: 'RETRY',
        scaleResources: [
          { slot: 'mem', factor: 2, max: '68719476736' },
          { slot: 'cpu', from: 'PEAK', factor: 1.5 },
        ],
        scaleGpuMemory: { factor: 2 },
        scaleTimeout: { factor: 1.5, max: 3_600 },
        exclude: 'AGENT',
      },
      'out of memory with an exit code other than 2 and the reason “cuda*” is retried, mem × 2 up to 64 GiB, ' +
        'peak of cpu × 1.5, GPU memory × 2, timeout × 1.5 up to 1 h, only on another agent',
    ],
  ])('%j in words', (rule, words) => {
    expect(ruleInWords(rule)).toBe(words)
  })
})
