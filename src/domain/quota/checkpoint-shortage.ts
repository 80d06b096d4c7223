import { describeAmount } from '../amounts.ts'
import type { QuotaScope } from './quota.ts'

/** A quota whose checkpoints have all that it allows. */
export interface CheckpointShortage {
  scope: QuotaScope
  /** Of the user, project or domain. */
  name: string
  bytes: number
  maxBytes: number
}

/** `the checkpoints of project p have 12 GiB, and its quota allows 10 GiB: no new chain starts until some are dropped` */
export function explainCheckpointShortage({ scope, name, bytes, maxBytes }: CheckpointShortage): string {
  const [has, allows] = [bytes, maxBytes].map((amount) => describeAmount('mem', String(amount)))
  return `the checkpoints of ${scope.toLowerCase()} ${name} have ${has}, and its quota allows ${allows}: no new chain starts until some are dropped`
}
