import { messageOf } from '../../../observability/error-message.ts'
import { choosePort } from './choose-port.ts'
import { failKernel } from './end-kernel.ts'
import { pullImage } from './image-preset.ts'
import { createKernelDirectory } from '../kernel-directory/kernel-directory.ts'
import { launchKernel } from './launch-kernel.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'

export async function prepareKernel(host: ProcessHost, kernel: ProcessKernel): Promise<void> {
  const { assignment, spec } = kernel
  try {
    if (spec.portVariable) await choosePort(host, kernel)
    const { port } = kernel
    const { namespaces, uids } = host.isolation
    kernel.uid = uids?.of(spec.projectId ?? null) ?? null
    const owner = { uid: kernel.uid, withTmp: namespaces !== null }
    await createKernelDirectory(kernel.path, { version: 1, assignment, bootId: host.bootId, spec, port }, owner)
  } catch (error) {
    return failKernel(
      host,
      kernel,
      'executor-failed',
      `the kernel's directory could not be prepared: ${messageOf(error)}`,
    )
  }
  // A stop or a removal may have happened meanwhile.
  if (kernel.phase !== 'PREPARING' || host.closed) return
  const image = pullImage(host.presets, spec.image, host.path)
  if (typeof image === 'string') return failKernel(host, kernel, 'image-pull-failed', image)
  kernel.image = image
  kernel.phase = 'PREPARED'
  const launched = kernel.startWanted ? launchKernel(host, kernel) : null
  host.changed()
  await launched
}
