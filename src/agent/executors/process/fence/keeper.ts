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

/** The agent's side of the keeper: starts it, and starts it again when it is gone. */
export interface Keeper {
  /** Starts this instance's keeper; an earlier one leaves. */
  open(): void
  /** Resolves when a keeper is there; without one, no kernel may be started. @throws if none can be started */
  ready(): Promise<void>
  /** Leaves the keeper to the kernels, if there are any; otherwise ends it, which would notice up to a second later. */
  close(hasKernels: boolean): void
}

export function createKeeper(kernelsDir: string, log: Logger): Keeper {
  const at = (name: string) => join(kernelsDir, '..', name)
  let timer: NodeJS.Timeout | undefined
  let startedAt = Number.NEGATIVE_INFINITY
  // A keeper that has been started and has not shown itself yet: on a machine without idle processors that takes time,
  // and more keepers would take it longer.
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
      // Its group: with the `sleep` that it waits for.
      if (pid !== null) signalProcess(-pid, 'SIGKILL')
    },
  }
}

/** A stopped keeper does not count: it would let the fence pass. When it goes on, it finds a successor and leaves. */
function watchingPid(path: string): number | null {
  try {
    const [pid, startTicks] = readFileSync(path, 'latin1').split(' ').map(Number)
    const stat = readProcStat(pid!)
    return stat !== null && stat.startTicks === startTicks && !'ZXTt'.includes(stat.state) ? stat.pid : null
  } catch {
    return null
  }
}

/** Never seen half written. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
