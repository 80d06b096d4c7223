import { wait } from '../waiting/wait.ts'

/** Tracks whether there are changes that the server has not heard of, and lets the loop wait for them. */
export interface ChangeSignal {
  /** Something has changed. */
  raise(): void
  /** @returns whether there was a change, and resets it */
  take(): boolean
  /** Aborts the controller at the next change, or at once if there is one. `ignore` releases the controller. */
  interrupt(controller: AbortController): void
  ignore(): void
  /** Resolves at the next change, or after `ms`. */
  wait(ms: number): Promise<void>
}

export function createChangeSignal(): ChangeSignal {
  let raised = false
  let waiting: AbortController | null = null
  return {
    raise() {
      raised = true
      waiting?.abort(new ChangeInterrupt())
    },
    take() {
      const was = raised
      raised = false
      return was
    },
    interrupt(controller) {
      waiting = controller
      if (raised) controller.abort(new ChangeInterrupt())
    },
    ignore() {
      waiting = null
    },
    async wait(ms) {
      const controller = new AbortController()
      this.interrupt(controller)
      await wait(ms, { signal: controller.signal })
      this.ignore()
    },
  }
}

export class ChangeInterrupt extends Error {
  constructor() {
    super('there are changes to report')
    this.name = 'ChangeInterrupt'
  }
}
