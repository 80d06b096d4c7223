import { z } from 'zod'

/** What of a container the engine can bound. */
export interface EngineLimits {
  memory: boolean
  cpu: boolean
  processes: boolean
}

export const ALL_LIMITS: EngineLimits = { memory: true, cpu: true, processes: true }

/** Podman's own answer; Docker's, as Podman gives it, has all of them in any case. */
export const controllersSchema = z.object({ host: z.object({ cgroupControllers: z.array(z.string()).catch([]) }) })

/** An ordinary user has those that were delegated: none with cgroups of version 1. */
export function delegatedLimits(controllers: readonly string[]): EngineLimits {
  const has = (controller: string) => controllers.includes(controller)
  return { memory: has('memory'), cpu: has('cpu'), processes: has('pids') }
}

/** For people; null if nothing is missing. */
export function missingLimits({ memory, cpu, processes }: EngineLimits): string | null {
  const missing = [...(memory ? [] : ['memory']), ...(cpu ? [] : ['CPU']), ...(processes ? [] : ['processes'])]
  return missing.length === 0 ? null : new Intl.ListFormat('en-GB').format(missing)
}
