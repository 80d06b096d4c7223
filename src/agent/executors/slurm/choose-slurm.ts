import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import type { Warning } from '../../../domain/warning.ts'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import type { AgentIsolation } from '../../../domain/agent/protocol.ts'
import { type Executor, type ExecutorHooks, ExecutorSetupError } from '../executor.ts'
import { within } from '../../../waiting/wait.ts'
import { type JobUsers, resolveUsers, whoCannotEnter } from './job-users.ts'
import { ANSWER_WITHIN_MS } from './presence.ts'
import { createSlurmCommands } from './slurm-commands.ts'
import { createSlurmExecutor } from './slurm-executor.ts'
import { systemPath } from '../../../machine/system-programs.ts'
import type { SlurmImage, SlurmOptions } from './slurm-host.ts'

export interface SlurmConfig {
  slurmDir?: string | undefined
  slurmPartition?: string | undefined
  slurmAccount?: string | undefined
  slurmQos?: string | undefined
  slurmConstraint?: string | undefined
  slurmReservation?: string | undefined
  slurmAccounts: Record<string, string>
  slurmUsers: Record<string, string>
  slurmGres: Record<string, string>
  slurmQueue: number
  slurmQueueJobs: number
  slurmPollMs: number
  slurmCapacityMs: number
  slurmImages: Record<string, SlurmImage>
  slurmArgs: string[]
  uploadBytesMax: number
}

interface ChosenCluster {
  isolation: AgentIsolation
  slots: Record<string, string>
  slotsPerKernelMax: Record<string, string>
  ports: boolean
  warnings: Warning[]
  create(hooks: ExecutorHooks, agentId: string): Executor
}

/**
 * Asks the cluster what the partition has, and offers that.
 *
 * @throws ExecutorSetupError
 */
export async function chooseSlurm(config: SlurmConfig, agentDir: string, log: Logger): Promise<ChosenCluster> {
  await whenItAnswers(config.slurmDir, log)
  const slurm = optionsOf(config, await resolveUsers(config.slurmUsers))
  const { directory, partition, users, gres, queueFactor } = slurm
  const projects = await whoCannotEnter(directory, users)
  if (projects.length > 0)
    log.info({ directory, projects }, 'the users of these projects cannot enter REPRISE_SLURM_DIR')
  const offered = await createSlurmCommands()
    .capacity(partition, gres, queueFactor)
    .catch((error: unknown) => {
      throw new ExecutorSetupError(`REPRISE_EXECUTOR=slurm: sinfo does not answer here (${messageOf(error)})`)
    })
  const { slots, slotsPerKernelMax } = offered
  if (Number(slots['cpu']) === 0) {
    const where = partition === undefined ? 'the cluster' : `partition ${partition}`
    throw new ExecutorSetupError(`REPRISE_EXECUTOR=slurm: ${where} has no node that takes jobs, or does not exist`)
  }
  return {
    isolation: { name: users === null ? 'none' : 'slurm-user', byHand: true },
    slots,
    slotsPerKernelMax,
    // The agent cannot choose ports, because it does not know which node will run the job.
    ports: false,
    warnings: projects.length === 0 ? [] : [{ kind: 'directory', text: cannotEnter(projects.length) }],
    create: (hooks, agentId) =>
      createSlurmExecutor({ agentDir, agentId, log, codeBytesMax: config.uploadBytesMax, slurm, offered }, hooks),
  }
}

function cannotEnter(projects: number): string {
  const whose = projects === 1 ? "a project's user" : `the users of ${projects} projects`
  return `${whose} cannot enter REPRISE_SLURM_DIR, so jobs of these fail: the agent's log names them`
}

/**
 * Waits until the directory answers. If its file server is down, every process that accesses it hangs, so another
 * process does. It also writes, because such a directory may still show its old content.
 */
async function whenItAnswers(directory: string | undefined, log: Logger): Promise<void> {
  if (directory === undefined) return
  const look = spawn('/bin/sh', ['-c', ': >"$1" && rm -f "$1"', 'sh', join(directory, `.presence.${randomUUID()}`)], {
    cwd: '/',
    env: { PATH: systemPath() },
    stdio: 'ignore',
  })
  // If the process cannot be started, that is not a fault of the directory.
  const looked = once(look, 'exit').catch(() => null)
  if ((await within(ANSWER_WITHIN_MS, looked)) !== undefined) return
  log.warn({ directory }, 'REPRISE_SLURM_DIR does not answer: is its file server up? The agent starts once it does')
  await looked
  log.info({ directory }, 'REPRISE_SLURM_DIR answers')
}

function optionsOf(config: SlurmConfig, users: JobUsers | null): SlurmOptions {
  const { slurmDir: directory } = config
  if (directory === undefined) {
    throw new ExecutorSetupError('REPRISE_EXECUTOR=slurm needs REPRISE_SLURM_DIR, a directory that all nodes share')
  }
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new ExecutorSetupError(`REPRISE_SLURM_DIR cannot be written: ${messageOf(error)}`)
  }
  return {
    directory,
    partition: config.slurmPartition,
    account: config.slurmAccount,
    qos: config.slurmQos,
    constraint: config.slurmConstraint,
    reservation: config.slurmReservation,
    accounts: config.slurmAccounts,
    users,
    gres: config.slurmGres,
    queueFactor: config.slurmQueue,
    queueJobs: config.slurmQueueJobs,
    pollMs: config.slurmPollMs,
    capacityMs: config.slurmCapacityMs,
    images: config.slurmImages,
    args: config.slurmArgs,
  }
}
