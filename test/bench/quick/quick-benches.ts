import type { Bench } from '../bench.ts'

/** What `npm run bench -- --quick` measures: each gives one ratio. */
export const QUICK_BENCHES: readonly Bench[] = [
  {
    name: 'lifecycles',
    size: 1_000,
    limitSeconds: 600,
    load: async () => (await import('./quick-lifecycles.ts')).quickLifecycles,
  },
  {
    name: 'alone',
    size: 120,
    limitSeconds: 600,
    load: async () => (await import('./quick-lifecycles.ts')).quickAlone,
  },
  {
    name: 'retries',
    size: 1_500,
    limitSeconds: 600,
    load: async () => (await import('./quick-retries.ts')).quickRetries,
  },
  {
    name: 'resubmission',
    size: 1_500,
    limitSeconds: 600,
    load: async () => (await import('./quick-retries.ts')).quickResubmission,
  },
  {
    name: 'processes',
    size: 120,
    limitSeconds: 600,
    load: async () => (await import('./quick-processes.ts')).quickProcesses,
  },
  {
    name: 'point-query',
    size: 1_000,
    limitSeconds: 600,
    load: async () => (await import('./quick-point-query.ts')).quickPointQuery,
  },
  {
    name: 'burst',
    size: 300,
    limitSeconds: 600,
    load: async () => (await import('./quick-burst.ts')).quickBurst,
  },
  {
    name: 'command',
    size: 8,
    limitSeconds: 600,
    load: async () => (await import('./quick-command.ts')).quickCommand,
  },
]
