import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemProgram } from '../../src/machine/system-programs.ts'
import { endLeftovers } from '../support/run/end-leftovers.ts'
import { CHECKS } from './checks.ts'
import { startSubject } from './subject.ts'

/**
 * Checks GPUs on a machine that has a real one by NVIDIA: a server with its own agent and database, and sessions that
 * run CUDA. Prints a table. Exit status 1 if a check failed, 2 if there is no GPU.
 */

async function realGpus(): Promise<string[]> {
  const columns = '--query-gpu=uuid,name,memory.total,driver_version'
  const run = promisify(execFile)(systemProgram('nvidia-smi'), [columns, '--format=csv,noheader'], { timeout: 15_000 })
  return (await run).stdout.split('\n').filter((line) => line.startsWith('GPU-'))
}

const gpus = await realGpus().catch((error: Error) => {
  console.error(`This machine has no NVIDIA GPU that nvidia-smi shows: ${error.message.split('\n')[0]}`)
  return []
})
if (gpus.length === 0) {
  console.error('Nothing was checked.')
  process.exit(2)
}
for (const gpu of gpus) console.log(gpu)

const directory = await mkdtemp(join(tmpdir(), 'reprise-check-gpu-'))
let failures = 0
try {
  await using subject = await startSubject(
    directory,
    gpus.map((line) => line.split(',')[0]!),
  )
  console.log(`isolation: ${subject.isolation}\n`)
  for (const { name, check } of CHECKS) {
    const began = performance.now()
    const found = await check(subject).then(
      (words) => ({ state: 'passed', words }),
      (error: Error) => ({ state: 'FAILED', words: error.message.split('\n')[0]! }),
    )
    if (found.state === 'FAILED') failures++
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log([found.state, name.padEnd(34), `${seconds.padStart(5)} s`, found.words].join('  '))
  }
} finally {
  await endLeftovers(directory)
  await rm(directory, { recursive: true, force: true })
}
process.exitCode = failures === 0 ? 0 : 1
