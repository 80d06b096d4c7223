import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { BenchGround } from './ground.ts'

const run = promisify(execFile)
/** Slurm's own bound, where nothing else is configured. */
const ARRAY_JOBS_MAX = 1_000
const CHECK_INTERVAL_MS = 100

/** Why Slurm cannot run jobs here, in words; null where a node of it is up. */
export async function whyNoSlurm(): Promise<string | null> {
  try {
    const { stdout } = await run('sinfo', ['--noheader', '--responding', '--states=idle,mixed', '--format=%D'])
    return Number(stdout.trim().split('\n')[0]) > 0 ? null : 'has no node that takes jobs'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'is not installed' : 'does not answer'
  }
}

/** A peer: a command as jobs of job arrays, from the first that is submitted to the last that is over. Jobs/s. */
export async function slurmJobs(ground: BenchGround, jobs: number, command = '/bin/true'): Promise<number> {
  const begun = performance.now()
  const arrays: string[] = []
  for (let done = 0; done < jobs; done += ARRAY_JOBS_MAX) {
    const last = Math.min(ARRAY_JOBS_MAX, jobs - done) - 1
    const options = ['--parsable', '--output=/dev/null', '--chdir=/', `--array=0-${last}`, `--wrap=${command}`]
    arrays.push((await run('sbatch', options)).stdout.trim())
  }
  for (let left = true; left;) {
    ground.signal.throwIfAborted()
    await sleep(CHECK_INTERVAL_MS)
    left = (await run('squeue', ['--noheader', `--jobs=${arrays.join()}`])).stdout.trim() !== ''
  }
  return jobs / ((performance.now() - begun) / 1000)
}
