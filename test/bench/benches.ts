import type { Bench } from './bench.ts'

/** What `npm run bench` measures, in this order. A file is only loaded by the process that runs its bench. */
export const BENCHES: readonly Bench[] = [
  {
    name: 'lifecycles',
    size: 10_000,
    limitSeconds: 320,
    load: async () => (await import('./lifecycles.bench.ts')).lifecycles,
  },
  {
    name: 'schedule',
    size: 10_000,
    limitSeconds: 1440,
    load: async () => (await import('./schedule.bench.ts')).schedule,
  },
  {
    name: 'retries',
    size: 10_000,
    limitSeconds: 300,
    load: async () => (await import('./retries.bench.ts')).retries,
  },
  {
    name: 'resubmission',
    size: 10_000,
    limitSeconds: 300,
    load: async () => (await import('./resubmission.bench.ts')).resubmission,
  },
  {
    name: 'storm',
    size: 10_000,
    limitSeconds: 320,
    load: async () => (await import('./storm.bench.ts')).storm,
  },
  {
    name: 'lateness',
    size: 10_000,
    limitSeconds: 320,
    load: async () => (await import('./lateness.bench.ts')).lateness,
  },
  {
    name: 'agent-latency',
    size: 200,
    limitSeconds: 480,
    load: async () => (await import('./agent-latency.bench.ts')).agentLatency,
  },
  {
    name: 'processes',
    size: 1_000,
    limitSeconds: 480,
    load: async () => (await import('./processes.bench.ts')).processes,
  },
  {
    name: 'outputs',
    size: 1_024,
    limitSeconds: 1920,
    load: async () => (await import('./outputs.bench.ts')).outputs,
  },
  {
    name: 'containers',
    size: 200,
    limitSeconds: 1920,
    load: async () => (await import('./containers.bench.ts')).containers,
  },
  {
    name: 'slurm',
    size: 600,
    limitSeconds: 1920,
    load: async () => (await import('./slurm.bench.ts')).slurm,
  },
  {
    name: 'slurm-filled',
    size: 480,
    limitSeconds: 1440,
    load: async () => (await import('./slurm.bench.ts')).slurmFilled,
  },
  {
    name: 'slurm-depth',
    size: 10_000,
    limitSeconds: 1920,
    load: async () => (await import('./slurm.bench.ts')).slurmDepth,
  },
  {
    name: 'point-query',
    size: 1_000,
    limitSeconds: 320,
    load: async () => (await import('./point-query.bench.ts')).pointQuery,
  },
  {
    name: 'statistics',
    size: 100_000,
    limitSeconds: 720,
    load: async () => (await import('./statistics.bench.ts')).statistics,
  },
  {
    name: 'fan-out',
    size: 5_000,
    limitSeconds: 3200,
    load: async () => (await import('./fan-out.bench.ts')).fanOut,
  },
  {
    name: 'bursts',
    size: 500,
    limitSeconds: 320,
    load: async () => (await import('./bursts.bench.ts')).bursts,
  },
  {
    name: 'memory',
    size: 2_000,
    limitSeconds: 960,
    load: async () => (await import('./memory.bench.ts')).memory,
  },
  {
    name: 'strangers',
    size: 2_000,
    limitSeconds: 960,
    load: async () => (await import('./strangers.bench.ts')).strangers,
  },
  {
    name: 'web-ui',
    size: 100_000,
    limitSeconds: 3200,
    load: async () => (await import('./web-ui.bench.ts')).webUi,
  },
  {
    name: 'python',
    size: 1_000,
    limitSeconds: 1800,
    load: async () => (await import('./python.bench.ts')).python,
  },
  {
    name: 'fingerprints',
    size: 500,
    limitSeconds: 320,
    load: async () => (await import('./fingerprints.bench.ts')).fingerprints,
  },
  {
    name: 'growth',
    size: 1_000_000,
    limitSeconds: 7200,
    load: async () => (await import('./growth.bench.ts')).growth,
  },
  {
    name: 'autovacuum',
    size: 180_000,
    limitSeconds: 5280,
    load: async () => (await import('./autovacuum.bench.ts')).autovacuum,
  },
]
