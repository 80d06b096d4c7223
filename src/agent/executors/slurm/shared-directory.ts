import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readControlFile } from '../../control-file.ts'
import { JOB_SCRIPT, KEEPER_SCRIPT } from './job-script.ts'

/**
 * What the agent and all nodes see under the same path, `<directory>/<agent id>/`:
 *
 *   lease                        see openLease
 *   presence                     empty: the agent opens it to see that it can write
 *   bin/<hash>/job.sh keeper.sh  never changed, since running jobs read them
 *   kernels/<kernel id>/         as of any kernel; besides:
 *     submit      { name, task, at } written before it is submitted
 *     slurm.out   what Slurm itself says of the job
 *     again       left by a job that Slurm has started another time
 *     job/        of the job's user, where that is not the agent's: has `status`, output, `slurm.out` and `again` then
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

/** Others pass through, to what is theirs. */
const PASSABLE = 0o711

/** @throws if it cannot be written, or has a name that cannot stand in a batch script */
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
  return { root, kernels, batches, chains, jobScript: installScripts(join(root, 'bin')) }
}

function installScripts(bin: string): string {
  const hash = createHash('sha256').update(JOB_SCRIPT).update(KEEPER_SCRIPT).digest('hex')
  const path = join(bin, hash)
  mkdirSync(path, { recursive: true })
  for (const each of [bin, path]) chmodSync(each, 0o755)
  for (const [name, text] of [
    ['keeper.sh', KEEPER_SCRIPT],
    ['job.sh', JOB_SCRIPT],
  ] as const) {
    const file = join(path, name)
    if (readControlFile(file) === text) continue
    writeFileSync(`${file}.new`, text, { mode: 0o644 })
    chmodSync(`${file}.new`, 0o644)
    renameSync(`${file}.new`, file)
  }
  return join(path, 'job.sh')
}
