import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** Keeps all processors busy with twice as many programs, until it is disposed. */
export function cpuLoad(): Disposable {
  const children = Array.from({ length: 2 * availableParallelism() }, () =>
    spawn('/bin/sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }),
  )
  return { [Symbol.dispose]: () => children.forEach((child) => child.kill('SIGKILL')) }
}
