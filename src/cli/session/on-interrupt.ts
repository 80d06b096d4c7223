import process from 'node:process'
import type { Output } from '../output/output.ts'

export type OnInterrupt = 'DETACH' | 'TERMINATE'

export const INTERRUPT_REASON = 'interrupted at the command line'

/** `kill` and service managers mean what Ctrl-C means. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** npm forwards a Ctrl-C that the terminal has sent already: people do not press it again this soon. */
const SAME_CTRL_C_WITHIN_MS = 200

interface Interruptible {
  out: Output
  /** How to come back to the work, and how to end it. */
  advice: string
  end: () => Promise<unknown>
  /** Ends the command. */
  stopped: AbortController
}

/** The first Ctrl-C detaches or terminates; a second one exits at once. */
export function onInterrupt(what: OnInterrupt, { out, advice, end, stopped }: Interruptible) {
  const state = { interrupted: false, dispose: () => SIGNALS.forEach((name) => process.off(name, interrupt)) }
  let firstAt = -Infinity
  function interrupt(): void {
    if (performance.now() - firstAt < SAME_CTRL_C_WITHIN_MS) return
    firstAt = performance.now()
    if (state.interrupted || what === 'DETACH') {
      out.note(`\ndetached: the work goes on. ${advice}`)
      stopped.abort()
      return
    }
    state.interrupted = true
    out.note('\nending the work; Ctrl-C once more leaves it alone')
    void end().catch((error: Error) => {
      out.note(`it could not be ended: ${error.message}`)
      stopped.abort()
    })
  }
  for (const name of SIGNALS) process.on(name, interrupt)
  return state
}
