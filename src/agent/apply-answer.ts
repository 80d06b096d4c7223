import type { KernelOrder, SyncAnswer } from '../domain/agent/protocol.ts'
import type { Logger } from '../observability/log.ts'
import type { Executor } from './executors/executor.ts'

/** An order that fails does not hold up the others; the server repeats it. */
export function applyAnswer(executor: Executor, answer: SyncAnswer, log: Logger): void {
  for (const order of answer.orders) attempt(log, order, () => applyOrder(executor, order))
  for (const order of answer.forget) attempt(log, order, () => executor.forget(order.kernelId, order.assignment))
}

function applyOrder(executor: Executor, order: KernelOrder): void {
  if (order.want === 'PREPARE') executor.prepare(order.spec, order.assignment)
  if (order.want === 'START') executor.start(order.spec, order.assignment)
  if (order.want === 'STOP') executor.stop(order.kernelId, order.assignment, order.graceMs)
}

function attempt(log: Logger, order: object, apply: () => void): void {
  try {
    apply()
  } catch (error) {
    log.error({ ...nameOf(order), error: String(error) }, 'order not carried out')
  }
}

/** For the log; leaves out the specification, whose environment may hold secrets. */
function nameOf(order: object): object {
  return 'spec' in order ? { kernelId: (order as { spec: { kernelId: string } }).spec.kernelId } : order
}
