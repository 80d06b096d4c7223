import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { messageOf } from '../../../observability/error-message.ts'
import { killAfter, withPipes } from '../process/shell.ts'
import { systemPath, systemProgram } from '../../../machine/system-programs.ts'
import { type Capacity, parseCapacity, SINFO_FORMAT } from './capacity.ts'
import { type JobRow, parseSqueue, SQUEUE_FORMAT } from './slurm-status.ts'
import type { Logger } from '../../../observability/log.ts'

/** Time limit of a command. If the controller is down, Slurm's programs stop waiting for it after 9 s. */
const COMMAND_LIMIT_MS = 30_000
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/**
 * Refusals that no repetition solves, because the job asks for what the cluster does not have. Anything else is tried
 * again.
 */
const REFUSALS = [
  /Requested node configuration is not available/i,
  /Invalid partition name/i,
  /Invalid generic resource/i,
  /Invalid feature specification/i,
  /Invalid account or account\/partition combination/i,
  /Invalid qos specification/i,
  /Invalid node name specified/i,
  /Requested time limit is invalid/i,
  /More processors requested than permitted/i,
  /CPU count per node can not be satisfied/i,
  /Memory specification can not be satisfied/i,
  /Node count specification invalid/i,
  /Requested reservation (is )?(in)?valid/i,
  /unrecognized option|invalid option|Invalid --/i,
]

/** `MaxArraySize` is a setting of the cluster; with 0 or 1 it has no arrays. */
const ARRAY_REFUSAL = /Invalid job array specification/i

/** 'too-many': the array has more tasks than the cluster accepts. */
export type Submission =
  | { kind: 'submitted'; jobId: string }
  | { kind: 'refused' | 'later' | 'too-many'; message: string }

/** Slurm did not answer, or gave an unexpected answer. Nothing may be concluded from that. */
export class SlurmSilentError extends Error {}

/** Runs Slurm's own programs. */
export interface SlurmCommands {
  /** Never rejects. */
  submit(args: readonly string[], script: string): Promise<Submission>
  /** Lists all jobs of these users, also ended ones as long as Slurm remembers them. @throws SlurmSilentError */
  list(users: readonly number[]): Promise<JobRow[]>
  /**
   * Ends all of this user's jobs of this name, or one of them. The name is always given, because Slurm may have given
   * an id to another job.
   *
   * @param signal if given, only sends this signal to the job's own script
   * @throws SlurmSilentError
   */
  cancel(job: { name: string; uid: number; jobId?: string | undefined; signal?: 'TERM' | undefined }): Promise<void>
  /** @throws SlurmSilentError */
  capacity(partition: string | undefined, gres: Readonly<Record<string, string>>, factor: number): Promise<Capacity>
  /** Whether the node is up and answers. @throws SlurmSilentError */
  isNodeUp(node: string): Promise<boolean>
}

export function createSlurmCommands(): SlurmCommands {
  return {
    async submit(args, script) {
      const { status, output, errors } = await run('sbatch', args, script).catch(silent)
      // `sbatch` may report trouble and have succeeded nevertheless.
      const jobId = /^(\d+)(;\S+)?$/m.exec(output)?.[1]
      if (status === 0 && jobId !== undefined) return { kind: 'submitted', jobId }
      const message = lastLine(errors) || lastLine(output) || 'sbatch failed'
      if (ARRAY_REFUSAL.test(errors)) return { kind: 'too-many', message }
      return { kind: REFUSALS.some((refusal) => refusal.test(errors)) ? 'refused' : 'later', message }
    },
    async list(users) {
      const args = ['--noheader', '--array', '--states=all', `--user=${users.join()}`, `--Format=${SQUEUE_FORMAT}`]
      return parsed(parseSqueue, await answerOf('squeue', args))
    },
    cancel,
    async capacity(partition, gres, factor) {
      const of = partition === undefined ? [] : [`--partition=${partition}`]
      const text = await answerOf('sinfo', ['--noheader', '--Node', ...of, `--Format=${SINFO_FORMAT}`])
      return parsed((answer) => parseCapacity(answer, gres, factor), text)
    },
    async isNodeUp(node) {
      const state = await answerOf('sinfo', ['--noheader', '--Node', `--nodes=${node}`, '--Format=StateLong:|'])
      const [first = ''] = state.trim().split('|')
      return /^(idle|mixed|allocated|draining|drained|reserved)$/.test(first)
    },
  }
}

async function cancel({ name, uid, jobId, signal }: Parameters<SlurmCommands['cancel']>[0]): Promise<void> {
  const how = signal === undefined ? [] : ['--batch', `--signal=${signal}`]
  const which = jobId === undefined ? [] : [jobId]
  const { status, errors } = await run('scancel', [
    '--quiet',
    ...how,
    `--user=${uid}`,
    `--name=${name}`,
    ...which,
  ]).catch(silent)
  if (status !== 0 && !/Invalid job id|already completing or completed/i.test(errors)) {
    throw new SlurmSilentError(lastLine(errors) || 'scancel failed')
  }
}

async function answerOf(program: string, args: readonly string[]): Promise<string> {
  const { status, output, errors } = await run(program, args).catch(silent)
  if (status !== 0) throw new SlurmSilentError(lastLine(errors) || `${program} failed`)
  return output
}

function parsed<T>(parse: (text: string) => T, text: string): T {
  try {
    return parse(text)
  } catch (error) {
    throw new SlurmSilentError(messageOf(error))
  }
}

interface Answer {
  status: number | null
  output: string
  errors: string
}

function silent(error: unknown): Answer {
  return { status: null, output: '', errors: messageOf(error) }
}

/**
 * Runs a program with only those variables of the agent's environment that find the cluster: `sbatch` passes its
 * environment on to the job, and reads options from it.
 */
async function run(program: string, args: readonly string[], input = ''): Promise<Answer> {
  const { SLURM_CONF } = process.env
  const env = { PATH: systemPath(), LC_ALL: 'C', ...(SLURM_CONF !== undefined && { SLURM_CONF }) }
  const child = withPipes(spawn(systemProgram(program), args, { env, cwd: '/' }))
  killAfter(child, COMMAND_LIMIT_MS)
  const closed = once(child, 'close')
  // An answer that is cut off would hide jobs.
  const tooLong = () => child.kill('SIGKILL')
  const [output, errors] = [collect(child.stdout, tooLong), collect(child.stderr, tooLong)]
  // A program that reads no input may have ended before it is written.
  child.stdin.on('error', () => undefined).end(input)
  const [status] = (await closed) as [number | null]
  return { status, output: output(), errors: status === null ? `${program} did not answer` : errors() }
}

function collect(stream: NodeJS.ReadableStream, tooLong: () => void): () => string {
  const pieces: Buffer[] = []
  let bytes = 0
  stream.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= OUTPUT_BYTES_MAX) pieces.push(piece)
    else tooLong()
  })
  return () => Buffer.concat(pieces).toString()
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? ''
}

/** Label of an agent whose controller does not answer. */
export const UNREACHABLE = { slurm: 'unreachable' }

/** Whether Slurm answers. Each change is logged, and changes a label of the agent. */
export interface SlurmContact {
  silent(why: string): void
  answered(): void
}

export function createSlurmContact(log: Logger, labelled: (labels: Record<string, string>) => void): SlurmContact {
  let isSilent = false
  return {
    silent(why) {
      if (isSilent) return
      isSilent = true
      log.warn({ error: why }, 'Slurm does not answer')
      labelled(UNREACHABLE)
    },
    answered() {
      if (!isSilent) return
      isSilent = false
      log.info('Slurm answers again')
      labelled({})
    },
  }
}
