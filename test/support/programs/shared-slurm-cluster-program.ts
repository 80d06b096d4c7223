/** The Slurm cluster that the tests of a run share. */
import { join } from 'node:path'
import { serveRun } from '../run/run-service.ts'
import { type ClusterOptions, startSlurmCluster } from '../slurm/slurm-cluster.ts'

const OPTIONS: ClusterOptions = {
  // Room for the jobs of all workers beside one that asks for half a node: a job that waits for room holds up all that
  // come behind it.
  cpusPerNode: 256,
  // Tests that ask for jobs that have ended find them, however busy the machine is.
  jobAgeSeconds: 300,
  messageSeconds: 60,
  lines: [
    // Some sites have Slurm end all tasks a while after the first.
    'WaitTime=1',
    // A job that asks for it while another has it waits, and holds up no others.
    'Licenses=rare:1',
  ],
}

await serveRun(async (directory) => {
  const cluster = await startSlurmCluster(join(directory, 'cluster'), OPTIONS)
  const { config, shared, nodes, cpusPerNode } = cluster
  return {
    description: { config, shared, cpusPerNode, nodes: nodes.map(({ name }) => ({ name })) },
    end: async () => cluster[Symbol.asyncDispose](),
  }
})
