import { type ChildProcess, spawn } from 'node:child_process'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import { withPipes } from '../process/shell.ts'
import { systemPath } from '../../../machine/system-programs.ts'
import { wait, within } from '../../../waiting/wait.ts'

/** A healthy network file system answers within milliseconds. */
export const ANSWER_WITHIN_MS = 3_000
const LOOK_AGAIN_MS = 1_000
const SILENT = 'the shared directory does not answer'

/**
 * Whether the shared directory is available, as a helper process sees it. A process that accesses a hanging directory
 * is blocked until it answers, and cannot be killed before.
 */
export interface Presence {
  /** Why the directory is unavailable, as text for people; null while it is available. */
  readonly fault: string | null
  /**
   * Checks the directory, in limited time. An answer that is at most `ageMaxMs` old is used again. @returns the fault
   */
  look(ageMaxMs?: number): Promise<string | null>
  /**
   * Does some work in the directory. If it fails because the directory is unavailable, it is repeated once that is
   * back.
   *
   * @returns false if the work was no longer wanted
   * @throws errors of the work while the directory is available
   */
  whenThere(work: () => Promise<void>, isWanted: () => boolean): Promise<boolean>
  close(): void
}

/** @param changed called whenever the fault changes */
export function watchPresence(root: string, log: Logger, changed: () => void): Presence {
  const helper = createHelper(root)
  let fault: string | null = null
  let question: Promise<string | null> | null = null
  let askedAt = 0

  async function look(ageMaxMs = 0): Promise<string | null> {
    const now = performance.now()
    if (question === null && fault === null && now - askedAt < ageMaxMs) return null
    if (question === null) {
      askedAt = now
      question = helper.ask().finally(() => (question = null))
    }
    // While a question hangs, no further one is asked.
    const answer = await within(Math.max(0, askedAt + ANSWER_WITHIN_MS - now), question)
    note(answer === undefined ? SILENT : answer)
    return fault
  }

  function note(found: string | null): void {
    if (found === fault) return
    if (found === null) log.info('the shared directory is there again')
    else log.warn({ fault: found }, 'the shared directory is unavailable: new kernels wait for it')
    fault = found
    changed()
  }

  return {
    get fault() {
      return fault
    },
    look,
    async whenThere(work, isWanted) {
      for (; isWanted(); await wait(LOOK_AGAIN_MS)) {
        if ((await look(LOOK_AGAIN_MS)) !== null) continue
        if (!isWanted()) break
        try {
          await work()
          return true
        } catch (error) {
          if ((await look()) === null) throw error
        }
      }
      return false
    },
    close: () => helper.close(),
  }
}

/** Answers each line with a line. It also writes, because a directory that hangs may still show its old content. */
const HELPER = `while read -r line; do
  if ! [ -d "$1/kernels" ]; then echo 'the shared directory is not there'
  elif { true >>"$1/presence"; } 2>/dev/null; then echo
  else echo 'the shared directory cannot be written'
  fi
done`

/** Starts a shell that ends with this process. If the directory blocks it, it ends once it is released. */
function createHelper(root: string): { ask(): Promise<string | null>; close(): void } {
  let child: ChildProcess | null = null

  function start(): ChildProcess {
    const started = withPipes(
      spawn('/bin/sh', ['-c', HELPER, 'sh', root], {
        cwd: '/',
        env: { PATH: systemPath() },
        stdio: ['pipe', 'pipe', 'ignore'],
      }),
    )
    // The helper and its pipes are unref'd, so that they do not keep this process from ending.
    for (const part of [started, started.stdin, started.stdout] as { unref?(): void }[]) part.unref?.()
    started.stdin.on('error', () => undefined)
    started.once('exit', () => (child = null))
    return started
  }

  return {
    ask() {
      const { promise, resolve } = Promise.withResolvers<string | null>()
      let asked: ChildProcess
      try {
        asked = child ??= start()
      } catch (error) {
        resolve(`it is unknown whether the shared directory is available: ${messageOf(error)}`)
        return promise
      }
      const failed = () => answer('it is unknown whether the shared directory is available: its helper has ended')
      const answer = (text: string | null) => {
        asked.off('exit', failed).off('error', failed)
        asked.stdout!.off('data', heard)
        resolve(text)
      }
      const heard = (line: Buffer) => answer(line.toString().trim() || null)
      asked.once('exit', failed).once('error', failed)
      asked.stdout!.on('data', heard)
      asked.stdin!.write('\n')
      return promise
    },
    close: () => void child?.kill('SIGKILL'),
  }
}
