import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyGrowth, scaleResources, scaleTimeout } from '../../../src/domain/retry/policy/rules.ts'
import { parseAmount } from '../../../src/domain/amounts.ts'
import { checkProperty } from '../../support/seeds.ts'

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
    expect(grown.map((slots) => slots.memory)).toEqual(['2000', '2600', '3380', '4394', '5712', '7425', '7500', '7500'])
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

describe('timeouts', () => {
  it.each([
    [3600, { factor: 1.3 }, 4680],
    [3600, { factor: 100, max: 169_200 }, 169_200],
    [null, { factor: 2 }, null],
    [2.5, { factor: 1.5 }, 3.75],
    [7200, { factor: 1.3, max: 3600 }, 7200],
    [31_536_000, { factor: 2 }, 31_536_000],
  ])('%s by %o is %s', (timeout, growth, expected) => {
    expect(scaleTimeout(timeout, growth)).toBe(expected)
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
      const rule = { scaleResources: [{ slot: 'x', factor: by, max }], scaleTimeout: { factor: by, max: 5000 } }
      const after = applyGrowth({ resourceSlots: { x: previous }, batchTimeout: timeout }, rule)
      const grown = Number(after.resourceSlots['x'])
      expect(grown).toBeGreaterThanOrEqual(Number(previous))
      expect(grown).toBeLessThanOrEqual(Math.max(Number(previous), Number(max)))
      expect(after.batchTimeout).toBeGreaterThanOrEqual(timeout)
      expect(after.batchTimeout).toBeLessThanOrEqual(Math.max(timeout, 5000))
    }),
  )
})
