import type { Logger } from '../../../observability/log.ts'

/** What the agent's labels say of a controller that does not answer. */
export const UNREACHABLE = { slurm: 'unreachable' }

/** Whether Slurm answers. Each change is told by the log and by a label of the agent. */
export interface SlurmContact {
  silent(why: string): void
  answered(): void
}

export function createSlurmContact(log: Logger, labelled: (labels: Record<string, string>) => void): SlurmContact {
  let isSilent = false
  return {
    silent(why) {
      if (isSilent) return
      isSilent = true
      log.warn({ error: why }, 'Slurm does not answer')
      labelled(UNREACHABLE)
    },
    answered() {
      if (!isSilent) return
      isSilent = false
      log.info('Slurm answers again')
      labelled({})
    },
  }
}
