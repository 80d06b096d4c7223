import { type RepriseClientError, RetryableError, UnavailableError } from './errors.ts'

/** Settings for retries after certain HTTP responses. There are 1 + `total` attempts. */
export interface HttpRetry {
  total: number
  /** Factor for the waiting time in seconds. The first retry is at once; retry n waits `backoffFactor` × 2^(n−1). */
  backoffFactor: number
  backoffMaxSeconds: number
  /**
   * Responses with these statuses are retried. 413, 429 and 503 with a Retry-After header are retried even if not
   * listed.
   */
  statuses: readonly number[]
  /** Upper limit for Retry-After. */
  retryAfterMaxSeconds: number
}

/**
 * Settings for retries of operations without a response. Attempt n waits `multiplierSeconds` × 2^(n−1), from min to
 * max.
 */
export interface NetworkRetry {
  multiplierSeconds: number
  minSeconds: number
  maxSeconds: number
  /** Whether to wait a random time between `minSeconds` and the result of the formula. */
  random: boolean
  /** No attempt starts if this much time has passed since the first one started. Null: no limit. */
  stopAfterSeconds: number | null
  /** Maximum number of attempts. Null: no limit. */
  stopAfterAttempts: number | null
  retryIf: (error: unknown) => boolean
}

/**
 * Settings for reconnects of subscriptions. They wait between half and all of `minSeconds` × 2^(n−1), up to the
 * maximum.
 */
export interface ReconnectRetry {
  minSeconds: number
  maxSeconds: number
}

/** All retry settings; null switches a layer off. */
export interface RetryConfig {
  http: HttpRetry | null
  network: NetworkRetry | null
  reconnect: ReconnectRetry | null
}

export interface RetryOptions {
  http?: Partial<HttpRetry> | false
  network?: Partial<NetworkRetry> | false
  reconnect?: Partial<ReconnectRetry> | false
}

export const RETRY_DEFAULTS = {
  http: {
    total: 3,
    backoffFactor: 0.5,
    backoffMaxSeconds: 120,
    statuses: [429, 500, 502, 503, 504],
    retryAfterMaxSeconds: 21_600,
  },
  network: {
    multiplierSeconds: 1,
    minSeconds: 1,
    maxSeconds: 10,
    random: false,
    stopAfterSeconds: 60,
    stopAfterAttempts: null,
    retryIf: (error) => error instanceof RetryableError || error instanceof UnavailableError,
  },
  reconnect: { minSeconds: 0.25, maxSeconds: 10 },
} as const satisfies RetryConfig

/** Resolves the retry settings. Missing options come from `environment`, then from the defaults. */
export function resolveRetry(
  options: RetryOptions | false | undefined,
  environment: { httpTotal?: number; networkSeconds?: number } = {},
): RetryConfig {
  if (options === false) return { http: null, network: null, reconnect: null }
  const { http = {}, network = {}, reconnect = {} } = options ?? {}
  const httpTotal = environment.httpTotal ?? RETRY_DEFAULTS.http.total
  const stopAfterSeconds = environment.networkSeconds ?? RETRY_DEFAULTS.network.stopAfterSeconds
  return {
    http: orOff(http, { ...RETRY_DEFAULTS.http, total: httpTotal }, ({ total }) => total === 0),
    network: orOff(network, { ...RETRY_DEFAULTS.network, stopAfterSeconds }, (layer) => layer.stopAfterSeconds === 0),
    reconnect: orOff(reconnect, RETRY_DEFAULTS.reconnect, () => false),
  }
}

function orOff<T>(given: Partial<T> | false, defaults: T, isOff: (layer: T) => boolean): T | null {
  if (given === false) return null
  const stated = Object.entries(given).filter(([, value]) => value !== undefined)
  const layer = { ...defaults, ...Object.fromEntries(stated) }
  return isOff(layer) ? null : layer
}

/** Time limits in seconds; null means none. */
export interface Timeouts {
  /** Time limit for opening a connection. */
  connectSeconds: number | null
  /** Time limit between two bytes from the server. */
  readSeconds: number | null
}

/** Options for time limits: 0 and null mean no limit; a single number sets both. */
export type TimeoutOptions = number | null | { connectSeconds?: number | null; readSeconds?: number | null }

export const TIMEOUT_DEFAULTS: Timeouts = { connectSeconds: 3, readSeconds: 20 }

/** Resolves the time limits. Missing options come from `environment`, then from the defaults. */
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

/** Progress reported while a caller waits. */
export type Progress =
  /** An operation failed and is retried, at once or after a pause. */
  | {
      kind: 'retry'
      layer: 'http' | 'network' | 'endpoint'
      operation: string
      /** Number of attempts of this layer that have failed. */
      failed: number
      delaySeconds: number
      error: RepriseClientError
    }
  /** A subscription's connection broke; it is reopened after the pause and resumes where it stopped. */
  | { kind: 'reconnect'; operation: string; failed: number; delaySeconds: number; error: unknown }

export type OnProgress = (progress: Progress) => void
