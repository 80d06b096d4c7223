import type { NetworkRetry, ReconnectRetry } from './retry-config.ts'

/**
 * Seconds to wait after attempt number `failed` has failed, or null if that was the last one.
 * `elapsedSeconds` since the first attempt began. So the last wait may end after `stopAfterSeconds`.
 */
export function nextAttemptDelay(
  config: NetworkRetry,
  state: { failed: number; elapsedSeconds: number },
  random: () => number,
): number | null {
  const { failed, elapsedSeconds } = state
  if (config.stopAfterSeconds !== null && elapsedSeconds >= config.stopAfterSeconds) return null
  if (config.stopAfterAttempts !== null && failed >= config.stopAfterAttempts) return null
  const grown = Math.min(config.maxSeconds, config.multiplierSeconds * 2 ** (failed - 1))
  const delay = Math.max(config.minSeconds, grown)
  return config.random ? config.minSeconds + random() * (delay - config.minSeconds) : delay
}

/** Seconds before connection attempt `failed` + 1, spread so that a server's clients do not all return at once. */
export function reconnectDelay({ minSeconds, maxSeconds }: ReconnectRetry, failed: number, random: () => number) {
  const grown = Math.min(maxSeconds, minSeconds * 2 ** Math.min(failed - 1, 30))
  return grown * (0.5 + random() / 2)
}
