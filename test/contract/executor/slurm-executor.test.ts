import { beforeAll } from 'vitest'
import { sharedSlurmCluster } from '../../support/slurm/shared-cluster.ts'
import { nameCluster, type SlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { executorConformance } from './executor-conformance.ts'
import { createSlurmFixture } from './slurm-fixture.ts'

const missing = whyNoSlurmCluster()
let cluster: SlurmCluster

beforeAll(async () => {
  if (missing !== null) return
  cluster = await sharedSlurmCluster()
  return nameCluster(cluster)
})

executorConformance('slurm', () => createSlurmFixture(cluster), missing)
