import { RepriseError } from '../domain/errors.ts'
import { SUBSCRIPTIONS_PER_CONNECTION_MAX, SUBSCRIPTIONS_PER_TOKEN_MAX } from './limits.ts'

/** How often tokens of open subscriptions are looked at: a revoked one ends them though nothing happens. */
const TOKEN_CHECK_INTERVAL_MS = 2_000

interface OpenSubscription {
  tokenId: string
  /** The socket, or the request where it carries one subscription alone. */
  connection: object
  stillAuthorized(): Promise<boolean>
  /** Called at most once, when the token is no longer in force. */
  end(): void
}

/** All that this process serves, over every transport: bounded, and ended with their tokens. */
export interface OpenSubscriptions {
  /**
   * Answers with how to take it out again, any number of times.
   * @throws RepriseError TOO_MANY_SUBSCRIPTIONS
   */
  open(subscription: OpenSubscription): () => void
}

export function createOpenSubscriptions(closing: AbortSignal): OpenSubscriptions {
  const byToken = new Map<string, Set<OpenSubscription>>()
  const perConnection = new WeakMap<object, number>()
  const timer = setInterval(() => void checkTokens(), TOKEN_CHECK_INTERVAL_MS).unref()
  closing.addEventListener('abort', () => clearInterval(timer), { once: true })

  /** One look per token, whatever it has open. A look that fails is made again at the next turn. */
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
