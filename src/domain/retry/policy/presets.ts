import type { RetryPolicy, RetryRule } from './policy.ts'

/** Named policies to start from. */
export const RETRY_POLICY_PRESETS = ['CMS_EXIT_CODES'] as const
export type RetryPolicyPreset = (typeof RETRY_POLICY_PRESETS)[number]

const MEMORY_BYTES_MAX = 7500 * 2 ** 20
const RUNTIME_SECONDS_MAX = 47 * 3600
const DELAY_SECONDS = 900

/**
 * Removals by a watchdog come first: such a job would be removed again. Then come the recoverable codes, the wrapper's
 * long codes beside their low 8 bits, which are all that a process can exit with. Other codes are final; failures
 * without an exit code are left to `eligibleCauses`.
 */
const CMS_RULES: RetryRule[] = [
  { match: { reason: 'Removed due to job being held*' }, action: 'RETRY' },
  { match: { reason: 'Removed due to memory use*' }, action: 'FAIL' },
  { match: { reason: 'Removed due to wall clock limit*' }, action: 'FAIL' },
  { match: { reason: '*CPU usage over limit*' }, action: 'FAIL' },
  { match: { reason: 'Removed due to disk usage*' }, action: 'FAIL' },
  { match: { reason: 'Removed due to idle time limit*' }, action: 'FAIL' },
  // The same removals, as agents report them.
  { match: { causes: ['OOM_KILLED'] }, action: 'FAIL' },
  { match: { reason: 'task-timeout' }, action: 'FAIL' },
  {
    match: { exitCodes: [50115, 195] },
    action: 'RETRY',
    delay: DELAY_SECONDS,
    scaleResources: [{ slot: 'mem', factor: 1.3, max: String(MEMORY_BYTES_MAX) }],
  },
  {
    match: { exitCodes: [60403, 243] },
    action: 'RETRY',
    delay: DELAY_SECONDS,
    scaleTimeout: { factor: 1.3, max: RUNTIME_SECONDS_MAX },
  },
  { match: { exitCodes: [8020, 84, 8021, 85] }, action: 'RETRY', delay: DELAY_SECONDS, avoid: 'RESOURCE_GROUP' },
  {
    match: {
      exitCodes: [1, 50513, 81, 137, 10034, 50, 10040, 56, 60307, 147, 60311, 151, 8028, 92, 8022, 86, 134, 8001, 65],
    },
    action: 'RETRY',
    delay: DELAY_SECONDS,
  },
  { match: { exitCodesNotIn: [0] }, action: 'FAIL' },
]

export const PRESETS: Readonly<Record<RetryPolicyPreset, Readonly<Partial<RetryPolicy>>>> = {
  CMS_EXIT_CODES: {
    // The source's budget of 10 counts attempts, the first included.
    maxRetries: 9,
    retryDelay: DELAY_SECONDS,
    backoff: 'FIXED',
    jitter: 'NONE',
    rules: CMS_RULES,
  },
}
