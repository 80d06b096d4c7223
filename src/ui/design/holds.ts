/** Why retries are held, in words. */
export const HOLDS = {
  DISABLED: 'retries are switched off',
  RATE_LIMITED: 'rate limit',
  QUOTA: 'quota of the project',
  PARENT_ALIVE: 'the attempt before may still run',
} as const
