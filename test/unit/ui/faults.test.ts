import { expect, test } from 'vitest'
import { placeFaults } from '../../../src/ui/api/problem.ts'

const FIELDS = ['name', 'slots', 'rateLimit', 'rateLimit.burst']
const placed = (issues: { path: string; message: string }[], message = 'all', code: string | null = null) =>
  placeFaults({ issues, message, code }, FIELDS, { PROJECT_NOT_FOUND: 'name' })

test('an issue is placed at its field, also within a list; the longest path wins', () => {
  const issues = [
    { path: 'slots.1.amount', message: 'too much' },
    { path: 'slots.0.slot', message: 'twice' },
    { path: 'rateLimit.burst', message: 'too small' },
    { path: 'rateLimit.perSecond', message: 'negative' },
  ]
  expect(placed(issues)).toEqual({
    fields: { slots: 'too much; twice', 'rateLimit.burst': 'too small', rateLimit: 'negative' },
    rest: null,
  })
})

test('issues without a field are shown below the fields, with their place', () => {
  expect(placed([{ path: 'named', message: 'odd' }])).toEqual({ fields: {}, rest: 'named: odd' })
  expect(placed([], 'no answer')).toEqual({ fields: {}, rest: 'no answer' })
})

test('an error without a place is placed by its code', () => {
  expect(placed([], 'no project x', 'PROJECT_NOT_FOUND')).toEqual({ fields: { name: 'no project x' }, rest: null })
  expect(placed([], 'you may not', 'FORBIDDEN')).toEqual({ fields: {}, rest: 'you may not' })
})

test('the place of a value of the wrong type is read from the message', () => {
  const message = 'Variable "$input" got invalid value "ten" at "input.rateLimit.burst"; Int cannot represent it'
  expect(placed([], message)).toEqual({ fields: { 'rateLimit.burst': 'Int cannot represent it' }, rest: null })
})
