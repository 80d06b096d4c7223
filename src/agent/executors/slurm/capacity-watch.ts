import { messageOf } from '../../../observability/error-message.ts'
import { wait } from '../../../waiting/wait.ts'
import type { ExecutorOffer } from '../executor.ts'
import { type Capacity, hasChanged } from './capacity.ts'
import type { SlurmHost } from './slurm-host.ts'

/**
 * Looks at the partition's nodes now and then, and tells the agent when what it offers has changed. While Slurm does not
 * answer, what was last seen stands.
 */
export function createCapacityWatch(
  host: SlurmHost,
  { offered: first, offers }: { offered: Capacity | null; offers: (offer: ExecutorOffer) => void },
): { start(): Promise<void>; close(): Promise<void> } {
  const ending = new AbortController()
  let offered = first
  let running: Promise<void> = Promise.resolve()
  host.nodes = first?.nodes ?? []

  async function look(): Promise<void> {
    const { partition, gres, queueFactor } = host.options
    try {
      const now = await host.commands.capacity(partition, gres, queueFactor)
      host.nodes = now.nodes
      host.contact.answered()
      if (offered !== null && !hasChanged(offered, now)) return
      const { slots, slotsPerKernelMax } = now
      if (offered !== null) host.log.info({ before: offered.slots, slots }, 'the cluster offers something else now')
      offered = now
      offers({ slots, slotsPerKernelMax })
    } catch (error) {
      host.contact.silent(messageOf(error))
    }
  }

  async function run(): Promise<void> {
    while (!ending.signal.aborted) {
      await wait(host.options.capacityMs, { signal: ending.signal, ref: false })
      if (!ending.signal.aborted) await look()
    }
  }

  return {
    async start() {
      if (offered === null) await look()
      running = run()
    },
    async close() {
      ending.abort()
      await running
    },
  }
}
