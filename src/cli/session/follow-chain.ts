import { setTimeout as sleep } from 'node:timers/promises'
import { type Attempt, type AttemptLog, type Client, hasEnded, isOver } from '../../client/node/index.ts'
import { attemptWords, outcomeOf, whyRetried } from './session-text.ts'
import type { Output } from '../output/output.ts'
import { instant, relative } from '../output/format.ts'
import { redrawn } from '../output/terminal.ts'

interface ChainFollower {
  /**
   * Called when an attempt begins. `last`: the number of the chain's last attempt, once the chain has ended; null while
   * there may be others.
   */
  onAttempt(attempt: Attempt): void
  /** Called if nothing runs yet: within a second, and when the reason changes. */
  onWait(reason: string): void
  onLog(chunk: AttemptLog): void
  /** Called once per attempt, when it has ended and its outcome is decided. */
  onAttemptEnd(attempt: Attempt): void
  /** Called if the retry of an ended attempt is held, and when the reason changes. */
  onHold(reason: string): void
}

/**
 * Follows a chain from one of its sessions to its end: the output of each attempt in turn, and its outcome. Returns the
 * last attempt.
 */
export async function followChain(
  client: Client,
  options: {
    sessionId: string
    signal: AbortSignal
    from?: 'session' | 'first'
    kernel?: string | undefined
    /**
     * Shows only this number of last lines of each kernel, of the output that the first attempt has already written.
     */
    tail?: number | undefined
    /** Shows only output that arrived since this time. */
    since?: string | undefined
    /** Number of chains that are followed beside this one: each is then polled less often. */
    others?: number
  },
  follower: ChainFollower,
): Promise<Attempt> {
  const { sessionId, signal, from = 'session', kernel, others = 0 } = options
  let { tail, since } = options
  let shown = 0
  let ended = 0
  let held: string | null = null
  let last: Attempt | undefined
  for await (const attempts of client.watchChain(sessionId, { signal })) {
    if (shown === 0 && from === 'session') {
      ended = shown = attempts.find((attempt) => attempt.sessionId === sessionId)!.attempt - 1
    }
    for (const attempt of attempts) {
      if (attempt.attempt > shown) {
        shown = attempt.attempt
        follower.onAttempt(attempt)
        const begun = new AbortController()
        const pollMs = POLL_INTERVAL_MS * (1 + others)
        const waited = followWaits(
          client,
          attempt,
          { signal: AbortSignal.any([signal, begun.signal]), pollMs },
          follower,
        )
        try {
          for await (const chunk of client.sessionLogs(attempt.sessionId, { signal, tail, since })) {
            begun.abort()
            if (kernel === undefined || chunk.kernel === kernel) follower.onLog(chunk)
          }
        } finally {
          begun.abort()
          await waited
        }
        tail = since = undefined
      }
      if (attempt.attempt > ended && isDecided(attempt)) {
        ended = attempt.attempt
        follower.onAttemptEnd(attempt)
        // The line about its end already has this reason.
        held = holdOf(attempt)
      }
    }
    const hold = holdOf(attempts.at(-1)!)
    if (hold !== null && hold !== held) follower.onHold(hold)
    held = hold
    last = attempts.at(-1)
    if (hasEnded(attempts)) break
  }
  return last!
}

/** Interval of polling, less than a second. Sessions that start at once print no reason. */
const POLL_INTERVAL_MS = 700
const NOT_BEGUN: ReadonlySet<Attempt['status']> = new Set([
  'PENDING',
  'SCHEDULED',
  'PREPARING',
  'PULLING',
  'PREPARED',
  'CREATING',
])

/**
 * Waits until the attempt runs or the signal aborts. A change of the reason is not an event, so it is polled. Errors of
 * polling are ignored: reading the logs meets the same errors, and they are printed there.
 */
async function followWaits(
  client: Client,
  { sessionId }: Attempt,
  { signal, pollMs }: { signal: AbortSignal; pollMs: number },
  follower: ChainFollower,
) {
  let shown: string | null = null
  const poll = async (): Promise<boolean> => {
    await sleep(pollMs, undefined, { signal })
    const { status, pendingReason, statusReason } = await client.session(sessionId, { signal })
    const reason = status === 'PENDING' ? pendingReason : statusReason
    if (NOT_BEGUN.has(status) && reason !== null && reason !== shown) follower.onWait((shown = reason))
    return NOT_BEGUN.has(status)
  }
  while (await poll().catch(() => false));
}

function holdOf({ retryState: { phase, reason } }: Attempt): string | null {
  return phase === 'HELD' ? reason : null
}

function isDecided(attempt: Attempt): boolean {
  return isOver(attempt) && attempt.retryState.phase !== 'UNDECIDED'
}

/** Columns of the line between attempts. */
const WIDTH = 80

/**
 * Writes logs to their own streams; between attempts, announces on standard error the next one and its reason. `label`:
 * the name of the chain on each line, if several are followed.
 */
export function attemptNotes(out: Output, label?: string): ChainFollower {
  let kernels = 1
  const logs = logWriter(out, (chunk) => {
    const words = [...(label === undefined ? [] : [label]), ...(kernels > 1 ? [chunk.kernel] : [])]
    return words.length === 0 ? null : words.join(' ')
  })
  const named = label === undefined ? '' : `${label} · `
  return {
    onAttempt(attempt) {
      kernels = attempt.kernels.length
      const { sessionId } = attempt
      if (out.json) return out.item({ type: 'attempt', ...attempt }, () => '')
      const head = `── ${named}${attemptWords(attempt)} · session ${sessionId} `
      out.note(out.notes.style('bold', head.padEnd(Math.min(out.notes.columns ?? WIDTH, WIDTH), '─')))
    },
    onWait(reason) {
      if (out.json) return out.item({ type: 'waiting', reason }, () => '')
      out.note(out.notes.style('dim', `   ${named}waiting: ${reason}`))
    },
    onLog: logs.write,
    onAttemptEnd(attempt) {
      logs.flush()
      if (out.json) return out.item({ type: 'attempt_ended', ...attempt }, () => '')
      out.note(out.notes.style(attempt.result === 'SUCCESS' ? 'green' : 'yellow', endOf(attempt, named)))
    },
    onHold(reason) {
      if (out.json) return out.item({ type: 'held', reason }, () => '')
      out.note(out.notes.style('yellow', `   ${named}${reason}`))
    },
  }
}

function endOf(attempt: Attempt, named: string): string {
  const { phase, dueAt } = attempt.retryState
  const head = `── ${named}attempt ${attempt.attempt} ${attempt.result === 'SUCCESS' ? 'succeeded' : `ended: ${outcomeOf(attempt)}`}`
  const why = whyRetried(attempt)
  if (attempt.result === 'SUCCESS' || why === null) return head
  if (phase === 'SCHEDULED' && dueAt) {
    return `${head}\n   ${why}\n   next attempt ${relative(dueAt)}, at ${instant(dueAt)}`
  }
  return `${head}\n   ${why}`
}

/**
 * Writes the output of kernels to the stream that they wrote it to. With a prefix, each line starts with it, and
 * incomplete lines are held back.
 */
export function logWriter(out: Output, prefixOf: (chunk: AttemptLog) => string | null) {
  const open = new Map<string, { text: string; chunk: AttemptLog; prefix: string }>()
  const streamOf = ({ stream }: AttemptLog) => (stream === 'STDERR' ? 'STDERR' : 'STDOUT')
  const write = (chunk: AttemptLog, prefix: string, line: string) => {
    const terminal = chunk.stream === 'STDERR' ? out.notes : out.terminal
    const shown = terminal.interactive ? redrawn(line) : line
    out.program(streamOf(chunk), `${terminal.style('cyan', `${prefix} |`)} ${shown}\n`)
  }
  return {
    write(chunk: AttemptLog): void {
      if (out.json) return out.item({ type: 'log', ...chunk }, () => '')
      const prefix = prefixOf(chunk)
      if (prefix === null) return out.program(streamOf(chunk), chunk.text)
      const key = `${chunk.kernelId} ${chunk.stream}`
      const lines = ((open.get(key)?.text ?? '') + chunk.text).split('\n')
      const rest = lines.pop()!
      for (const line of lines) write(chunk, prefix, line)
      open.set(key, { text: rest, chunk, prefix })
    },
    /** Writes the incomplete lines at the end of an attempt, and ends one that is open on a terminal. */
    flush(): void {
      for (const { text, chunk, prefix } of open.values()) if (text !== '') write(chunk, prefix, text)
      open.clear()
      out.endLine()
    },
  }
}
