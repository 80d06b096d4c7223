import type { ChannelClosing, ChannelMessage, ChannelPort } from '../domain/agent/channel-port.ts'

/** What has arrived at one end of a channel: one message after the other, and then the closing. */
export interface MessageQueue extends Pick<ChannelPort, 'receive' | 'closed'> {
  put(message: ChannelMessage): void
  /** Nothing follows. */
  end(closing: ChannelClosing): void
  /** Messages that wait. */
  readonly length: number
}

/** @param hold called with whether messages wait */
export function createMessageQueue(hold: (full: boolean) => void): MessageQueue {
  const waiting: ChannelMessage[] = []
  const closed = Promise.withResolvers<ChannelClosing>()
  let take: ((message: ChannelMessage) => Promise<void> | void) | undefined
  let closing: ChannelClosing | undefined
  let busy = false

  async function takeAll(): Promise<void> {
    if (busy || take === undefined) return
    busy = true
    try {
      for (let first = waiting.shift(); first !== undefined; first = waiting.shift()) await take(first)
    } catch {
      // Whatever one end sends, the other one stays up: the channel is over.
      waiting.length = 0
      closing ??= { code: 1011, reason: 'a message could not be handled' }
    }
    busy = false
    hold(false)
    if (closing !== undefined) closed.resolve(closing)
  }

  return {
    put(message) {
      if (closing !== undefined) return
      waiting.push(message)
      hold(true)
      void takeAll()
    },
    end(how) {
      closing ??= how
      // Of an end that nobody uses.
      if (take === undefined) closed.resolve(closing)
      else void takeAll()
    },
    receive(taker) {
      take = taker
      void takeAll()
    },
    closed: closed.promise,
    get length() {
      return waiting.length
    },
  }
}
