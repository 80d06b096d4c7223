import { join } from 'node:path'
import { inject } from 'vitest'
import { runService } from '../run/run-service.ts'
import { runFor, type SlurmCluster } from './slurm-cluster.ts'

const PROGRAM = join(import.meta.dirname, '../programs/shared-slurm-cluster-program.ts')

/** The cluster of the run. Its tests count only their own jobs, and leave its nodes and partitions as they are. */
export async function sharedSlurmCluster(): Promise<SlurmCluster> {
  const cluster = await runService<Omit<SlurmCluster, 'run'>>(inject('runDirectory'), 'slurm', PROGRAM)
  return { ...cluster, run: runFor(cluster.config) }
}
