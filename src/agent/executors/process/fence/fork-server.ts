import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { messageOf } from '../../../../observability/error-message.ts'
import type { Logger } from '../../../../observability/log.ts'
import { systemPath, systemProgram } from '../../../../machine/system-programs.ts'
import { guarded } from '../../../../waiting/wait.ts'
import { ALIVE_FUNCTION, withoutInherited } from '../shell.ts'
import { splitOnce } from '../../kernels/shim-status.ts'

/** Time in seconds after the fence in which the keeper does its work. */
const KEEPER_DONE = 10

/**
 * The fork server: one small shell that starts the shims. Forking from Node copies the page tables of the whole server
 * each time (measured: 1.5 ms at 60 MB resident, 13 ms at 450 MB, blocking the event loop); the fork server forks in a
 * fraction of a millisecond for servers of any size.
 *
 * Input: one line `<kernelId> <token>` per launch, which runs `./<kernelId>/run.<token>` in a new session. An empty
 * line reaps ended shims. Output: the lines of all shims, through one pipe.
 *
 * A shell without a terminal lets the processes that it starts in the background ignore SIGINT and SIGQUIT. Only bash
 * can undo that: where there is none, programs start with both ignored. Bash would also report each shim, which ends by
 * SIGKILL, so it disowns them, without a message where one has already ended.
 *
 * When its input ends, the agent is gone. Until the fence has passed and the keeper has done its work, the fork server
 * then starts a new keeper whenever there is none. It exits when a later fork server has taken over, or when no kernel
 * is left. Its pid is in the file `nursery`, by which a fork server of an earlier release recognises its successor.
 */
const FORK_SERVER_SCRIPT = `exec 8>&1 1>/dev/null
${ALIVE_FUNCTION}
echo $$ >../nursery
while read -r kernel token; do
  if [ -n "$kernel" ]; then
    (trap - INT QUIT; trap 'echo "$kernel $token failed" >&8' EXIT; cd "./$kernel" && exec setsid /bin/sh "./run.$token") &
    [ -z "$BASH_VERSION" ] || disown 2>/dev/null
  fi
  jobs
done
exec 8>&- 2>/dev/null
while read -r owner <../nursery && [ "$owner" = $$ ] && read -r until boot <../fence; do
  set -- */status
  [ -e "$1" ] || exit
  read -r up rest </proc/uptime
  [ "\${up%.*}" -lt $((until + ${KEEPER_DONE})) ] || exit
  read -r keeper ticks <../keeper && alive "$keeper" "$ticks" || setsid /bin/sh ../keeper.sh &
  sleep 2
done
`

export interface ShimMessage {
  kernelId: string
  token: string
  word: string
  rest: string
}

export interface ForkServerEvents {
  message(message: ShimMessage): void
  /**
   * Called when the fork server has exited. Kernels that it was ordered to start but that have not begun may never
   * begin.
   */
  gone(reason: string): void
}

export interface ForkServer {
  /** Starts the fork server before the first launch, so that the fork server of an earlier instance exits. */
  open(): void
  launch(kernelId: string, token: string): void
  /** Reaps ended shims now rather than with the next launch. */
  reap(): void
  /** Closes the fork server, and leaves the kernels running. */
  close(): void
}

/** @param entry the command through which it is started, if any */
export function createForkServer(
  kernelsDir: string,
  entry: () => string[],
  log: Logger,
  events: ForkServerEvents,
): ForkServer {
  let child: ChildProcess | null = null
  let closed = false
  const failed = (error: unknown) =>
    log.error({ error: messageOf(error) }, 'a message of the fork server could not be handled')

  function begin(): ChildProcess {
    const bash = systemProgram('bash')
    // Bash reads its start-up files if its input is a socket.
    const shell = existsSync(bash) ? [bash, '--norc', '--noprofile'] : ['/bin/sh']
    const command = [...entry(), ...shell, '-c', FORK_SERVER_SCRIPT, 'reprise-fork-server']
    const started = spawn(command[0]!, command.slice(1), {
      cwd: kernelsDir,
      detached: true,
      env: { PATH: systemPath() },
      stdio: withoutInherited(['pipe', 'pipe', 'pipe']),
    }) as ChildProcessWithoutNullStreams
    const gone = guarded(events.gone, failed)
    const lost = (reason: string) => {
      if (child === started) child = null
      if (!closed) gone(reason)
    }
    started.once('error', (error) => lost(error.message))
    // If no descriptor is free, the child has no streams, and the error reports why.
    if (!started.stdin) return started
    started.once('exit', (code, signal) => lost(`the fork server ended with ${signal ?? code}`))
    started.stdin.on('error', () => undefined)
    started.stdout
      .setEncoding('latin1')
      .on('data', lineReader(guarded((line) => events.message(parseMessage(line)), failed)))
    started.stderr.setEncoding('utf8').on(
      'data',
      lineReader((line) => log.warn({ line }, 'fork server')),
    )
    return started
  }

  return {
    open: () => void (child ??= begin()),
    launch(kernelId, token) {
      child ??= begin()
      child.stdin?.write(`${kernelId} ${token}\n`)
    },
    reap: () => void child?.stdin?.write('\n'),
    close() {
      closed = true
      child?.stdin?.end()
      child?.stdout?.destroy()
      child?.stderr?.destroy()
      child?.unref()
    },
  }
}

function lineReader(take: (line: string) => void): (text: string) => void {
  let partial = ''
  return (text) => {
    const lines = (partial + text).split('\n')
    partial = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
}

function parseMessage(line: string): ShimMessage {
  const [kernelId, afterKernel] = splitOnce(line)
  const [token, afterToken] = splitOnce(afterKernel)
  const [word, rest] = splitOnce(afterToken)
  return { kernelId, token, word, rest }
}
