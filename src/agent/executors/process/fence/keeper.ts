import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../../../observability/error-message.ts'
import type { Logger } from '../../../../observability/log.ts'
import { systemPath } from '../../../../machine/system-programs.ts'
import { guarded } from '../../../../waiting/wait.ts'
import { KEEPER_SCRIPT } from './keeper-script.ts'
import { readProcStat, signalProcess } from '../proc-stat.ts'

const CHECK_INTERVAL_MS = 1_000
const START_WITHIN_MS = 10_000
const READY_INTERVAL_MS = 5

/** The agent's side of the keeper: starts it, and starts it again when it has ended. */
export interface Keeper {
  /** Starts this instance's keeper. An earlier keeper then exits. */
  open(): void
  /** Resolves when a keeper runs. Without one, no kernel may be started. @throws if none can be started */
  ready(): Promise<void>
  /** Keeps the keeper running if there are kernels. Otherwise ends it, since it would take up to a second to notice. */
  close(hasKernels: boolean): void
}

export function createKeeper(kernelsDir: string, log: Logger): Keeper {
  const at = (name: string) => join(kernelsDir, '..', name)
  let timer: NodeJS.Timeout | undefined
  let startedAt = Number.NEGATIVE_INFINITY
  // A keeper that was started but has not reported yet. On a busy machine that takes time, and starting more keepers
  // would make it slower.
  let starting: ChildProcess | null = null
  const failed = (error: unknown) => log.error({ error: messageOf(error) }, 'the keeper could not be started')

  function start(): void {
    startedAt = performance.now()
    const child = spawn('/bin/sh', ['../keeper.sh'], {
      cwd: kernelsDir,
      detached: true,
      env: { PATH: systemPath() },
      stdio: 'ignore',
    })
    starting = child
    const over = () => {
      if (starting === child) starting = null
    }
    child.once('exit', over)
    child.once('error', (error) => {
      over()
      log.error({ error: error.message }, 'the keeper could not be started')
    })
    child.unref()
  }

  function check(): boolean {
    if (watchingPid(at('keeper')) !== null) {
      starting = null
      return true
    }
    if (performance.now() - startedAt > (starting === null ? CHECK_INTERVAL_MS : START_WITHIN_MS)) {
      log.warn('the keeper of the fence is gone; starting another')
      start()
    }
    return false
  }

  return {
    open() {
      replace(at('keeper.sh'), KEEPER_SCRIPT)
      replace(at('kept'), `${process.pid} ${readProcStat(process.pid)?.startTicks}\n`)
      start()
      timer = setInterval(guarded(check, failed), CHECK_INTERVAL_MS).unref()
    },
    async ready() {
      for (const since = performance.now(); !check(); await sleep(READY_INTERVAL_MS)) {
        if (performance.now() - since > START_WITHIN_MS) throw new Error('the keeper of the fence does not start')
      }
    },
    close(hasKernels) {
      clearInterval(timer)
      rmSync(at('kept'), { force: true })
      const pid = timer === undefined || hasKernels ? null : watchingPid(at('keeper'))
      // The signal goes to the group, which includes the `sleep` that the keeper waits for.
      if (pid !== null) signalProcess(-pid, 'SIGKILL')
    },
  }
}

/**
 * Returns the pid of a keeper that works. A stopped process does not count, since it would miss the fence. When it
 * continues, it finds a successor and exits.
 */
function watchingPid(path: string): number | null {
  try {
    const [pid, startTicks] = readFileSync(path, 'latin1').split(' ').map(Number)
    const stat = readProcStat(pid!)
    return stat !== null && stat.startTicks === startTicks && !'ZXTt'.includes(stat.state) ? stat.pid : null
  } catch {
    return null
  }
}

/** Replaces a file in one step, so that no reader sees a part of it. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
