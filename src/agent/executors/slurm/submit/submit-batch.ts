import { randomUUID } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Owner } from '../../../../archive/extract-archive.ts'
import { messageOf } from '../../../../observability/error-message.ts'
import { writeControlFile } from '../../../control-file.ts'
import { quote } from '../../process/shell.ts'
import { isSameUser } from '../job-users.ts'
import { gangSize, type SlurmHost, type SlurmKernel, type SubmitMark } from '../slurm-host.ts'
import { cpusOf, submissionArguments } from './job-arguments.ts'

/** Why the submission has to be repeated. */
export interface Again {
  reason: string
  /** True if it can be repeated at once, with fewer kernels. */
  tooMany: boolean
}

/**
 * Submits kernels to Slurm as one job: a single kernel, equal ones as an array, or those of a session. `submit` is
 * written in each one's directory first. Never rejects.
 *
 * @returns null if no repetition is needed
 */
export async function submit(host: SlurmHost, batch: readonly SlurmKernel[]): Promise<Again | null> {
  try {
    return await submitBatch(host, batch)
  } catch (error) {
    return { reason: (await host.presence.look()) ?? messageOf(error), tooMany: false }
  }
}

async function submitBatch(host: SlurmHost, batch: readonly SlurmKernel[]): Promise<Again | null> {
  const [first] = batch as [SlurmKernel]
  const gang = gangSize(first) > 1
  const array = batch.length > 1 && !gang
  const single = batch.length === 1 && !gang
  const { user } = first
  if (batch.some((kernel) => !isSameUser(kernel.user, user))) return refuse(host, batch, OTHER_USER)
  const name = single ? `rp-${first.id}-${first.assignment}` : `rp-b${randomUUID()}`
  const at = Date.now()
  const directory = single ? first.outputPath : makeBatch(host, batch, name)
  for (const [task, kernel] of batch.entries()) {
    kernel.submissions += 1
    note(kernel, { name, task: array ? task : null, at, submissions: kernel.submissions })
    kernel.handedOver = true
    kernel.submittedAt = Number.POSITIVE_INFINITY
  }
  const args = [
    ...submissionArguments({
      output: join(directory, ...(user === null || single ? [] : ['job']), array ? 'slurm.out.%a' : 'slurm.out'),
      directory: host.shared.root,
      name,
      comment: commentOf(host.agentId, array ? { list: join(directory, 'kernels') } : first),
    }),
    ...(array ? [`--array=0-${batch.length - 1}`] : []),
    ...first.request,
    // With only one of these options, the other id would stay that of the agent.
    ...(user === null ? [] : [`--uid=${user.uid}`, `--gid=${user.gid}`]),
  ]
  const script = scriptOf(host, batch, { gang, at, directory })
  const { exclusion } = first
  const wished = await host.commands.submit([...exclusion, ...args], script)
  const inVain = wished.kind === 'refused' && exclusion.length > 0
  const result = inVain ? await host.commands.submit(args, script) : wished
  for (const kernel of batch) kernel.submittedAt = performance.now()
  host.wake()
  if (result.kind === 'submitted') return null
  if (result.kind !== 'refused') {
    // Unless it reports too many tasks, Slurm may have accepted the job. Then the claim keeps a second job from running
    // it.
    const tooMany = result.kind === 'too-many'
    for (const kernel of batch) {
      kernel.handedOver = false
      if (tooMany) kernel.submissions -= 1
    }
    return { reason: result.message, tooMany }
  }
  return refuse(host, batch, `Slurm refuses its job: ${result.message}`)
}

const OTHER_USER = 'the Unix user of its project is not the one that it was when its session began to start'

function refuse({ registry }: SlurmHost, batch: readonly SlurmKernel[], message: string): null {
  for (const kernel of batch) registry.fail(kernel, 'submit-refused', message)
  return null
}

/**
 * Returns the job's comment. Its agent id identifies jobs whose kernel is gone, and people find the session in it. The
 * tasks of an array share a comment, which names a list with their kernels in the order of their numbers.
 */
function commentOf(agentId: string, of: SlurmKernel | { list: string }): string {
  const which = 'list' in of ? `tasks=${of.list}` : attemptOf(of)
  return `reprise agent=${agentId} ${which}`
}

function attemptOf({ spec }: SlurmKernel): string {
  return `session=${spec.sessionId} attempt=${spec.attempt}`
}

function makeBatch({ shared }: SlurmHost, batch: readonly SlurmKernel[], name: string): string {
  const directory = join(shared.batches, name)
  mkdirSync(directory)
  const lines = batch.map((kernel) => `${kernel.id} ${kernel.assignment} ${attemptOf(kernel)}\n`)
  writeFileSync(join(directory, 'kernels'), lines.join(''))
  chmodSync(join(directory, 'kernels'), 0o644)
  chmodSync(directory, 0o755)
  const { user } = batch[0]!
  if (user !== null) giveBatch(directory, user)
  return directory
}

/**
 * Gives the batch's directory to the job's user, as whom Slurm writes its messages about the tasks. Only that user can
 * read the list.
 */
function giveBatch(directory: string, { uid, gid }: Owner): void {
  const output = join(directory, 'job')
  mkdirSync(output, 0o700)
  chmodSync(join(directory, 'kernels'), 0o400)
  for (const path of [output, join(directory, 'kernels')]) chownSync(path, uid, gid)
}

function note(kernel: SlurmKernel, mark: SubmitMark): void {
  writeControlFile(join(kernel.path, 'submit'), JSON.stringify(mark))
  kernel.submit = mark
  Object.assign(kernel, { row: 'unknown', missed: 0, rowSince: performance.now() })
}

function scriptOf(
  { shared }: SlurmHost,
  [first, ...others]: readonly SlurmKernel[],
  { gang, at, directory }: { gang: boolean; at: number; directory: string },
): string {
  const { root, jobScript } = shared
  const submittedAt = Math.floor(at / 1000)
  if (gang) {
    const words = `/bin/sh ${quote(jobScript)} ${quote(root)} ${submittedAt} gang ${quote(join(directory, 'kernels'))}`
    return `#!/bin/sh\nexec ${srunFor(first!)} ${words}\n`
  }
  const tasks = [first!, ...others].map(({ id, assignment }) => `${id} ${assignment}`).join(' ')
  const own = others.length === 0 ? '' : 'shift $((2 * SLURM_ARRAY_TASK_ID))\n'
  const words = `${quote(root)} ${submittedAt} one "$1" "$2"`
  // The script runs in this shell: another one would take about a millisecond.
  return `#!/bin/sh\nset -- ${tasks}\n${own}set -- ${words}\n. ${quote(jobScript)}\n`
}

/**
 * Returns the command that starts the tasks. A task that fails or ends does not affect the others, and each has the
 * processors that it asked for.
 */
function srunFor({ spec }: SlurmKernel): string {
  return `srun --kill-on-bad-exit=0 --wait=0 --mem=0 --cpus-per-task=${cpusOf(spec)} --cpu-bind=none`
}
