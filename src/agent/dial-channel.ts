import { WebSocket } from 'ws'
import { AGENT_CHANNEL_PATH, type ChannelOrder, type DialChannel } from '../domain/agent/protocol.ts'
import type { ChannelPort } from '../domain/agent/channel-protocol.ts'
import { CHANNEL_MESSAGE_BYTES_MAX, CHANNEL_OPENED_WITHIN_MS } from '../domain/limits.ts'
import { messageOf } from '../observability/error-message.ts'
import type { ChannelHolders } from '../channel/channel-holders.ts'
import { createPortPair } from '../channel/port-pair.ts'
import { webSocketPort } from '../channel/web-socket-port.ts'
import { wait } from '../waiting/wait.ts'

const HANDSHAKE_WITHIN_MS = 5_000
/** Pause between two rounds of the same addresses: a proxy at one address may choose among several servers. */
const ROUND_PAUSE_MS = 100
const ROUND_PAUSE_MAX_MS = 1_000

/**
 * Connects to the one server that waits for this channel. That is the server at the address in the order, or one behind
 * the agent's own addresses, which are tried in turn until it is found.
 *
 * @throws the last error, once the client no longer waits
 */
export async function dialAround(
  order: ChannelOrder,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<ChannelPort> {
  const until = performance.now() + CHANNEL_OPENED_WITHIN_MS
  const candidates = order.url !== null && mayReplace(urls, order.url) ? [order.url, ...urls] : urls
  for (let round = 0; ; round++) {
    for (const url of candidates) {
      try {
        return await dialChannel(url, order, signal)
      } catch (error) {
        if (signal.aborted || performance.now() > until) throw error
      }
    }
    await wait(Math.min(ROUND_PAUSE_MS * 2 ** round, ROUND_PAUSE_MAX_MS), { signal })
  }
}

/** An agent that talks TLS to its servers does not send a terminal unencrypted just because one of them asks for it. */
function mayReplace(urls: readonly string[], url: string): boolean {
  return new URL(url).protocol === 'https:' || urls.some((own) => new URL(own).protocol === 'http:')
}

/** Opens channels for the agent embedded in a server. That server may itself be the one that waits. */
export function dialFrom(holders: ChannelHolders): DialChannel {
  return async (order, signal) => {
    const take = holders.find(order)
    if (take === null && order.url !== null) return dialChannel(order.url, order, signal)
    if (take === null) throw new Error('another server waits for it, and has no REPRISE_ADVERTISED_URL')
    const [serverEnd, agentEnd] = createPortPair()
    take(serverEnd)
    return agentEnd
  }
}

/** @throws if the server cannot be reached, or does not wait for this channel */
function dialChannel(url: string, { channelId, secret }: ChannelOrder, signal: AbortSignal): Promise<ChannelPort> {
  const { promise, resolve, reject } = Promise.withResolvers<ChannelPort>()
  const socket = new WebSocket(url.replace(/\/*$/, `${AGENT_CHANNEL_PATH}${channelId}`).replace(/^http/, 'ws'), {
    headers: { authorization: `Bearer ${secret}` },
    handshakeTimeout: HANDSHAKE_WITHIN_MS,
    maxPayload: CHANNEL_MESSAGE_BYTES_MAX,
    perMessageDeflate: false,
  })
  const give = () => socket.terminate()
  signal.addEventListener('abort', give, { once: true })
  socket.on('error', (error) => reject(new Error(`${url}: ${messageOf(error)}`, { cause: error })))
  socket.once('close', () => {
    signal.removeEventListener('abort', give)
    reject(new Error(`${url}: the connection was closed`))
  })
  socket.once('open', () => resolve(webSocketPort(socket)))
  return promise
}
