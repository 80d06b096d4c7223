/** Whether something happened that the server has not been told, and a way to wait for it. */
export interface News {
  /** Something happened. */
  tell(): void
  /** @returns whether something did, and starts anew */
  take(): boolean
  /** Aborted by the next news; at once where some are there. Given back by `ignore`. */
  interrupt(controller: AbortController): void
  ignore(): void
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
  }
}

export class NewsInterrupt extends Error {
  constructor() {
    super('there is news to tell')
    this.name = 'NewsInterrupt'
  }
}
