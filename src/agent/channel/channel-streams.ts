import type { Readable, Writable } from 'node:stream'
import {
  CHANNEL_STREAMS,
  type ChannelControl,
  type ChannelPort,
  type ChannelStream,
} from '../../domain/agent/channel-protocol.ts'
import { CHANNEL_CHUNK_BYTES_MAX, CHANNEL_WINDOW_BYTES } from '../../domain/limits.ts'

/** Data of a channel, in both directions; see the window in the channel's protocol. */
export interface ChannelStreams {
  /** Sends all of it, no faster than it is taken. Resolves at its end, or when it breaks. */
  send(stream: ChannelStream, source: Readable): Promise<void>
  /** The other side has taken so much. */
  taken(bytes: number): void
  /** Passes data on. What the other side sends beyond its window is a breach of the protocol: @returns false */
  take(data: Buffer, sink: Writable): boolean
  control(control: ChannelControl): Promise<void>
}

export function createChannelStreams(port: ChannelPort): ChannelStreams {
  let left = CHANNEL_WINDOW_BYTES
  let more = Promise.withResolvers<void>()
  let held = 0
  let over = false
  void port.closed.then(() => {
    over = true
    more.resolve()
  })
  const control = (what: ChannelControl) => port.send(JSON.stringify(what))

  async function sendAll(name: ChannelStream, chunk: Buffer): Promise<void> {
    for (let rest = chunk; rest.length > 0;) {
      if (over) return
      if (left <= 0) {
        await more.promise
        continue
      }
      const part = rest.subarray(0, Math.min(CHANNEL_CHUNK_BYTES_MAX, left))
      rest = rest.subarray(part.length)
      left -= part.length
      await port.send(Buffer.concat([Buffer.of(CHANNEL_STREAMS[name]), part]))
    }
  }

  return {
    async send(name, source) {
      try {
        for await (const chunk of source) await sendAll(name, chunk as Buffer)
      } catch {
        // A terminal breaks when its last process has ended, a connection when its program does.
      }
      await port.send(Buffer.of(CHANNEL_STREAMS[name]))
    },
    taken(bytes) {
      left = Math.min(CHANNEL_WINDOW_BYTES, left + bytes)
      more.resolve()
      more = Promise.withResolvers()
    },
    take(data, sink) {
      const bytes = data.length - 1
      if (bytes === 0) {
        if (!sink.destroyed) sink.end()
        return true
      }
      held += bytes
      if (held > CHANNEL_WINDOW_BYTES) return false
      const passed = () => {
        held -= bytes
        void control({ type: 'taken', bytes })
      }
      // What nobody reads any more is taken, too.
      if (!sink.writable) passed()
      else sink.write(data.subarray(1), passed)
      return true
    },
    control,
  }
}
