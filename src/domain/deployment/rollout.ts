/** What a deployment says of how it is updated; null for the defaults. */
export interface RolloutSettings {
  replicas: number
  minHealthy: number | null
  maxSurge: number | null
}

/**
 * What holds while a deployment is updated: never fewer healthy routes than `minHealthy`, as far as there were so many,
 * and never more routes than `replicas + maxSurge`. As Kubernetes has it, both are a quarter by default, and where
 * neither leaves room for a step (after scaling, or by rounding), one replica may be missing.
 */
export function rolloutBounds({ replicas, minHealthy, maxSurge }: RolloutSettings): {
  minHealthy: number
  maxSurge: number
} {
  const surge = maxSurge ?? Math.max(1, Math.ceil(replicas / 4))
  const least = Math.min(minHealthy ?? replicas - Math.floor(replicas / 4), replicas)
  return { minHealthy: surge === 0 && least === replicas ? Math.max(0, replicas - 1) : least, maxSurge: surge }
}
