import { z } from '@hono/zod-openapi'
import type { GpuNeed } from '../domain/gpu.ts'
import type { Mount } from '../domain/session/mounts.ts'

export const time = () => z.iso.datetime()

export const environ = () =>
  z.array(
    z.object({
      name: z.string(),
      value: z.string().openapi({ description: '`[redacted]` for a VIEWER.' }),
      redacted: z
        .literal(true)
        .optional()
        .openapi({ description: 'Whether the value is hidden from the token of this request.' }),
    }),
  )

export const secretEnviron = () =>
  z.array(z.string()).openapi({ description: 'Names of the secret variables, whose values nobody can read.' })

export const slots = () => z.array(z.object({ slot: z.string(), amount: z.string() }))

export const requiredGpus = () =>
  z
    .object({ model: z.string().nullable(), memory_bytes: z.int().nullable() })
    .nullable()
    .openapi({ description: 'What its GPUs must be like; null if any will do.' })

/** The same in the form of the input. */
export const scheduledGpus = () =>
  z
    .object({ model: z.string().nullable(), memory: z.int().nullable() })
    .nullable()
    .openapi({ description: 'What its GPUs must be like; null if any will do.' })

export const labels = () => z.array(z.object({ key: z.string(), value: z.string() }))

export const mounts = () =>
  z
    .array(z.object({ volume: z.string(), path: z.string(), read_only: z.boolean() }))
    .openapi({ description: 'Volumes that kernels mount.' })

export function toTime(moment: Date | null): string | null {
  return moment?.toISOString() ?? null
}

export function toSlots(stored: unknown): { slot: string; amount: string }[] {
  return Object.entries(stored as Record<string, string>).map(([slot, amount]) => ({ slot, amount }))
}

export function toRequiredGpus(need: GpuNeed | null): { model: string | null; memory_bytes: number | null } | null {
  return need && { model: need.model, memory_bytes: need.memoryBytes }
}

export function toLabels(stored: unknown): { key: string; value: string }[] {
  return Object.entries(stored as Record<string, string>).map(([key, value]) => ({ key, value }))
}

export function toMounts(stored: unknown): { volume: string; path: string; read_only: boolean }[] {
  return (stored as Mount[]).map(({ volume, path, readOnly }) => ({ volume, path, read_only: readOnly }))
}
