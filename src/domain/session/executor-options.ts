/**
 * What executors are told in their own terms, like the partition of a Slurm cluster. A resource group has options, which
 * hold for all its sessions, and says which of them a session may set itself.
 */
export type ExecutorOptions = Readonly<Record<string, string>>

export const EXECUTOR_OPTION_KEY = /^[a-z][A-Za-z0-9-]{0,63}$/
export const EXECUTOR_OPTION_KEY_FAULT = 'must be at most 64 letters, digits and -, and begin with a small letter'
/** Words, safe wherever an executor puts them. */
export const EXECUTOR_OPTION_VALUE = /^[A-Za-z0-9_.,:&|*()[\]-]{1,128}$/
export const EXECUTOR_OPTION_VALUE_FAULT = 'must be 1 to 128 letters, digits and _ . , : & | * ( ) [ ] -'

/** What the session's resource group has and allows. */
export interface GroupExecutorOptions {
  executorOptions: ExecutorOptions
  allowedExecutorOptions: readonly string[]
}

/**
 * What a kernel's executor is told. A session that was moved to another group, or whose group allows less than it did,
 * may have options that are not allowed: they do not count.
 */
export function executorOptionsFor(group: GroupExecutorOptions, session: ExecutorOptions): Record<string, string> {
  const allowed = Object.entries(session).filter(([key]) => group.allowedExecutorOptions.includes(key))
  return { ...group.executorOptions, ...Object.fromEntries(allowed) }
}
