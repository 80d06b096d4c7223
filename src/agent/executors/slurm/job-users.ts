import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Owner } from '../../../archive/extract-archive.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { systemProgram } from '../../../machine/system-programs.ts'
import { ExecutorSetupError } from '../executor.ts'

/**
 * The Unix users of jobs, by project name. The agent is then root. The files that it relies on later, such as a
 * kernel's record and its submission, are in directories that belong to root. The directories that the job writes
 * belong to the job's user, who can put anything there.
 */
export type JobUsers = Readonly<Record<string, Owner>>

const execute = promisify(execFile)
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,255}$/

/**
 * @param names project → Unix user
 * @returns null if there are none: all jobs then belong to the agent
 * @throws ExecutorSetupError
 */
export async function resolveUsers(names: Readonly<Record<string, string>>): Promise<JobUsers | null> {
  const projects = Object.entries(names)
  if (projects.length === 0) return null
  if (process.getuid?.() !== 0) fault('the agent has to be root to run jobs as other users')
  const users = await Promise.all(
    projects.map(async ([project, name]) => [project, await resolve(project, name)] as const),
  )
  return Object.fromEntries(users)
}

async function resolve(project: string, name: string): Promise<Owner> {
  const [uid, gid] = await Promise.all(['-u', '-g'].map((option) => idOf(option, name)))
  if (uid == null || gid == null) return fault(`there is no user ${name} here, whom it names for project ${project}`)
  if (uid === 0 || gid === 0) return fault(`the jobs of project ${project} may not be those of root`)
  return { uid, gid }
}

/** Asks the system, whose users may come from any source. */
async function idOf(option: string, name: string): Promise<number | null> {
  if (!NAME.test(name)) return null
  const { stdout } = await execute(systemProgram('id'), [option, name], { env: {} }).catch(() => ({ stdout: '' }))
  return /^\d+\n$/.test(stdout) ? Number(stdout) : null
}

/**
 * Lists users that seem to have no access. Their groups may nevertheless allow it, so this is no reason not to start.
 */
export async function whoCannotEnter(directory: string, users: JobUsers | null): Promise<string[]> {
  const projects = Object.entries(users ?? {})
  const entries = await Promise.allSettled(
    projects.map(([, ids]) => execute(systemProgram('test'), ['-x', directory], { ...ids, env: {} })),
  )
  return projects.flatMap(([project], n) => (entries[n]!.status === 'rejected' ? [project] : []))
}

function fault(message: string): never {
  throw new ExecutorSetupError(`REPRISE_SLURM_USERS: ${message}`)
}

/** @returns undefined if its project has no user configured */
export function userOf(users: JobUsers | null, { projectName = '' }: KernelSpec): Owner | null | undefined {
  if (users === null) return null
  return Object.hasOwn(users, projectName) ? users[projectName] : undefined
}

/** Returns the id of the user who owns the job; null means the agent's own user. */
export function uidOf(user: Owner | null): number {
  return user?.uid ?? process.getuid?.() ?? 0
}

export function isSameUser(a: Owner | null, b: Owner | null): boolean {
  return a?.uid === b?.uid && a?.gid === b?.gid
}
