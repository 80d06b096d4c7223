import { expect, test } from 'vitest'
import { safeText } from '../../../src/cli/output/terminal.ts'

test.each([
  ['plain text, Größe, 大きさ, 👩‍💻\n\tnext', 'plain text, Größe, 大きさ, 👩‍💻\n\tnext'],
  ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
  ['\u001b[2J\u001b[H', '\\u001b[2J\\u001b[H'],
  ['over\rwritten\b', 'over\\u000dwritten\\u0008'],
  ['c1 \u009b31m, turned \u202e, line \u2028', 'c1 \\u009b31m, turned \\u202e, line \\u2028'],
  ['\u001b[31mred\u001b[0m', '\\u001b[31mred\\u001b[0m'],
])('what would command a terminal is shown: %j', (text, shown) => {
  expect(safeText(text, false)).toBe(shown)
})

test('colours stay where there are some, and nothing else', () => {
  expect(safeText('\u001b[31mred\u001b[0m\u001b[2J', true)).toBe('\u001b[31mred\u001b[0m\\u001b[2J')
})

test('JSON stays the JSON that it was', () => {
  const value = { name: 'c1 \u009b, deleted \u007f, escaped \u001b' }
  expect(JSON.parse(safeText(JSON.stringify(value), false))).toEqual(value)
})
