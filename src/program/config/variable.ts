import type { z } from 'zod'

export interface Documentation {
  name: `REPRISE_${string}` | `OTEL_${string}`
  /** As the documentation words it. */
  default: string
  meaning: string
  /** Null if the value is not a quantity. */
  unit: string | null
}

export interface Variable<T> extends Documentation {
  schema: z.ZodType<T>
}

export function variable<T>(options: Variable<T>): Variable<T> {
  return options
}
