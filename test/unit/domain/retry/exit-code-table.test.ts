import { expect, it } from 'vitest'
import { applyGrowth } from '../../../../src/domain/retry/growth.ts'
import { parseRetryPolicy } from '../../../../src/domain/retry/parse-policy.ts'
import type { RetryRule } from '../../../../src/domain/retry/policy.ts'
import { firstMatch } from '../../../../src/domain/retry/rules.ts'
import table from './vectors/exit-code-policy.json' with { type: 'json' }

/** A table of some thirty exit codes as rules of a policy: rows of one effect are one rule. */

type Row = (typeof table.rows)[number]
const rows = table.rows.filter((row): row is Row & { exit_code: number } => typeof row.exit_code === 'number')

function effectOf(row: Row): Omit<RetryRule, 'match'> {
  return {
    action: 'RETRY',
    delay: row.delay_s,
    ...(row.increase_memory && {
      scaleResources: [{ slot: 'memory', factor: row.memory_factor, max: String(table.caps.memory_mb) }],
    }),
    ...(row.increase_runtime && { scaleTimeout: { factor: row.runtime_factor, max: table.caps.runtime_min * 60 } }),
    ...(row.change_site && { avoid: 'RESOURCE_GROUP' as const }),
  }
}

const rules: RetryRule[] = [...Map.groupBy(rows, (row) => JSON.stringify(effectOf(row))).values()].map((group) => ({
  match: { exitCodes: group.map((row) => row.exit_code) },
  ...effectOf(group[0]!),
}))

function matchOf(exitCode: number) {
  return firstMatch(rules, { cause: 'KERNEL_NONZERO_EXIT', exitCode, reasons: [] })
}

it('fits into a policy', () => {
  expect(rows.length).toBe(27)
  expect(rules.length).toBe(4)
  expect(parseRetryPolicy({ rules })).toEqual({ policy: { rules } })
})

it.each(rows)('exit code $exit_code has its own effect', (row) => {
  expect(matchOf(row.exit_code)?.rule).toMatchObject(effectOf(row))
})

it('other codes have none', () => {
  expect(matchOf(2)).toBeNull()
  expect(matchOf(50116)).toBeNull()
})

it('memory and runtime grow from attempt to attempt up to their caps', () => {
  const memory = ['2000']
  while (memory.length < 8) {
    const before = { resourceSlots: { memory: memory.at(-1)! }, batchTimeout: null }
    memory.push(applyGrowth(before, matchOf(50115)!.rule).resourceSlots['memory']!)
  }
  expect(memory).toEqual(['2000', '2600', '3380', '4394', '5712', '7425', '7500', '7500'])
  const timedOut = matchOf(243)!.rule
  expect(applyGrowth({ resourceSlots: {}, batchTimeout: 75_000 }, timedOut).batchTimeout).toBe(97_500)
  expect(applyGrowth({ resourceSlots: {}, batchTimeout: 160_000 }, timedOut).batchTimeout).toBe(169_200)
})
