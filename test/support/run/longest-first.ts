import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, mostly waiting, longest first, so that other files fill the waiting time and none of
 * these runs alone at the end.
 */
const LONGEST = [
  'e2e/hostile-member',
  'contract/fuzz/every-place',
  'contract/fuzz/random-inputs',
  'e2e/stop-signals',
  'integration/graphql/one-state',
  'e2e/pgbouncer',
  'e2e/command-line/help-examples',
  'e2e/client-restarts',
  'e2e/remote/partitions',
  'integration/client/retries',
  'e2e/command-line/administration',
  'e2e/crashes',
  'e2e/several-servers',
  'e2e/deployments/deployments',
  'e2e/server',
  'e2e/readme-tour',
  'e2e/command-line/run',
  'e2e/demo',
  'e2e/remote/remote-agents',
  'integration/store/embedded-postgres',
  'e2e/database-outage',
  'e2e/command-line/deployments',
  'integration/retry/ways-out',
  'e2e/resubmission',
  'contract/executor/container-crashes',
  'contract/executor/container-garbage',
  'contract/executor/container-memory',
  'contract/executor/container-logs',
  'contract/executor/container-crash-points',
  'contract/executor/process-restart',
  'contract/graphql/slow-consumers',
  'integration/client/streams',
  'contract/fuzz/raw-sockets',
  'integration/properties/chains.property',
  'integration/resubmission/bulk',
  'integration/graphql/limits',
  'integration/agent/agent-swarm',
  'e2e/readiness',
  'e2e/client-package',
  'e2e/backup',
  'integration/agent/agent-restart',
  'contract/tenancy/tenancy',
  'e2e/remote/namespace',
  'integration/access/user-tokens',
  'e2e/subscribers',
  'e2e/webhook-crash',
].map((name) => join(import.meta.dirname, '../..', `${name}.test.ts`))

for (const path of LONGEST) if (!existsSync(path)) throw new Error(`${path}: it is gone, and here it is still awaited`)

/** Keeps the files of a project together: a worker that changes projects is restarted. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- Vitest's, of files
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}

function rank({ moduleId, project }: TestSpecification): number {
  // First, since the last ones to run should be short and many.
  if (project.name === 'pure') return -1
  const place = LONGEST.indexOf(moduleId)
  return place < 0 ? LONGEST.length : place
}
