import { describe, expect, it } from 'vitest'
import { decideRetry } from '../../../src/domain/retry/decide.ts'
import { parseRetryPolicy } from '../../../src/domain/retry/policy/stored-policy.ts'
import { SHIPPED_POLICY } from '../../../src/domain/retry/policy/policy.ts'
import { RULES_MAX } from '../../../src/domain/limits.ts'
import { ENDED_AT, failedSession } from './sessions.ts'
import table from './vectors/exit-code-policy.json' with { type: 'json' }

/** The preset CMS_EXIT_CODES, held against the table that it stands for, decision by decision. */

const MIB = 2 ** 20
const MEMORY_MB = 2000
const RUNTIME_MINUTES = 1000

const parsed = parseRetryPolicy({ preset: 'CMS_EXIT_CODES' })
if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues))
const policy = { ...SHIPPED_POLICY, ...parsed.policy }

function decide(given: Parameters<typeof failedSession>[0]) {
  const size = { resourceSlots: { cpu: '1', mem: String(MEMORY_MB * MIB) }, batchTimeout: RUNTIME_MINUTES * 60 }
  const session = failedSession({ ...size, maxRetries: policy.maxRetries, resourceGroup: 'site-a', ...given })
  return decideRetry({ session, policy, now: ENDED_AT, random: 0.5 })
}

function exited(exitCode: number, given: Parameters<typeof failedSession>[0] = {}) {
  const message = `kernel main1 exited with ${exitCode}`
  const statusData = { error: { name: 'kernel-exited', message, exitCode } }
  return decide({ exitCode, statusReason: message, statusData, ...given })
}

function grown(before: number, factor: number, max: number): number {
  return Math.max(before, Math.min(before * factor, max))
}

it('fits into a policy, which is stored without its name', () => {
  expect(policy.rules.length).toBeLessThanOrEqual(RULES_MAX)
  expect(policy).not.toHaveProperty('preset')
  expect(parseRetryPolicy(policy)).toEqual({ policy })
})

describe('the table', () => {
  const rows = table.rows.filter((row) => typeof row.exit_code === 'number')

  it('has 27 codes, all recoverable', () => {
    expect(rows).toHaveLength(27)
    expect(rows.every(({ type }) => type === 'recoverable')).toBe(true)
  })

  it.each(rows)('exit code $exit_code', (row) => {
    const verdict = exited(row.exit_code as number)
    expect(verdict).toMatchObject({ phase: 'SCHEDULED', counted: true, delayMs: row.delay_s * 1000 })
    expect(verdict.avoid).toEqual({ agents: [], groups: row.change_site ? ['site-a'] : [] })
    if (!row.increase_memory && !row.increase_runtime) return expect(verdict.growth).toBeNull()
    expect(verdict.growth).toEqual({
      resourceSlots: { cpu: '1', mem: String(grown(MEMORY_MB, row.memory_factor, table.caps.memory_mb) * MIB) },
      batchTimeout: grown(RUNTIME_MINUTES, row.runtime_factor, table.caps.runtime_min) * 60,
    })
  })

  it('makes every other code final', () => {
    const listed = new Set(rows.map((row) => row.exit_code))
    const others = [2, 66, 139, 255, -1, 50116, 10041].filter((code) => !listed.has(code))
    expect(others).toHaveLength(7)
    for (const code of others)
      expect(exited(code)).toMatchObject({ phase: 'NOT_ELIGIBLE', matchedRule: expect.any(Number) })
  })
})

describe('a removal is decided by its reason, whatever the exit code', () => {
  const reasons = table.fatal_overrides_after_recoverable.map(({ when, result }) => {
    const [, how, text] = /RemoveReason (starts with|contains) "([^"]+)"/.exec(when)!
    return { statusReason: how === 'contains' ? `Error: ${text}, 3 cores` : `${text}: by policy`, result }
  })

  it.each(reasons)('$statusReason', ({ statusReason, result }) => {
    const fatal = result === 'fatal'
    expect(exited(1, { statusReason }).phase).toBe(fatal ? 'NOT_ELIGIBLE' : 'SCHEDULED')
    expect(exited(2, { statusReason }).phase).toBe(fatal ? 'NOT_ELIGIBLE' : 'SCHEDULED')
  })

  it.each(['oom-killed', 'task-timeout'])('%s by an agent is such a removal', (name) => {
    expect(exited(137, { statusData: { error: { name, message: name } } }).phase).toBe('NOT_ELIGIBLE')
  })
})

it('leaves failures without an exit code to the eligible causes', () => {
  const lost = { statusData: { error: { name: 'agent-lost', message: 'agent a is lost' } }, exitCode: null }
  expect(decide(lost)).toMatchObject({ phase: 'SCHEDULED', matchedRule: null, delayMs: 900_000 })
})

it('memory and runtime grow from attempt to attempt up to their caps', () => {
  const memory = [MEMORY_MB * MIB]
  const runtime = [RUNTIME_MINUTES * 60]
  for (let attempt = 1; attempt <= 7; attempt++) {
    const mem = String(memory.at(-1))
    memory.push(Number(exited(50115, { resourceSlots: { mem } }).growth?.resourceSlots['mem'] ?? mem))
    const batchTimeout = runtime.at(-1)!
    runtime.push(exited(243, { batchTimeout }).growth?.batchTimeout ?? batchTimeout)
  }
  const inMegabytes = memory.map((bytes) => Math.floor(bytes / MIB))
  expect(inMegabytes).toEqual([2000, 2600, 3380, 4394, 5712, 7425, 7500, 7500])
  expect(runtime.map((seconds) => Math.floor(seconds / 60))).toEqual([1000, 1300, 1690, 2197, 2820, 2820, 2820, 2820])
})

it('stops after ten attempts', () => {
  const attempts = Array.from({ length: 12 }, (_, index) => index + 1)
  const retried = attempts.filter((attempt) => exited(1, { attempt, retryCount: attempt - 1 }).phase === 'SCHEDULED')
  expect(retried).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
})
