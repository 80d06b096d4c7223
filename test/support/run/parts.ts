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
    'test/e2e/remote/relay-containers.test.ts',
  ],
  /** Slurm clusters. */
  slurm: ['test/contract/executor/slurm-*.test.ts', 'test/e2e/slurm*.test.ts', 'test/e2e/remote/relay-slurm.test.ts'],
  /** Other programs of the distribution, and isolation: proxies, poolers, promtool, namespaces, users. */
  machine: [
    'test/contract/executor/process-{isolated,leftovers,limits}.test.ts',
    'test/e2e/{alerts,backup,database-user,hostile-member,isolation,proxies,python,python-client}.test.ts',
    'test/e2e/remote/ordinary-user.test.ts',
  ],
  browser: ['test/browser/!(chain-lifecycle).test.ts'],
  /** Many seeds, many processes, large tables, large answers, or clocks that have to pass. */
  long: [
    'test/contract/blob/*.test.ts',
    'test/contract/caches/*.test.ts',
    'test/contract/executor/process-{control-files,executor,gpus,restart,warden}.test.ts',
    'test/contract/fuzz/*.test.ts',
    'test/contract/graphql/large-answers.test.ts',
    'test/contract/tenancy/*.test.ts',
    'test/e2e/{channels,database-outage,development,hostile-reader,installed,large-answers,readiness}.test.ts',
    'test/e2e/{readme-tour,resubmission,secrets,server,several-servers,tls,traces-and-logs}.test.ts',
    'test/e2e/command-line/*.test.ts',
    'test/e2e/deployments/*.test.ts',
    'test/e2e/remote/{checkpoints,full-disks,full-server-disks,gpus,output-failures,outputs,partitions,relay-crashes,relay-faults,remote-agents,time-limits,upload}.test.ts',
    'test/integration/access/{admission,strangers}.test.ts',
    'test/integration/agent-api/checkpoint-lies.test.ts',
    'test/integration/agent/{agent-faults,agent-files}.test.ts',
    'test/integration/agent/{checkpoints,checkpoint-failures,decided-isolation,published-checkpoints,relayed-checkpoints,snapshot-checkpoint}.test.ts',
    'test/integration/chain/chain-pages.test.ts',
    'test/integration/code/{archive,upload}.test.ts',
    'test/integration/client/{retries,streams}.test.ts',
    'test/integration/graphql/{one-state,request-bounds,statement-counts}.test.ts',
    'test/integration/event/event-pages.test.ts',
    'test/integration/properties/{checkpoints,scheduling}.property.test.ts',
    'test/integration/resubmission/{bulk,session-actions}.test.ts',
    'test/integration/drop-old-checkpoints.test.ts',
    'test/integration/scheduling/concurrency-keys.test.ts',
    'test/integration/session/group-dependencies.test.ts',
    'test/integration/store/{chain,live-chain,outbox,session}-plans.test.ts',
    'test/integration/webhook/isolation.test.ts',
    'test/storm/storm.test.ts',
    'test/integration/store/{embedded-postgres,migrate,read-pool}.test.ts',
  ],
} as const satisfies Record<string, readonly string[]>

/** All test files that vitest finds are in exactly one of these. */
export type Part = keyof typeof PARTS | 'quick'

/** The commands that people run; each is useful alone. */
export const COMMANDS = {
  /** `npm test` */
  test: ['pure', 'quick'],
  /** `npm run test:engines` */
  engines: ['containers', 'slurm', 'machine'],
  browser: ['browser'],
  long: ['long'],
} as const satisfies Record<string, readonly Part[]>
