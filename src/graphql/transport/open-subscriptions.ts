import { RepriseError } from '../../domain/errors.ts'
import { SUBSCRIPTIONS_PER_CONNECTION_MAX, SUBSCRIPTIONS_PER_TOKEN_MAX } from '../limits/limits.ts'

/**
 * How often the tokens of open subscriptions are checked, so that a revoked token ends them even if no event arrives.
 */
const TOKEN_CHECK_INTERVAL_MS = 2_000

interface OpenSubscription {
  tokenId: string
  /** The WebSocket, or the HTTP request of a single subscription. */
  connection: object
  stillAuthorized(): Promise<boolean>
  /** Called at most once, when the token is no longer valid. */
  end(): void
}

/**
 * All open subscriptions of this process, over all transports. Their number is limited, and they end when their token
 * is revoked or expires.
 */
export interface OpenSubscriptions {
  /**
   * Returns a function that removes it again, which may be called any number of times.
   * @throws RepriseError TOO_MANY_SUBSCRIPTIONS
   */
  open(subscription: OpenSubscription): () => void
}

export function createOpenSubscriptions(closing: AbortSignal): OpenSubscriptions {
  const byToken = new Map<string, Set<OpenSubscription>>()
  const perConnection = new WeakMap<object, number>()
  const timer = setInterval(() => void checkTokens(), TOKEN_CHECK_INTERVAL_MS).unref()
  closing.addEventListener('abort', () => clearInterval(timer), { once: true })

  /** Checks each token once, however many subscriptions it has open. If a check fails, the next one decides. */
  async function checkTokens(): Promise<void> {
    const checks = [...byToken.values()].map(async (subscriptions) => {
      const [first] = subscriptions
      if (!first || (await first.stillAuthorized().catch(() => true))) return
      for (const subscription of subscriptions) subscription.end()
    })
    await Promise.all(checks)
  }

  return {
    open(subscription) {
      const { tokenId, connection } = subscription
      const ofToken = byToken.get(tokenId) ?? new Set()
      const ofConnection = perConnection.get(connection) ?? 0
      assertBelow(ofConnection, SUBSCRIPTIONS_PER_CONNECTION_MAX, 'connection')
      assertBelow(ofToken.size, SUBSCRIPTIONS_PER_TOKEN_MAX, 'token')
      byToken.set(tokenId, ofToken.add(subscription))
      perConnection.set(connection, ofConnection + 1)
      return () => {
        if (!ofToken.delete(subscription)) return
        if (ofToken.size === 0 && byToken.get(tokenId) === ofToken) byToken.delete(tokenId)
        perConnection.set(connection, perConnection.get(connection)! - 1)
      }
    },
  }
}

function assertBelow(count: number, limit: number, of: string): void {
  if (count < limit) return
  const message = `This ${of} has ${count} subscriptions open, and the limit is ${limit}: end some first.`
  throw new RepriseError('TOO_MANY_SUBSCRIPTIONS', message)
}
