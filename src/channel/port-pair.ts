import type { ChannelPort } from '../domain/agent/channel-port.ts'
import { createMessageQueue, type MessageQueue } from './message-queue.ts'

/** Messages that one end may be ahead of the other. */
const AHEAD_MAX = 16

/** Two ends of a channel within one process. */
export function createPortPair(): [ChannelPort, ChannelPort] {
  const [here, there] = [createRoom(), createRoom()]
  return [endOf(here, there), endOf(there, here)]
}

interface Room {
  queue: MessageQueue
  /** Resolves when nothing waits. */
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
