import { chmodSync, linkSync, lstatSync, lutimesSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * How a program and its agent speak about publishing, in the chain's directory. The program makes `.publish`; the agent
 * answers in `.published`, and then removes `.publish`. Who makes or touches it meanwhile asks again. A `.publish` that
 * is there after a crash has not been answered.
 *
 * The directory is the program's, and only its own name is not: nothing here follows a link in it, or removes anything
 * but plain files and links of these two names.
 */
const WISH = '.publish'
const ANSWER = '.published'

/** In seconds: the time of last change that a wish is given before the copy is made. A later touch gives it another. */
const SEEN_AT = 1

/** Neither is part of a checkpoint. */
export function isPublishFile(name: string): boolean {
  return name === WISH || name === ANSWER
}

/** What became of a wish, for the program. */
export interface PublishAnswer {
  attempt: number
  published: boolean
  /** ISO 8601, by the agent's clock. */
  at: string
  /** Null unless it is published. */
  files: number | null
  bytes: number | null
  /** Why it is not. */
  reason: string | null
}

/**
 * `strange` is something else than a plain file; `key` tells one such from the next.
 *
 * @param anew a network file system is asked, which may remember that there was none
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

/** Before the copy is made: whoever asks after this asks for another. */
export function markWish(directory: string): void {
  try {
    lutimesSync(join(directory, WISH), SEEN_AT, SEEN_AT)
  } catch (error) {
    // It is published all the same.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** @param aside a directory of the agent's own, in the same file system */
export function writeAnswer(directory: string, aside: string, answer: PublishAnswer): void {
  const draft = join(aside, ANSWER)
  rmSync(draft, { force: true })
  writeFileSync(draft, `${JSON.stringify(answer)}\n`, { flag: 'wx' })
  // Programs run as another user, and the agent's mask may be strict.
  chmodSync(draft, 0o644)
  renameSync(draft, join(directory, ANSWER))
}

/** Unless the program has asked again since it was marked. Whoever removes `aside` removes what is taken there. */
export function removeWish(directory: string, aside: string): void {
  const [path, taken] = [join(directory, WISH), join(aside, WISH)]
  if (!isMarked(path)) return
  renameSync(path, taken)
  // It was touched, or made anew, just before.
  if (!isMarked(taken)) putBack(taken, path)
}

/** For an attempt that begins: earlier ones have asked for what was theirs. What cannot be removed stays. */
export function clearPublishFiles(directory: string): void {
  for (const name of [WISH, ANSWER]) {
    try {
      unlinkSync(join(directory, name))
    } catch {
      // Mostly there is none.
    }
  }
}

function isMarked(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() === true && stats.mtimeMs === SEEN_AT * 1000
}

/** One that is newer still may be there already. */
function putBack(taken: string, path: string): void {
  try {
    linkSync(taken, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') renameSync(taken, path)
  }
}
