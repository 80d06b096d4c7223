import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EXIT_CODE_MAX, EXIT_CODE_MIN, RULES_MAX } from '../../../src/domain/limits.ts'
import { classifyFailure } from '../../../src/domain/retry/classify.ts'
import { type DecidedSession, decideRetry } from '../../../src/domain/retry/decide.ts'
import { type RetryPolicy, type RetryRule, SHIPPED_POLICY } from '../../../src/domain/retry/policy/policy.ts'
import { exitCodesInclude, parseExitCodes } from '../../../src/domain/retry/policy/exit-codes.ts'
import { parseRetryPolicy } from '../../../src/domain/retry/policy/stored-policy.ts'
import { FAILURE_CAUSES } from '../../../src/domain/session/failure.ts'
import type { ProgramVerdict } from '../../../src/domain/session/program-verdict.ts'
import { checkProperty } from '../../support/seeds.ts'
import { ENDED_AT, failedSession, policyOf } from './sessions.ts'
import table from './exit-code-policy.json' with { type: 'json' }

/** The preset CMS_EXIT_CODES, held against the table that it stands for, decision by decision. */
describe('the table of exit codes', () => {
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
        gpuNeed: null,
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
})

describe('exit codes', () => {
  it.each([
    [75, 75],
    ['75', 75],
    ['64-78', '64-78'],
    [' 64 - 78 ', '64-78'],
    ['075-075', 75],
    ['-5--1', '-5--1'],
    ['-5-3', '-5-3'],
    [EXIT_CODE_MIN, EXIT_CODE_MIN],
  ])('%j is stored as %j', (written, stored) => {
    expect(parseExitCodes(written)).toBe(stored)
  })

  it.each(['78-64', '64-', '-', '', '64..78', '1,2', '1.5', 1.5, EXIT_CODE_MAX + 1, '0-2147483648', null, [1], true])(
    '%j is refused, with its position',
    (written) => {
      const policy = { rules: [{ match: { exitCodes: [1, written] }, action: 'FAIL' }] }
      // Null counts as not given nowhere in a list.
      expect(parseRetryPolicy(policy)).toEqual({
        issues: [{ path: 'rules.0.match.exitCodes.1', message: 'Must be an exit code, or a range of them like 64-78' }],
      })
    },
  )

  it('a range includes both of its ends', () => {
    const code = fc.oneof(fc.integer({ min: -300, max: 300 }), fc.integer({ min: EXIT_CODE_MIN, max: EXIT_CODE_MAX }))
    checkProperty(
      fc.property(code, code, code, (a, b, exitCode) => {
        const [first, last] = [Math.min(a, b), Math.max(a, b)]
        const stored = parseExitCodes(`${first}-${last}`)!
        expect(exitCodesInclude([stored], exitCode)).toBe(first <= exitCode && exitCode <= last)
        expect(exitCodesInclude([stored], first) && exitCodesInclude([stored], last)).toBe(true)
        expect(parseExitCodes(stored)).toBe(stored)
      }),
    )
  })
})

describe('classes of failures', () => {
  const ERROR = { status: 'ERROR', terminatedBy: null } as const

  // Which name is which cause is held by the test of the table in docs/troubleshooting.md.
  it.each([
    ['agent-lost', 'AGENT_TRANSIENT'],
    ['a-name-of-tomorrow', 'UNKNOWN'],
    ['constructor', 'UNKNOWN'],
  ])('%s is %s', (name, cause) => {
    const error = { name, message: 'm', agentId: 'a', exitCode: 3 }
    expect(classifyFailure(ERROR, { error })).toEqual({ kind: 'cause', cause, error })
  })

  it('an end by a person is theirs, whatever the envelope contains', () => {
    const session = { status: 'TERMINATED', terminatedBy: 'ann' } as const
    expect(classifyFailure(session, null)).toEqual({ kind: 'cause', cause: 'USER_CANCELLED', error: null })
    const error = { name: 'agent-lost', message: '' }
    expect(classifyFailure(session, { error })).toEqual({ kind: 'cause', cause: 'USER_CANCELLED', error })
  })

  it.each([
    [null],
    [undefined],
    ['agent-lost'],
    [[]],
    [{}],
    [{ error: null }],
    [{ error: [] }],
    [{ error: {} }],
    [{ error: { name: '', message: 'm' } }],
    [{ error: { name: 1, message: 'm' } }],
    [{ error: { name: 'agent-lost' } }],
    [{ error: { name: 'agent-lost', message: 'm', agentId: 7 } }],
    [{ error: { name: 'kernel-exited', message: 'm', exitCode: '1' } }],
    [{ error: { name: 'kernel-exited', message: 'm', exitCode: 1.5 } }],
  ])('%j is malformed', (statusData) => {
    expect(classifyFailure(ERROR, statusData)).toMatchObject({
      kind: 'malformed',
      message: expect.stringMatching(/^ERROR/),
    })
  })

  it('nulls in an envelope are absent fields', () => {
    const error = { name: 'oom-killed', message: 'm', agentId: null, exitCode: null }
    expect(classifyFailure(ERROR, { error })).toMatchObject({
      cause: 'OOM_KILLED',
      error: { name: 'oom-killed', message: 'm' },
    })
  })

  it('has an answer to everything', () => {
    const envelope = fc.oneof(fc.anything(), fc.record({ error: fc.anything() }))
    checkProperty(
      fc.property(envelope, fc.option(fc.string()), (statusData, terminatedBy) => {
        const answer = classifyFailure({ status: 'ERROR', terminatedBy }, statusData)
        expect(answer.kind === 'malformed' ? answer.message : answer.cause).toBeTruthy()
        if (answer.kind === 'cause') expect(FAILURE_CAUSES).toContain(answer.cause)
      }),
    )
  })
})

describe('a lack of GPU memory', () => {
  const GIB = 2 ** 30
  const rules: RetryRule[] = [
    { match: { reason: 'gpu-memory' }, action: 'RETRY', delay: 0, scaleGpuMemory: { factor: 2 } },
  ]

  function decide(given: Partial<DecidedSession>, name = 'gpu-memory') {
    const statusData = { error: { name, message: 'm', exitCode: 1 } }
    const session = failedSession({ statusData, resourceSlots: { 'cuda.device': '1' }, ...given })
    return decideRetry({ session, policy: policyOf({ rules }), now: ENDED_AT, random: 0 })
  }

  it('grows from what the session asked for', () => {
    const verdict = decide({ gpuNeed: { model: 'a100', memoryBytes: 40 * GIB }, hadGpuMemoryBytes: 80 * GIB })
    const gpuNeed = { model: 'a100', memoryBytes: 80 * GIB }
    expect(verdict.growth).toEqual({ resourceSlots: { 'cuda.device': '1' }, batchTimeout: 60, gpuNeed })
    expect(verdict.explanation).toContain('; GPU memory 40 GiB → 80 GiB; waits 0 s')
  })

  it('grows from what the failed attempt had if it asked for none', () => {
    const verdict = decide({ hadGpuMemoryBytes: 24 * GIB })
    expect(verdict.growth).toMatchObject({ gpuNeed: { model: null, memoryBytes: 48 * GIB } })
    expect(verdict.explanation).toContain('(RETRY); GPU memory 24 GiB → 48 GiB; waits 0 s')
  })

  it('explains why nothing grows if nothing is known', () => {
    const verdict = decide({})
    expect(verdict).toMatchObject({ phase: 'SCHEDULED', growth: null })
    expect(verdict.explanation).toContain(
      '; GPU memory cannot grow: the session asks for no amount, and that of its GPUs is not known; waits 0 s',
    )
  })

  it.each([
    ['without GPUs', decide({ resourceSlots: { cpu: '1' } })],
    ['after another failure', decide({ hadGpuMemoryBytes: GIB }, 'oom-killed')],
  ])('is no subject %s', (_, verdict) => {
    expect(verdict).toMatchObject({ phase: 'SCHEDULED', growth: null })
    expect(verdict.explanation).not.toContain('GPU memory')
  })
})

describe('verdicts of programs', () => {
  /** Decisions about an attempt that exited with 3 and said this. */
  function decide(
    said: Partial<ProgramVerdict>,
    policy: Partial<RetryPolicy> = {},
    session: Partial<DecidedSession> = {},
  ) {
    const verdict = { reason: null, retry: null, delaySeconds: null, fault: null, ...said }
    const error = { name: 'kernel-exited', message: said.reason ?? 'exited with 3', exitCode: 3, verdict }
    const failed = failedSession({ exitCode: 3, statusReason: error.message, statusData: { error }, ...session })
    return decideRetry({ session: failed, policy: policyOf({ jitter: 'NONE', ...policy }), now: ENDED_AT, random: 0 })
  }

  const rule = (action: RetryRule['action']): Partial<RetryPolicy> => ({ rules: [{ match: {}, action }] })
  const ineligible: Partial<RetryPolicy> = { eligibleCauses: [] }

  describe('whether it is retried, and counted', () => {
    it.each([
      ['no', {}, 'NOT_ELIGIBLE', true],
      ['no', rule('RETRY'), 'NOT_ELIGIBLE', true],
      ['no', { ...rule('RETRY'), trustVerdicts: false }, 'SCHEDULED', true],
      ['yes', {}, 'SCHEDULED', true],
      ['yes', ineligible, 'SCHEDULED', true],
      ['yes', { ...ineligible, trustVerdicts: false }, 'NOT_ELIGIBLE', true],
      ['yes', rule('FAIL'), 'NOT_ELIGIBLE', true],
      ['yes', rule('RETRY_UNCOUNTED'), 'SCHEDULED', false],
      ['uncounted', {}, 'SCHEDULED', false],
      ['uncounted', ineligible, 'SCHEDULED', false],
      ['uncounted', { trustVerdicts: false }, 'SCHEDULED', true],
      ['uncounted', rule('RETRY'), 'SCHEDULED', true],
      ['uncounted', rule('FAIL'), 'NOT_ELIGIBLE', true],
      ['uncounted', { maxUncountedRetries: 0 }, 'EXHAUSTED', false],
      [null, ineligible, 'NOT_ELIGIBLE', true],
    ] as const)('%s with %o: %s, counted %s', (retry, policy, phase, counted) => {
      expect(decide({ retry }, policy)).toMatchObject({ phase, counted })
    })

    it.each(['yes', 'uncounted'] as const)('%s beats no cause that is never retried', (retry) => {
      const verdict = decide({ retry }, {}, { terminatedBy: 'ann', status: 'TERMINATED', result: 'UNDEFINED' })
      expect(verdict).toMatchObject({ phase: 'NOT_ELIGIBLE', cause: 'USER_CANCELLED' })
    })

    it('extends no budget', () => {
      const used = { retryCount: 3, maxRetries: 3 }
      expect(decide({ retry: 'yes' }, {}, used).phase).toBe('EXHAUSTED')
      expect(decide({ retry: 'yes' }, {}, { maxRetries: 0 }).phase).toBe('NONE')
      expect(decide({ retry: 'uncounted' }, { maxUncountedRetries: 2 }, { uncountedRetries: 2 }).phase).toBe(
        'EXHAUSTED',
      )
      expect(decide({ delaySeconds: 60 }, { maxElapsed: 50 }, { epochStartedAt: ENDED_AT }).phase).toBe('EXHAUSTED')
    })
  })

  describe('the delay that it asks for', () => {
    it.each([
      [30, {}, 30_000],
      [0, {}, 0],
      [30, { rules: [{ match: {}, action: 'RETRY', delay: 5 }] }, 30_000],
      [30, { trustVerdicts: false, retryDelay: 7 }, 7_000],
      [500, { maxRetryDelay: 100 }, 100_000],
      [86_400, { maxRetryDelay: null }, 86_400_000],
    ] as const)('%d s with %o: %d ms', (delaySeconds, policy, delayMs) => {
      expect(decide({ delaySeconds }, policy as Partial<RetryPolicy>)).toMatchObject({ phase: 'SCHEDULED', delayMs })
    })
  })

  describe('the reason', () => {
    it.each([true, false])('is matched by rules (trustVerdicts %s)', (trustVerdicts) => {
      const rules: RetryRule[] = [{ match: { reason: 'license*' }, action: 'FAIL' }]
      expect(decide({ reason: 'license expired' }, { rules, trustVerdicts })).toMatchObject({ matchedRule: 0 })
      expect(decide({ reason: 'disk full' }, { rules, trustVerdicts })).toMatchObject({ matchedRule: null })
    })
  })

  it.each([
    [
      { reason: 'busy', retry: 'uncounted', delaySeconds: 30 },
      {},
      'uncounted retry 1 of 10: exit code 3 (busy); its program asks for an uncounted retry after 30 s; waits 30 s',
    ],
    [{ retry: 'no' }, {}, 'not retried: exit code 3; its program asks for no retry'],
    [
      { retry: 'no' },
      { trustVerdicts: false },
      'retry 1 of 3: exit code 3; its program asks for no retry, which trustVerdicts ignores; waits 60 s',
    ],
    [
      { fault: 'it is not JSON' },
      {},
      'retry 1 of 3: exit code 3; its verdict file cannot be used: it is not JSON; waits 60 s',
    ],
  ] as const)('%o with %o is explained', (said, policy, explanation) => {
    expect(decide(said, policy, { maxRetries: 3 }).explanation).toBe(explanation)
  })
})
