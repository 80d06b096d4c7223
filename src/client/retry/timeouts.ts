/** Seconds; null is none. */
export interface Timeouts {
  /** Time limit for opening a connection. */
  connectSeconds: number | null
  /** Time limit between two bytes from the server. */
  readSeconds: number | null
}

/** 0 and null mean no limit. A single number sets both. */
export type TimeoutOptions = number | null | { connectSeconds?: number | null; readSeconds?: number | null }

export const TIMEOUT_DEFAULTS: Timeouts = { connectSeconds: 3, readSeconds: 20 }

/** Missing options come from `environment`, then from the defaults. */
export function resolveTimeouts(
  options: TimeoutOptions | undefined,
  environment: { connectSeconds?: number; readSeconds?: number } = {},
): Timeouts {
  const given = toParts(options)
  const pick = (key: keyof Timeouts) => noneForZero(first(given[key], environment[key], TIMEOUT_DEFAULTS[key]))
  return { connectSeconds: pick('connectSeconds'), readSeconds: pick('readSeconds') }
}

function toParts(options: TimeoutOptions | undefined) {
  if (options === null || typeof options === 'number') return { connectSeconds: options, readSeconds: options }
  return options ?? {}
}

function first(...values: (number | null | undefined)[]): number | null {
  return values.find((value) => value !== undefined) ?? null
}

function noneForZero(seconds: number | null): number | null {
  return seconds === 0 ? null : seconds
}
