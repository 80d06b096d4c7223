/**
 * Named places in the code at which a test can pause execution, to force one interleaving of a race. Without a gate
 * they cost a property read.
 */
export interface SyncPoints {
  reached(name: SyncPointName): Promise<void>
}

export type SyncPointName =
  | 'deployment:after-claim'
  | 'deployment:before-commit'
  | 'dispatch:after-claim'
  | 'dispatch:before-commit'
  | 'health-check:before-settle'
  | 'removal:after-look'
  | 'removal:before-unlock'
  | 'resubmit:after-lock'
  | 'resubmit:before-commit'
  | 'schedule:after-quotas'
  | 'schedule:after-keys'
  | 'roll-up-figures:before-commit'
  | 'weekly-summaries:before-commit'
  | 'run-schedules:before-commit'
  | 'settle-groups:before-commit'
  | 'webhook:before-settle'

const PASSED = Promise.resolve()

export const NO_SYNC_POINTS: SyncPoints = { reached: () => PASSED }
