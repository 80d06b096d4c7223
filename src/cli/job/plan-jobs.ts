import { sessionInput, type SessionOptions } from '../options/session-options.ts'
import { UsageError } from '../present-error.ts'
import { expandJobs, type PlannedSession } from './expand-jobs.ts'
import { readJobs } from './read-jobs.ts'

/**
 * The sessions that a file or an array describes; undefined if neither is given, and there is one session only.
 * @throws UsageError also if there is no command
 */
export async function planJobs(
  options: SessionOptions,
  command: readonly string[],
): Promise<PlannedSession[] | undefined> {
  const { file, array } = options
  if (file === undefined && command.length === 0)
    throw new UsageError('Give the command after --, or a --file of jobs.')
  if (file === undefined && array === undefined) return undefined
  const jobs = file === undefined ? [{ place: '--array', fields: {}, numbers: undefined }] : await readJobs(file)
  const given = sessionInput(options, command)
  const stated = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return expandJobs(jobs, stated, array)
}
