const PAUSE_MIN_MS = 100
const PAUSE_MAX_MS = 5_000

/** Doubles per failure. The upper half is random, so that agents do not reconnect all at once when a server returns. */
export function reconnectPauseMs(failures: number, random: number): number {
  const longest = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(failures - 1, 16))
  return Math.round(longest * (0.5 + random / 2))
}
