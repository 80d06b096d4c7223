import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readControlFile } from '../../control-file.ts'
import { JOB_SCRIPT } from './job-script.ts'

/**
 * The files that the agent and all nodes see under the same path, `<directory>/<agent id>/`:
 *
 *   lease                        see openLease
 *   presence                     empty: the agent opens it to see that it can write
 *   bin/<hash>/job.sh            never changed, since running jobs read it
 *   kernels/<kernel id>/         as for any kernel, and also:
 *     submit      { name, task, at } written before it is submitted
 *     slurm.out   what Slurm itself writes about the job
 *     again       left by a job that Slurm has started another time
 *     job/        directory of the job's user, if that is not the agent's: `status`, output, `slurm.out` and `again`
 *   batches/<batch id>           kernels of an array or a gang, a line for each
 *   chains/<chain id>/
 */
export interface SharedDirectory {
  readonly root: string
  readonly kernels: string
  readonly batches: string
  readonly chains: string
  readonly jobScript: string
}

/** Mode that lets other users pass through to their own directories. */
const PASSABLE = 0o711

/** @throws if it cannot be written, or its path cannot be used in a batch script */
export function openSharedDirectory(directory: string, agentId: string): SharedDirectory {
  const root = join(realpathSync(directory), agentId)
  if (/[\n\0]/.test(root)) throw new Error('the path of the directory has a line break')
  const [kernels, batches, chains] = ['kernels', 'batches', 'chains'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ]
  for (const path of [root, kernels, batches, chains]) {
    mkdirSync(path, { recursive: true })
    chmodSync(path, PASSABLE)
  }
  return { root, kernels, batches, chains, jobScript: installScript(join(root, 'bin')) }
}

function installScript(bin: string): string {
  const path = join(bin, createHash('sha256').update(JOB_SCRIPT).digest('hex'))
  mkdirSync(path, { recursive: true })
  for (const each of [bin, path]) chmodSync(each, 0o755)
  const file = join(path, 'job.sh')
  if (readControlFile(file) === JOB_SCRIPT) return file
  writeFileSync(`${file}.new`, JOB_SCRIPT, { mode: 0o644 })
  chmodSync(`${file}.new`, 0o644)
  renameSync(`${file}.new`, file)
  return file
}
