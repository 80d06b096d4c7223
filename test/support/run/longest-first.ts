import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, mostly waiting, longest first, so that other files fill the waiting time and none of
 * these runs alone at the end.
 */
const LONGEST = [
  'e2e/remote/relay-crashes',
  'e2e/remote/output-failures',
  'contract/fuzz/inputs',
  'integration/agent/agent-faults',
  'e2e/command-line/help-examples',
  'e2e/remote/relay-faults',
  'contract/tenancy/tenancy',
  'e2e/readme-tour',
  'e2e/database-outage',
  'e2e/server',
  'contract/blob/transfer',
  'integration/agent-api/checkpoint-lies',
  'e2e/installed',
  'e2e/remote/full-disks',
  'e2e/remote/full-server-disks',
  'e2e/large-answers',
  'e2e/remote/outputs',
  'storm/storm',
  'integration/agent/agent-files',
  'e2e/remote/checkpoints',
  'e2e/command-line/administration',
  'e2e/command-line/reading',
  'e2e/channels',
  'e2e/crashes',
  'e2e/command-line/ids',
  'integration/agent/published-checkpoints',
  'integration/agent/checkpoint-failures',
  'e2e/command-line/run',
  'e2e/deployments/deployments',
  'integration/agent/relayed-checkpoints',
  'e2e/remote/partitions',
  'contract/executor/process-control-files',
  'e2e/remote/upload',
  'e2e/command-line/failures',
  'e2e/command-line/deployments',
  'integration/store/read-pool',
  'e2e/several-servers',
  'e2e/resubmission',
  'e2e/remote/remote-agents',
  'e2e/tls',
  'integration/agent/checkpoints',
  'contract/caches/relay',
  'integration/graphql/request-bounds',
  'integration/graphql/one-state',
  'contract/executor/process-warden',
  'contract/executor/process-restart',
  'contract/executor/process-executor',
  'integration/retry/ways-out',
  'integration/chain/chain-pages',
  'integration/store/embedded-postgres',
  'e2e/secrets',
  'e2e/development',
  'integration/scheduling/concurrency-keys',
  'integration/resubmission/session-actions',
  'e2e/hostile-reader',
  'integration/client/streams',
  'integration/properties/checkpoints.property',
  'integration/store/migrate',
  'integration/resubmission/bulk',
  'integration/client/retries',
  'browser/chain-lifecycle',
  'integration/agent/snapshot-checkpoint',
  'integration/agent/agent-program',
  'integration/session/session-input',
  'integration/graphql/limits',
  'integration/properties/chain-record.property',
  'integration/session/deciding-kernel',
  'contract/executor/slurm-users',
  'contract/executor/slurm-crashes',
  'contract/executor/slurm-jobs',
  'e2e/remote/relay-slurm',
  'e2e/slurm',
  'contract/executor/slurm-shared-directory',
  'contract/executor/slurm-executor',
  'contract/executor/slurm-gang',
  'e2e/slurm-users',
  'e2e/slurm-example',
  'contract/executor/slurm-gpus',
  'e2e/hostile-member',
  'e2e/proxies',
  'e2e/container-images',
  'e2e/container-volumes',
  'e2e/container-entry',
  'e2e/containers',
  'contract/executor/container-crashes',
  'contract/executor/container-volumes',
  'contract/executor/container-crash-points',
  'contract/executor/container-resources',
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
