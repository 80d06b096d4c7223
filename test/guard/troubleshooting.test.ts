import { describe, expect, test } from 'vitest'
import { classifyFailure } from '../../src/domain/retry/classify.ts'
import { HOLD_REASON_TEXT } from '../../src/domain/retry/retry-state.ts'
import { FAILURE_NAMES } from '../../src/domain/session/failure.ts'
import { codeIn, tableRows } from './document-tables.ts'
import { readSourceFiles } from './source-files.ts'

/** docs/troubleshooting.md knows what can go wrong. */

const PAGE = 'docs/troubleshooting.md'

describe('what failed a session', async () => {
  const rows = (await tableRows(PAGE, 'A session failed')).map(([name, cause]) => ({ name: name!, cause: cause! }))

  test('every name is told', () => {
    const told = rows.map(({ name }) => name)
    expect(FAILURE_NAMES.filter((name) => !told.includes(name))).toEqual([])
    expect(new Set(told).size).toBe(told.length)
  })

  test.each(rows)('$name has its cause, and occurs in the sources', async ({ name, cause }) => {
    const session = { status: 'ERROR', terminatedBy: null } as const
    const classified = classifyFailure(session, { error: { name, message: '' } })
    expect(classified).toMatchObject({ cause: codeIn(cause)[0] })
    const files = await readSourceFiles()
    expect(
      files.filter(({ text }) => text.includes(`'${name}'`) || text.includes(`  ${name}: '`)).length,
    ).toBeGreaterThan(0)
  })
})

test('every reason to hold a retry is told', async () => {
  const rows = await tableRows(PAGE, 'It failed, and no retry comes')
  expect(rows.map(([reason]) => reason!).toSorted()).toEqual(Object.keys(HOLD_REASON_TEXT).toSorted())
})
