import { afterAll, beforeAll } from 'vitest'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type SlurmCluster, startOwnSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { executorConformance } from './executor-conformance.ts'
import { createSlurmFixture } from './slurm-fixture.ts'

const missing = whyNoSlurmCluster()
let cluster: SlurmCluster

beforeAll(async () => {
  if (missing !== null) return
  cluster = await startOwnSlurmCluster(await temporaryDirectory('slurm'))
})
afterAll(() => cluster?.[Symbol.asyncDispose]())

executorConformance('slurm', () => createSlurmFixture(cluster), missing)
