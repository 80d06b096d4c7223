import { describe, expect, it } from 'vitest'
import { HEAD_OF_LINE_SKIPS_MAX } from '../../../src/domain/limits.ts'
import {
  byDominantShare,
  dominantShare,
  inOrderOfAge,
  isLess,
  type Sequence,
} from '../../../src/domain/scheduling/sequence.ts'
import type { PlaceableSession } from '../../../src/domain/scheduling/place.ts'
import { parseQuantities } from '../../../src/domain/scheduling/resource-request.ts'
import { agentWith, type Amounts, orderOf, placeAll, session } from './lines.ts'

/** As if all were placed. */
function turns(sequence: Sequence<PlaceableSession>, ranOutAfter?: string): string {
  const order: string[] = []
  for (let next = sequence.next(); next; next = sequence.next()) {
    order.push(next.id)
    sequence.placed()
    if (next.id === ranOutAfter) sequence.ranOut()
  }
  return order.join(' ')
}

const OVERDUE = { skips: HEAD_OF_LINE_SKIPS_MAX }
const one = (id: string, owner = 'ada', spec = {}) => session(id, { cpu: '1' }, { owner, ...spec })

describe('FIFO and LIFO', () => {
  const line = [
    one('a'),
    one('b', 'ada', { priority: 90 }),
    one('c', 'ada', { createdAt: 2 }),
    one('d', 'ada', { createdAt: 1 }),
    one('e', 'ada', { createdAt: 1, ...OVERDUE }),
  ]
  it('go by priority, then those that are overdue, then by age', () => {
    expect(turns(inOrderOfAge(line, false, 0))).toBe('b e a d c')
    expect(turns(inOrderOfAge(line, true, 0))).toBe('b e c d a')
  })
})

describe('DRF', () => {
  const totals = parseQuantities({ cpu: '9', mem: '18' })
  const drf = (line: PlaceableSession[], used: Record<string, Amounts> = {}) =>
    byDominantShare(line, {
      usedByOwner: new Map(Object.entries(used).map(([owner, amounts]) => [owner, parseQuantities(amounts)])),
      totals,
    })
  const many = (owner: string, slots: Amounts, count: number) =>
    Array.from({ length: count }, (_, n) => session(`${owner}${n}`, slots, { owner }))

  it('fills progressively: the example of its paper gives A three and B two', () => {
    const line = [...many('A', { cpu: '1', mem: '4' }, 9), ...many('B', { cpu: '3', mem: '1' }, 9)]
    const placement = placeAll(line, [agentWith('x', { cpu: '9', mem: '18' })], { sequence: drf(line) })
    expect(orderOf(placement)).toBe('A0 B0 A1 B1 A2')
  })

  it('begins with who has the least of what there is, whoever came first', () => {
    const line = [...many('A', { cpu: '1' }, 2), ...many('B', { cpu: '1' }, 2)]
    expect(turns(drf(line, { A: { cpu: '1' } }))).toBe('B0 A0 B1 A1')
    expect(turns(drf(line, { A: { mem: '3' }, B: { cpu: '1' } }))).toBe('B0 A0 A1 B1')
  })

  it('goes within bands of priority, in which those that are overdue are first', () => {
    const line = [one('a'), one('b', 'bob', OVERDUE), one('c', 'ada', { priority: 90 }), one('d', 'bob')]
    expect(turns(drf(line, { bob: { cpu: '5' } }))).toBe('c b a d')
  })

  it('ends at the turn of an owner whose sessions have run out here and not in the line', () => {
    const line = [...many('A', { cpu: '1' }, 1), ...many('B', { cpu: '1' }, 3), one('low', 'C', { priority: 1 })]
    expect(turns(drf(line))).toBe('A0 B0 B1 B2 low')
    expect(turns(drf(line), 'A0')).toBe('A0 B0')
  })

  it('compares shares exactly', () => {
    const all = parseQuantities({ cpu: '0.3', mem: '3000000000000000000000' })
    const third = dominantShare(parseQuantities({ cpu: '0.1' }), all)
    expect(isLess(third, dominantShare(parseQuantities({ mem: '1000000000000000000000' }), all))).toBe(false)
    expect(isLess(dominantShare(parseQuantities({ mem: '1000000000000000000000' }), all), third)).toBe(false)
    expect(isLess(third, dominantShare(parseQuantities({ mem: '1000000000000000000001' }), all))).toBe(true)
    expect(dominantShare(parseQuantities({ fpga: '3' }), all).used).toBe(0n)
  })
})
