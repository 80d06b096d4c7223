import type { ChannelPort } from '../../domain/agent/channel-protocol.ts'
import type { ChannelOrder, DialChannel } from '../../domain/agent/protocol.ts'
import { CHANNELS_PER_AGENT_MAX } from '../../domain/limits.ts'
import { messageOf } from '../../observability/error-message.ts'
import type { Logger } from '../../observability/log.ts'
import type { Executor } from '../executors/executor.ts'
import { serveChannel } from './serve-channel.ts'

/** The agent's ends of all channels. */
export interface Channels {
  /** Opens those that it does not know yet; an order is repeated until the server has heard of its channel. */
  open(orders: readonly ChannelOrder[]): void
  /** Hangs up all of them, and resolves when nothing of them is left. */
  close(): Promise<void>
}

/** Channels whose orders may still be repeated. */
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
      port.close(1011, 'the agent met a fault')
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
