import { execFileSync } from 'node:child_process'
import type { JobUsers } from '../../../src/agent/executors/slurm/job-users.ts'

/** Users that every Debian has, and under whom nothing runs. The group of the first has another number. */
export const USER_NAMES = { red: 'games', blue: 'irc' } as const

export function jobUsers(): JobUsers {
  const id = (option: string, name: string) => Number(execFileSync('id', [option, name], { encoding: 'utf8' }))
  return Object.fromEntries(
    Object.entries(USER_NAMES).map(([project, name]) => [project, { uid: id('-u', name), gid: id('-g', name) }]),
  )
}

/** Why jobs cannot be those of others here; null where they can. */
export function whyNoJobUsers(): string | null {
  return process.getuid?.() === 0 ? null : 'only root runs jobs as other users'
}
