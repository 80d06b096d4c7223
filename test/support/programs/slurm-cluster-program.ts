/** Run as a process of whoever is to have it: a cluster in this directory, until it is killed with all that it started. */
import { startSlurmCluster } from '../slurm/slurm-cluster.ts'

const cluster = await startSlurmCluster(process.argv[2]!)
process.stdout.write(`cluster ready ${cluster.config} ${cluster.shared}\n`)
setInterval(() => undefined, 60_000)
