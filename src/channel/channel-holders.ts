import { timingSafeEqual } from 'node:crypto'
import type { ChannelPort } from '../domain/agent/channel-protocol.ts'
import type { ChannelOrder } from '../domain/agent/protocol.ts'

/** Channels of this server that wait for their agents' connections. */
export interface ChannelHolders {
  /** Waits for the agent's connection. `stop` ends the wait. */
  expect(order: Pick<ChannelOrder, 'channelId' | 'secret'>): { agent: Promise<ChannelPort>; stop(): void }
  /**
   * Called for an agent. @returns a function that takes the agent's connection; null if no channel waits here with this
   * secret
   */
  find(order: Pick<ChannelOrder, 'channelId' | 'secret'>): ((agent: ChannelPort) => void) | null
}

export function createChannelHolders(): ChannelHolders {
  const waiting = new Map<string, { secret: Buffer; take: (agent: ChannelPort) => void }>()
  return {
    expect({ channelId, secret }) {
      const { promise, resolve } = Promise.withResolvers<ChannelPort>()
      const stop = () => void waiting.delete(channelId)
      waiting.set(channelId, { secret: Buffer.from(secret), take: resolve })
      return { agent: promise, stop }
    },
    find({ channelId, secret }) {
      const found = waiting.get(channelId)
      const given = Buffer.from(secret)
      if (found === undefined || given.length !== found.secret.length || !timingSafeEqual(given, found.secret))
        return null
      return (agent) => {
        // Another connection was first.
        if (waiting.get(channelId) !== found) return agent.close(1008, 'another connection has this channel')
        waiting.delete(channelId)
        found.take(agent)
      }
    },
  }
}
