import type { ChannelClosing, ChannelMessage, ChannelPort } from '../domain/agent/channel-protocol.ts'

/** Messages that one end may send before the other has read them. */
const AHEAD_MAX = 16

/** Creates the two ends of a channel within one process. */
export function createPortPair(): [ChannelPort, ChannelPort] {
  const [here, there] = [createRoom(), createRoom()]
  return [endOf(here, there), endOf(there, here)]
}

interface Room {
  queue: MessageQueue
  /** Resolves when no message waits. */
  emptied(): Promise<void>
}

function createRoom(): Room {
  let empty = Promise.withResolvers<void>()
  empty.resolve()
  let full = false
  const queue = createMessageQueue((isFull) => {
    if (isFull && !full) empty = Promise.withResolvers<void>()
    if (!isFull) empty.resolve()
    full = isFull
  })
  return { queue, emptied: () => empty.promise }
}

function endOf(own: Room, others: Room): ChannelPort {
  let open = true
  void own.queue.closed.then(() => (open = false))
  return {
    send(message) {
      if (!open) return Promise.resolve()
      others.queue.put(message)
      if (others.queue.length <= AHEAD_MAX) return Promise.resolve()
      return Promise.race([others.emptied(), own.queue.closed.then(() => undefined)])
    },
    receive: own.queue.receive,
    close(code, reason) {
      open = false
      others.queue.end({ code, reason })
      own.queue.end({ code, reason })
    },
    closed: own.queue.closed,
  }
}

/** Messages that have arrived at one end of a channel, in order, and then its closing. */
interface MessageQueue extends Pick<ChannelPort, 'receive' | 'closed'> {
  put(message: ChannelMessage): void
  /** Ends the queue: no message follows. */
  end(closing: ChannelClosing): void
  /** Number of waiting messages. */
  readonly length: number
}

/** @param hold called with true when a message waits, and with false when none does */
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
      // A message that cannot be handled ends the channel, not the process.
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
      // If this end was never read, no message has to be taken first.
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
