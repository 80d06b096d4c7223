import type { FoundCheckpoint } from '../../../domain/agent/checkpoint.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { KernelVariable } from '../../../domain/session/kernel-environment.ts'
import type { PulledImage } from './image-preset.ts'

/** By it, processes are known that left the kernel's session. */
export const KERNEL_ID_VARIABLE = 'REPRISE_KERNEL_ID' satisfies KernelVariable

/**
 * Only PATH and LANG come from the agent's own environment. The session's variables override all others except those
 * of kernelVariables.
 */
export function kernelEnvironment(
  spec: KernelSpec,
  image: PulledImage,
  places: { work: string; chain: string; verdict: string; path: string },
  kernel: { port: number | null; found: FoundCheckpoint | null },
): Map<string, string> {
  return new Map([
    ['PATH', places.path],
    ['LANG', process.env['LANG'] ?? 'C.UTF-8'],
    ...homeVariables(places.work),
    ...Object.entries(image.environ),
    ...spec.environ.map(({ name, value }): [string, string] => [name, value]),
    ...kernelVariables(spec, places, kernel),
  ])
}

export function homeVariables(work: string): [string, string][] {
  return [
    ['HOME', work],
    ['TMPDIR', work],
    // So that the log of a Python program can be read while it runs.
    ['PYTHONUNBUFFERED', '1'],
  ]
}

/** The kernel's id, the chain directory and what is in it, the verdict file and the port: no session changes them. */
export function kernelVariables(
  spec: KernelSpec,
  places: { chain: string; verdict: string },
  { port, found }: { port: number | null; found: FoundCheckpoint | null },
): [string, string][] {
  return [
    [KERNEL_ID_VARIABLE, spec.kernelId],
    ['REPRISE_CHAIN_DIR' satisfies KernelVariable, places.chain],
    ['REPRISE_CHECKPOINT' satisfies KernelVariable, found?.state.toLowerCase() ?? 'none'],
    ['REPRISE_CHECKPOINT_ATTEMPT' satisfies KernelVariable, String(found?.attempt ?? '')],
    ['REPRISE_VERDICT_FILE' satisfies KernelVariable, places.verdict],
    ...(spec.portVariable && port !== null ? [[spec.portVariable, String(port)] as [string, string]] : []),
  ]
}
