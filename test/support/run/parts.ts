/**
 * Which test files belong to which part of the suite: patterns from the project's root. A part is a project of vitest.
 * What no part names belongs to `quick`, and so does a new file.
 */
export const PARTS = {
  /** Neither a database nor processes. */
  pure: ['test/unit/**/*.test.ts', 'test/guard/**/*.test.ts'],
  /** Docker and Podman engines. */
  containers: [
    'test/contract/executor/container-*.test.ts',
    'test/e2e/container*.test.ts',
    'test/e2e/image-digests.test.ts',
    'test/e2e/remote/relay-containers.test.ts',
  ],
  /** Slurm clusters. */
  slurm: [
    'test/contract/executor/slurm-*.test.ts',
    'test/e2e/slurm*.test.ts',
    'test/e2e/remote/{ordinary,relay}-slurm*.test.ts',
  ],
  /** Other programs of the distribution, and isolation: proxies, poolers, promtool, namespaces, users. */
  machine: [
    'test/contract/executor/process-{directories,exec,isolated,leftovers,limits,stops,usage}.test.ts',
    'test/e2e/{alerts,backup,database-user,hostile-member,isolation,pgbouncer,proxies,python,restored-database}.test.ts',
    'test/e2e/remote/{namespace,ordinary-user,relay-users}.test.ts',
  ],
  browser: ['test/browser/!(chain-lifecycle).test.ts'],
  /** Many seeds, many processes, or clocks that have to pass. */
  long: [
    'test/contract/executor/process-{control-files,fence,log-bound,warden}.test.ts',
    'test/contract/fuzz/*.test.ts',
    'test/e2e/{bench,channels,client-restarts,database-outage,demo,large-logs,readme-tour,stop-signals,test-run,tls}.test.ts',
    'test/e2e/command-line/{administration,deployments,help-examples,ids,schedules}.test.ts',
    'test/e2e/deployments/*.test.ts',
    'test/e2e/remote/{checkpoints,embedded-agents,partitions,published-checkpoints,relay-crashes,relay-faults,standstill,upload}.test.ts',
    'test/integration/agent/{published-checkpoints,uploaded-code}.test.ts',
    'test/integration/graphql/one-state.test.ts',
  ],
} as const satisfies Record<string, readonly string[]>

/** All test files that vitest finds are in exactly one of these. */
export type Part = keyof typeof PARTS | 'quick'

/** What people run: each proves something, and each runs alone, too. */
export const COMMANDS = {
  /** `npm test` */
  test: ['pure', 'quick'],
  /** `npm run test:engines` */
  engines: ['containers', 'slurm', 'machine'],
  browser: ['browser'],
  long: ['long'],
} as const satisfies Record<string, readonly Part[]>
