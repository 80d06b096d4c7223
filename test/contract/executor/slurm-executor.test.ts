import { afterAll, beforeAll } from 'vitest'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type SlurmCluster, startSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { executorConformance } from './executor-conformance.ts'
import { createSlurmFixture } from './slurm-fixture.ts'

const missing = whyNoSlurmCluster()
let cluster: SlurmCluster
const before = process.env['SLURM_CONF']

beforeAll(async () => {
  if (missing !== null) return
  cluster = await startSlurmCluster(await temporaryDirectory('slurm'))
  process.env['SLURM_CONF'] = cluster.config
})
afterAll(async () => {
  if (before === undefined) delete process.env['SLURM_CONF']
  else process.env['SLURM_CONF'] = before
  await cluster?.[Symbol.asyncDispose]()
})

executorConformance('slurm', () => createSlurmFixture(cluster), missing)
