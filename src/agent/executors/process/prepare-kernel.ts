import { messageOf } from '../../../observability/error-message.ts'
import { pullImage } from './image-preset.ts'
import { createKernelDirectory, ownerOf } from '../kernels/kernel-directory.ts'
import { choosePort } from '../kernels/choose-port.ts'
import { pullCheckpoint } from '../chain/pull-checkpoint.ts'
import { pullCode } from '../kernels/kernel-code.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'

export async function prepareKernel(host: ProcessHost, kernel: ProcessKernel): Promise<void> {
  const { assignment, spec } = kernel
  try {
    if (spec.portVariable) await choosePort(host.registry, kernel)
    const { port } = kernel
    const { namespaces, uids } = host.isolation
    kernel.uid = uids?.of(spec.projectId ?? null) ?? null
    const places = { owner: ownerOf(kernel.uid), more: namespaces !== null ? ['tmp'] : [] }
    const record = { version: 1, assignment, bootId: host.bootId, spec, port } as const
    await createKernelDirectory(kernel.path, record, places, host.registry.removals)
  } catch (error) {
    return host.registry.fail(
      kernel,
      'executor-failed',
      `the kernel's directory could not be prepared: ${messageOf(error)}`,
    )
  }
  // A stop or a removal may have happened meanwhile.
  if (kernel.phase !== 'PREPARING' || host.registry.closed) return
  const image = pullImage(host.presets, spec.image, host.path)
  if (typeof image === 'string') return host.registry.fail(kernel, 'image-pull-failed', image)
  kernel.image = image
  const owner = ownerOf(kernel.uid)
  if ((await pullCode(host, kernel, owner)) && (await pullCheckpoint(host, kernel, owner)))
    await host.registry.prepared(kernel)
}
