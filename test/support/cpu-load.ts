import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** Twice as many programs as there are processors want all of one, until they are disposed. */
export function cpuLoad(): Disposable {
  const children = Array.from({ length: 2 * availableParallelism() }, () =>
    spawn('/bin/sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }),
  )
  return { [Symbol.dispose]: () => children.forEach((child) => child.kill('SIGKILL')) }
}
