import type { Readable, Writable } from 'node:stream'
import {
  CHANNEL_SIGNALS,
  CHANNEL_STREAMS,
  type ChannelControl,
  type ChannelMessage,
  type ChannelOpening,
  type ChannelPort,
  type ChannelStream,
  parseControl,
} from '../domain/agent/channel-protocol.ts'
import {
  CHANNEL_CHUNK_BYTES_MAX,
  CHANNEL_WINDOW_BYTES,
  CHANNELS_PER_AGENT_MAX,
  TERMINAL_SIDE_MAX,
} from '../domain/limits.ts'
import { z } from 'zod'
import { RepriseError } from '../domain/errors.ts'
import { messageOf } from '../observability/error-message.ts'
import type { Executor, KernelChannel } from './executors/executor.ts'
import type { ChannelOrder, DialChannel } from '../domain/agent/protocol.ts'
import type { Logger } from '../observability/log.ts'

/** The data of a channel, in both directions. The channel protocol describes the window. */
interface ChannelStreams {
  /** Sends the whole source, no faster than the other side takes it. Resolves when the source ends or breaks. */
  send(stream: ChannelStream, source: Readable): Promise<void>
  /** Called when the other side has taken this many bytes. */
  taken(bytes: number): void
  /**
   * Passes data on to the sink. @returns false if the other side sent more than its window, which breaks the protocol
   */
  take(data: Buffer, sink: Writable): boolean
  control(control: ChannelControl): Promise<void>
}

function createChannelStreams(port: ChannelPort): ChannelStreams {
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
        // A terminal breaks when its last process has ended, and a connection breaks when its program has ended.
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
      // Data that will not be read any more also counts as taken.
      if (!sink.writable) passed()
      else sink.write(data.subarray(1), passed)
      return true
    },
    control,
  }
}

const side = z.int().min(1).max(TERMINAL_SIDE_MAX)
const schema = z.object({
  type: z.literal('open'),
  kernelId: z.string(),
  assignment: z.int(),
  request: z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('exec'),
      command: z.array(z.string()).min(1),
      tty: z.boolean(),
      term: z.string(),
      columns: side,
      rows: side,
    }),
    z.object({ kind: z.literal('connect'), port: z.int().min(1).max(65_535) }),
  ]),
})
const resize = z.object({ columns: side, rows: side })
const signals = z.object({ signal: z.enum(CHANNEL_SIGNALS) })
const taken = z.object({ bytes: z.int().min(0) })

/**
 * Serves one channel from the server's request to its end. When either side closes it, the command or connection in the
 * kernel is hung up.
 */
async function serveChannel(executor: Executor, port: ChannelPort, stopping: AbortSignal): Promise<void> {
  const streams = createChannelStreams(port)
  const opening = Promise.withResolvers<ChannelOpening | null>()
  const ready = Promise.withResolvers<void>()
  let channel: KernelChannel | null = null
  port.receive((message) => {
    if (channel !== null) return take(message, channel, streams, port)
    const parsed = typeof message === 'string' ? schema.safeParse(parseControl(message)) : null
    opening.resolve(parsed?.success === true ? parsed.data : null)
    // Messages after the request wait until something can take them.
    return ready.promise
  })
  const stop = () => port.close(1001, 'the agent is shutting down')
  stopping.addEventListener('abort', stop, { once: true })
  try {
    const gone = port.closed.then(() => null)
    const request = await Promise.race([opening.promise, gone])
    if (request === null) return port.close(1008, 'no request that this agent knows')
    channel = await open(executor, request)
    ready.resolve()
    await run(channel, streams, gone)
    port.close(1000, '')
  } catch (error) {
    ready.resolve()
    const code = error instanceof RepriseError ? error.code : 'CHANNEL_NOT_OPENED'
    await streams.control({ type: 'failed', code, message: messageOf(error) })
    port.close(1000, '')
  } finally {
    stopping.removeEventListener('abort', stop)
    ready.resolve()
    await channel?.hangUp()
  }
}

function open(executor: Executor, { kernelId, assignment, request }: ChannelOpening): Promise<KernelChannel> {
  const unsupported = () => {
    const what = request.kind === 'exec' ? 'commands beside their own' : 'connections'
    throw new RepriseError('CHANNEL_UNSUPPORTED', `kernels of the executor ${executor.name} take no ${what}`)
  }
  if (request.kind === 'exec') return executor.exec?.(kernelId, assignment, request) ?? unsupported()
  return executor.connect?.(kernelId, assignment, request.port) ?? unsupported()
}

async function run(channel: KernelChannel, streams: ChannelStreams, gone: Promise<null>): Promise<void> {
  await streams.control({ type: 'opened' })
  const sent = [streams.send('STDOUT', channel.stdout)]
  if (channel.stderr !== null) sent.push(streams.send('STDERR', channel.stderr))
  const ended = Promise.all([channel.ended, ...sent]).then(([how]) => how)
  const how = await Promise.race([ended, gone])
  if (how !== null) await streams.control({ type: 'ended', ...how })
}

function take(message: ChannelMessage, channel: KernelChannel, streams: ChannelStreams, port: ChannelPort): void {
  if (typeof message !== 'string') {
    const known = message[0] === CHANNEL_STREAMS.STDIN && streams.take(message, channel.stdin)
    return known ? undefined : port.close(1008, 'data of another stream, or more than was asked for')
  }
  const control = parseControl(message)
  if (control?.type === 'taken') return apply(taken, control, ({ bytes }) => streams.taken(bytes))
  if (control?.type === 'resize') return apply(resize, control, ({ columns, rows }) => channel.resize?.(columns, rows))
  if (control?.type === 'signal') return apply(signals, control, ({ signal }) => channel.signal?.(signal))
  // Messages of a later protocol version are ignored.
}

function apply<T>(shape: z.ZodType<T>, control: object, use: (value: T) => void): void {
  const parsed = shape.safeParse(control)
  if (parsed.success) use(parsed.data)
}

/** The agent's ends of all channels. */
export interface Channels {
  /** Opens the channels that are new here. The server repeats an order until it has heard from its channel. */
  open(orders: readonly ChannelOrder[]): void
  /** Hangs up all channels, and resolves when all of them have ended. */
  close(): Promise<void>
}

/** Number of past channels to remember, as their orders may still be repeated. */
const REMEMBERED_MAX = 1_000

export function createChannels(options: { executor: Executor; dial: DialChannel; log: Logger }): Channels {
  const { executor, dial, log } = options
  const ending = new AbortController()
  const known = new Set<string>()
  const underWay = new Set<Promise<void>>()

  async function openOne(order: ChannelOrder): Promise<void> {
    const { channelId } = order
    let port: ChannelPort
    try {
      port = await dial(order, ending.signal)
    } catch (error) {
      if (!ending.signal.aborted) log.warn({ channelId, error: messageOf(error) }, 'a channel could not be opened')
      return
    }
    await serveChannel(executor, port, ending.signal).catch((error: unknown) => {
      log.error({ channelId, err: error }, 'a channel met a fault')
      port.close(1011, 'the agent failed unexpectedly')
    })
  }

  return {
    open(orders) {
      for (const order of orders) {
        if (known.has(order.channelId) || underWay.size >= CHANNELS_PER_AGENT_MAX || ending.signal.aborted) continue
        if (known.size >= REMEMBERED_MAX) known.delete(known.values().next().value!)
        known.add(order.channelId)
        const work = openOne(order).finally(() => underWay.delete(work))
        underWay.add(work)
      }
    },
    async close() {
      ending.abort()
      await Promise.all(underWay)
    },
  }
}
