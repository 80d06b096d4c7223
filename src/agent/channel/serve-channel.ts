import { z } from 'zod'
import {
  CHANNEL_SIGNALS,
  CHANNEL_STREAMS,
  type ChannelMessage,
  type ChannelOpening,
  type ChannelPort,
  parseControl,
} from '../../domain/agent/channel-protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import { TERMINAL_SIDE_MAX } from '../../domain/limits.ts'
import { messageOf } from '../../observability/error-message.ts'
import type { Executor, KernelChannel } from '../executors/executor.ts'
import { type ChannelStreams, createChannelStreams } from './channel-streams.ts'

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
 * One channel, from the server's request to its end. Whoever closes it first: what was begun in the kernel is hung up.
 */
export async function serveChannel(executor: Executor, port: ChannelPort, stopping: AbortSignal): Promise<void> {
  const streams = createChannelStreams(port)
  const opening = Promise.withResolvers<ChannelOpening | null>()
  const ready = Promise.withResolvers<void>()
  let channel: KernelChannel | null = null
  port.receive((message) => {
    if (channel !== null) return take(message, channel, streams, port)
    const parsed = typeof message === 'string' ? schema.safeParse(parseControl(message)) : null
    opening.resolve(parsed?.success === true ? parsed.data : null)
    // What follows the request waits until there is something that can take it.
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
  // What else there is, a later version knows.
}

function apply<T>(shape: z.ZodType<T>, control: object, use: (value: T) => void): void {
  const parsed = shape.safeParse(control)
  if (parsed.success) use(parsed.data)
}
