/** A deployment's rollout settings; null for the defaults. */
export interface RolloutSettings {
  replicas: number
  minHealthy: number | null
  maxSurge: number | null
}

/**
 * The bounds during an update: never fewer healthy routes than `minHealthy`, if there were that many, and never more
 * routes than `replicas + maxSurge`. As in Kubernetes, both default to a quarter, and if neither leaves room for a step
 * (after scaling, or by rounding), one replica may be missing.
 */
export function rolloutBounds({ replicas, minHealthy, maxSurge }: RolloutSettings): {
  minHealthy: number
  maxSurge: number
} {
  const surge = maxSurge ?? Math.max(1, Math.ceil(replicas / 4))
  const least = Math.min(minHealthy ?? replicas - Math.floor(replicas / 4), replicas)
  return { minHealthy: surge === 0 && least === replicas ? Math.max(0, replicas - 1) : least, maxSurge: surge }
}
