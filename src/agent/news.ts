import { setTimeout as sleep } from 'node:timers/promises'

/** Tracks whether there are changes that the server has not been told of, and lets the loop wait for them. */
export interface News {
  /** Something has changed. */
  tell(): void
  /** @returns whether there was news, and resets it */
  take(): boolean
  /** Aborts the controller at the next news, or at once if there is some. `ignore` releases the controller. */
  interrupt(controller: AbortController): void
  ignore(): void
  /** Resolves at the next news, or after `ms`. */
  wait(ms: number): Promise<void>
}

export function createNews(): News {
  let told = false
  let waiting: AbortController | null = null
  return {
    tell() {
      told = true
      waiting?.abort(new NewsInterrupt())
    },
    take() {
      const was = told
      told = false
      return was
    },
    interrupt(controller) {
      waiting = controller
      if (told) controller.abort(new NewsInterrupt())
    },
    ignore() {
      waiting = null
    },
    async wait(ms) {
      const controller = new AbortController()
      this.interrupt(controller)
      await sleep(ms, undefined, { signal: controller.signal }).catch(() => undefined)
      this.ignore()
    },
  }
}

export class NewsInterrupt extends Error {
  constructor() {
    super('there is news to tell')
    this.name = 'NewsInterrupt'
  }
}
