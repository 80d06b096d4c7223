import { readFileSync } from 'node:fs'
import { readStatus } from '../../kernels/kernel-directory.ts'
import { parseStatus } from '../../kernels/shim-status.ts'
import { pullImage } from '../image-preset.ts'
import { environmentOf } from '../launch-kernel.ts'
import type { ProcessHost } from '../process-host.ts'
import type { ProcessKernel } from '../process-kernel.ts'

/**
 * The environment of the kernel's command. Secrets come with the order to start and are not written down, so after a
 * restart of the agent they are read from the command itself, which may have changed them.
 */
export function fullEnvironment(host: ProcessHost, kernel: ProcessKernel): Map<string, string> {
  if (kernel.token !== '') return environmentOf(host, kernel)
  const image = pullImage(host.presets, kernel.spec.image, host.path)
  kernel.image ??= typeof image === 'string' ? null : image
  return new Map([...commandEnvironment(kernel), ...environmentOf(host, kernel)])
}

function commandEnvironment({ path, namespaced, shim }: ProcessKernel): [string, string][] {
  const parent = namespaced ? parseStatus(readStatus(path)).innerPid : (shim?.pid ?? null)
  const [command = ''] = readIfThere(`/proc/${parent}/task/${parent}/children`).split(' ')
  return readIfThere(`/proc/${command}/environ`)
    .split('\0')
    .flatMap((entry): [string, string][] => {
      const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(entry) ?? []
      return name === undefined || value === undefined ? [] : [[name, value]]
    })
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
