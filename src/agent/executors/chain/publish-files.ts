import { chmodSync, linkSync, lstatSync, lutimesSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The files in the chain's directory through which a program and its agent talk about publishing. The program creates
 * `.publish`. The agent answers in `.published`, and then removes `.publish`. A program that creates or touches
 * `.publish` meanwhile asks again. A `.publish` that exists after a crash has not been answered.
 *
 * The program controls the directory's content, so nothing here follows a link in it, or removes anything but plain
 * files and links of these two names.
 */
const WISH = '.publish'
const ANSWER = '.published'

/** Modification time, in seconds, that a wish gets before the copy is made. A later touch changes it. */
const SEEN_AT = 1

/** Whether the name is one of these files, which are not part of a checkpoint. */
export function isPublishFile(name: string): boolean {
  return name === WISH || name === ANSWER
}

/** The outcome of a wish, for the program. */
export interface PublishAnswer {
  attempt: number
  published: boolean
  /** In ISO 8601, by the agent's clock. */
  at: string
  /** Null unless it is published. */
  files: number | null
  bytes: number | null
  /** Why it is not published. */
  reason: string | null
}

/**
 * Reads the wish. `strange` means that it is not a plain file; `key` distinguishes one such entry from the next.
 *
 * @param anew asks a network file system again, which may remember that there was none
 */
export async function readWish(
  directory: string,
  anew: boolean,
): Promise<{ kind: 'none' | 'plain' | 'strange'; key: string }> {
  try {
    if (anew) await (await opendir(directory)).close()
    const stats = await lstat(join(directory, WISH))
    return { kind: stats.isFile() ? 'plain' : 'strange', key: `${stats.ino} ${stats.ctimeMs}` }
  } catch {
    return { kind: 'none', key: '' }
  }
}

/** Marks the wish before the copy is made. A program that asks afterwards asks for another copy. */
export function markWish(directory: string): void {
  try {
    lutimesSync(join(directory, WISH), SEEN_AT, SEEN_AT)
  } catch (error) {
    // The checkpoint is published even if the wish has vanished.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** @param aside a directory that only the agent writes, in the same file system */
export function writeAnswer(directory: string, aside: string, answer: PublishAnswer): void {
  const draft = join(aside, ANSWER)
  rmSync(draft, { force: true })
  writeFileSync(draft, `${JSON.stringify(answer)}\n`, { flag: 'wx' })
  // Programs run as another user, and the agent's umask may be strict.
  chmodSync(draft, 0o644)
  renameSync(draft, join(directory, ANSWER))
}

/**
 * Removes the wish, unless the program has asked again since it was marked. The wish is moved into `aside`, which the
 * caller removes.
 */
export function removeWish(directory: string, aside: string): void {
  const [path, taken] = [join(directory, WISH), join(aside, WISH)]
  if (!isMarked(path)) return
  renameSync(path, taken)
  // The program touched it, or created it again, just before.
  if (!isMarked(taken)) putBack(taken, path)
}

/** Removes requests and answers of earlier attempts when an attempt begins. Files that cannot be removed stay. */
export function clearPublishFiles(directory: string): void {
  for (const name of [WISH, ANSWER]) {
    try {
      unlinkSync(join(directory, name))
    } catch {
      // In most cases there is none.
    }
  }
}

function isMarked(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() === true && stats.mtimeMs === SEEN_AT * 1000
}

/** Puts a wish back, unless a newer one already exists. */
function putBack(taken: string, path: string): void {
  try {
    linkSync(taken, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') renameSync(taken, path)
  }
}
