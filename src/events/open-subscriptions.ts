import { guarded } from '../waiting/wait.ts'
import { RepriseError } from '../domain/errors.ts'
import { SUBSCRIPTIONS_PER_CONNECTION_MAX, SUBSCRIPTIONS_PER_TOKEN_MAX, TOKEN_CHECK_KEPT_MS } from '../domain/limits.ts'

/** Interval at which the tokens of open subscriptions and sockets are checked, so that a revoked token ends them. */
const TOKEN_CHECK_INTERVAL_MS = 2_000

/** A subscription or a socket that a token has opened. */
interface Holder {
  tokenId: string
  stillAuthorized(): Promise<boolean>
  /** Called at most once, when the token is no longer valid. */
  end(): void
}

interface OpenSubscription extends Holder {
  /** The WebSocket, or the HTTP request of a single subscription. */
  connection: object
}

interface OfToken {
  holders: Set<Holder>
  subscriptions: number
  checked?: { isValid: Promise<boolean>; at: number } | undefined
}

interface Opened {
  /** Removes the subscription from the list; may be called several times. */
  leave: () => void
  /** Checks the token, or relies on what another of its subscriptions has found a moment ago. */
  stillAuthorized: () => Promise<boolean>
}

/**
 * Tracks all open subscriptions of this process, over all transports, and all its sockets. Limits the number of
 * subscriptions. When a token is revoked or expires, ends all subscriptions and sockets that the token has opened.
 */
export interface OpenSubscriptions {
  /**
   * Tracks a subscription.
   * @throws RepriseError TOO_MANY_SUBSCRIPTIONS
   */
  open(subscription: OpenSubscription): Opened
  /**
   * Tracks a socket, which may have no subscription. Returns a function that removes the socket from the list again.
   */
  openSocket(socket: Holder): () => void
}

/** A failed check is ignored: the next one decides. */
const ignored = () => {}

export function createOpenSubscriptions(closing: AbortSignal): OpenSubscriptions {
  const byToken = new Map<string, OfToken>()
  const perConnection = new WeakMap<object, number>()
  const timer = setInterval(guarded(checkTokens, ignored), TOKEN_CHECK_INTERVAL_MS).unref()
  closing.addEventListener('abort', () => clearInterval(timer), { once: true })

  /** Checks each token once, however many subscriptions it has. If a check fails, the next one decides. */
  async function checkTokens(): Promise<void> {
    const checks = [...byToken.values()].map(async ({ holders }) => {
      const [first] = holders
      if (!first || (await first.stillAuthorized().catch(() => true))) return
      for (const holder of holders) guarded(holder.end, ignored)()
    })
    await Promise.all(checks)
  }

  function hold(holder: Holder): { ofToken: OfToken; release: () => boolean } {
    const { tokenId } = holder
    const ofToken = byToken.get(tokenId) ?? { holders: new Set(), subscriptions: 0 }
    byToken.set(tokenId, ofToken)
    ofToken.holders.add(holder)
    const release = () => {
      const held = ofToken.holders.delete(holder)
      if (ofToken.holders.size === 0 && byToken.get(tokenId) === ofToken) byToken.delete(tokenId)
      return held
    }
    return { ofToken, release }
  }

  return {
    open(subscription) {
      const { tokenId, connection } = subscription
      const ofConnection = perConnection.get(connection) ?? 0
      assertBelow(ofConnection, SUBSCRIPTIONS_PER_CONNECTION_MAX, 'connection')
      assertBelow(byToken.get(tokenId)?.subscriptions ?? 0, SUBSCRIPTIONS_PER_TOKEN_MAX, 'token')
      const { ofToken, release } = hold(subscription)
      ofToken.subscriptions += 1
      perConnection.set(connection, ofConnection + 1)
      const leave = () => {
        if (!release()) return
        ofToken.subscriptions -= 1
        perConnection.set(connection, perConnection.get(connection)! - 1)
      }
      return { leave, stillAuthorized: () => checkOnce(ofToken, subscription) }
    },
    openSocket: (socket) => hold(socket).release,
  }
}

/** One check is enough for all subscriptions that an event wakes. */
function checkOnce(ofToken: OfToken, { stillAuthorized }: Holder): Promise<boolean> {
  const known = ofToken.checked
  if (known && performance.now() - known.at < TOKEN_CHECK_KEPT_MS) return known.isValid
  const checked = { isValid: stillAuthorized(), at: performance.now() }
  ofToken.checked = checked
  checked.isValid.catch(() => {
    if (ofToken.checked === checked) ofToken.checked = undefined
  })
  return checked.isValid
}

function assertBelow(count: number, limit: number, of: string): void {
  if (count < limit) return
  const message = `This ${of} has ${count} subscriptions open, and the limit is ${limit}: end some first.`
  throw new RepriseError('TOO_MANY_SUBSCRIPTIONS', message)
}
