const PAUSE_MIN_MS = 100
const PAUSE_MAX_MS = 5_000

/** Doubles per failure. Random in its upper half, so that the agents of a server that comes back come spread. */
export function reconnectPauseMs(failures: number, random: number): number {
  const longest = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(failures - 1, 16))
  return Math.round(longest * (0.5 + random / 2))
}
