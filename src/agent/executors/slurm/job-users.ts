import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Owner } from '../../../archive/extract-archive.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { systemProgram } from '../../../machine/system-programs.ts'
import { ExecutorSetupError } from '../executor.ts'

/**
 * As whom the jobs of projects run, by the project's name. The agent is root then. What it trusts later on, as a
 * kernel's record and how it was submitted, lies in directories that are root's; a job's user has those within that the
 * job writes, and can make of them what it likes.
 */
export type JobUsers = Readonly<Record<string, Owner>>

const execute = promisify(execFile)
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,255}$/

/**
 * @param names project → Unix user
 * @returns null if there are none: all jobs are the agent's
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

/** Asks the system, which may have its users from anywhere. */
async function idOf(option: string, name: string): Promise<number | null> {
  if (!NAME.test(name)) return null
  const { stdout } = await execute(systemProgram('id'), [option, name], { env: {} }).catch(() => ({ stdout: '' }))
  return /^\d+\n$/.test(stdout) ? Number(stdout) : null
}

/** Groups of theirs may let them in all the same, so this is no reason not to start. */
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

/** @returns undefined if its project is not named */
export function userOf(users: JobUsers | null, { projectName = '' }: KernelSpec): Owner | null | undefined {
  if (users === null) return null
  return Object.hasOwn(users, projectName) ? users[projectName] : undefined
}

/** Whose job it is; null: the agent's own. */
export function uidOf(user: Owner | null): number {
  return user?.uid ?? process.getuid?.() ?? 0
}

export function isSameUser(a: Owner | null, b: Owner | null): boolean {
  return a?.uid === b?.uid && a?.gid === b?.gid
}
