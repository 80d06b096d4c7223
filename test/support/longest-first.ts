import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, mostly waiting, longest first, so that other files fill the waiting time and none of
 * these runs alone at the end.
 */
const LONGEST = [
  'e2e/client-restarts',
  'e2e/crashes',
  'e2e/several-servers',
  'e2e/command-line/help-examples',
  'e2e/command-line/administration',
  'e2e/deployments/deployments',
  'e2e/command-line/run',
  'e2e/command-line/deployments',
  'e2e/server',
  'e2e/remote/partitions',
  'e2e/readme-tour',
  'e2e/demo',
  'e2e/remote/remote-agents',
  'e2e/resubmission',
  'integration/store/embedded-postgres',
  'contract/executor/process-restart',
  'integration/client/retries',
  'integration/scheduler/ways-out',
  'e2e/client-package',
  'e2e/subscribers',
  'contract/graphql/slow-consumers',
  'contract/tenancy/tenancy',
  'e2e/readiness',
  'e2e/database-outage',
  'e2e/webhook-crash',
  'e2e/remote/namespace',
  'integration/graphql/user-tokens',
].map((name) => join(import.meta.dirname, '..', `${name}.test.ts`))

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
  if (project.name === 'pure') return LONGEST.length + 1
  const place = LONGEST.indexOf(moduleId)
  return place < 0 ? LONGEST.length : place
}
