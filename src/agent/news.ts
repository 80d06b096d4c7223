import { setTimeout as pause } from 'node:timers/promises'

/** Whether something happened that the server has not been told, and a way to wait for it. */
export interface News {
  /** Something happened. */
  tell(): void
  /** @returns whether something did, and starts anew */
  take(): boolean
  /** Aborted by the next news; at once where some are there. Given back by `ignore`. */
  interrupt(controller: AbortController): void
  ignore(): void
  /** Until news come, at most so long. */
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
      await pause(ms, undefined, { signal: controller.signal }).catch(() => undefined)
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
