import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { FoundCheckpoint } from '../../../domain/agent/checkpoint.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { KernelVariable } from '../../../domain/session/kernel-environment.ts'
import { PROGRESS_FILE, VERDICT_FILE } from '../kernels/exit-verdict.ts'
import { OUTPUT_DIR } from '../kernels/kernel-directory.ts'
import { KERNEL_ID_VARIABLE } from './proc-stat.ts'

/**
 * The meaning of `image` for the process executor: an environment, and an interpreter for commands that are not
 * programs.
 */
export interface ImagePreset {
  environ: Record<string, string>
  /**
   * Prepended to a command whose first word is neither on the PATH nor an executable file, such as `-c` or `train.py`.
   */
  interpreter?: readonly string[]
}

export type ImagePresets = Readonly<Record<string, ImagePreset>>

export const SHIPPED_PRESETS: ImagePresets = {
  sh: { environ: {}, interpreter: ['sh'] },
  bash: { environ: {}, interpreter: ['bash'] },
  node: { environ: { NO_UPDATE_NOTIFIER: '1' }, interpreter: ['node'] },
  python3: { environ: {}, interpreter: ['python3'] },
}

export interface PulledImage {
  environ: Record<string, string>
  interpreter: readonly string[]
}

/** @returns an error message if the image is unknown or its interpreter is not installed */
export function pullImage(presets: ImagePresets, image: string | null, path: string): PulledImage | string {
  if (image === null) return { environ: {}, interpreter: [] }
  const preset = Object.hasOwn(presets, image) ? presets[image] : undefined
  if (preset === undefined) {
    return `there is no image "${image}": this agent runs no containers, and has ${Object.keys(presets).join(', ')}`
  }
  const program = preset.interpreter?.[0]
  if (program !== undefined && findProgram(program, preset.environ['PATH'] ?? path) === null) {
    return `image "${image}" needs ${program}, which is not on this agent's PATH`
  }
  return { environ: preset.environ, interpreter: preset.interpreter ?? [] }
}

export function withInterpreter(image: PulledImage, command: readonly string[], path: string): readonly string[] {
  if (image.interpreter.length === 0 || findProgram(command[0] ?? '', path) !== null) return command
  return [...image.interpreter, ...command]
}

export function findProgram(name: string, path: string): string | null {
  if (name.includes('/')) return isExecutableFile(name) ? name : null
  const candidates = path.split(delimiter).map((directory) => join(directory, name))
  return candidates.find(isExecutableFile) ?? null
}

function isExecutableFile(path: string): boolean {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Only PATH and LANG come from the agent's own environment. The session's variables override all others except those
 * of kernelVariables.
 */
export function kernelEnvironment(
  spec: KernelSpec,
  image: PulledImage,
  places: { work: string; chain: string; path: string },
  kernel: VariableSource,
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
    // Python otherwise buffers its output, so that its log could not be read while it runs.
    ['PYTHONUNBUFFERED', '1'],
  ]
}

/** The data of a kernel that its variables tell; see KernelEntry. */
interface VariableSource {
  port: number | null
  found: FoundCheckpoint | null
  beginsAt: Date | null
}

/**
 * Returns the variables that no session can change: the kernel's id, the chain directory and its checkpoint, its
 * resources and times, the verdict file, the directory of outputs and the port.
 */
export function kernelVariables(
  spec: KernelSpec,
  places: { work: string; chain: string },
  { port, found, beginsAt }: VariableSource,
): [string, string][] {
  return [
    [KERNEL_ID_VARIABLE, spec.kernelId],
    ['REPRISE_CHAIN_DIR' satisfies KernelVariable, places.chain],
    ['REPRISE_CHECKPOINT' satisfies KernelVariable, found?.state.toLowerCase() ?? 'none'],
    ['REPRISE_CHECKPOINT_ATTEMPT' satisfies KernelVariable, String(found?.attempt ?? '')],
    ...resourceVariables(spec),
    ...(beginsAt === null ? [] : timeVariables(spec, beginsAt)),
    ['REPRISE_PROGRESS_FILE' satisfies KernelVariable, join(places.work, PROGRESS_FILE)],
    ['REPRISE_VERDICT_FILE' satisfies KernelVariable, join(places.work, VERDICT_FILE)],
    ['REPRISE_OUTPUT_DIR' satisfies KernelVariable, join(places.work, OUTPUT_DIR)],
    ...(spec.stopGraceMs === undefined ? [] : [stopGrace(spec.stopGraceMs)]),
    ...(spec.portVariable && port !== null ? [[spec.portVariable, String(port)] as [string, string]] : []),
  ]
}

function stopGrace(ms: number): [string, string] {
  return ['REPRISE_STOP_GRACE' satisfies KernelVariable, String(ms / 1000)]
}

function resourceVariables({ resourceSlots }: KernelSpec): [string, string][] {
  const { cpu = '0', mem = '0' } = resourceSlots
  return [
    ['REPRISE_CPUS' satisfies KernelVariable, String(Math.max(1, Math.ceil(Number(cpu))))],
    ['REPRISE_MEMORY_BYTES' satisfies KernelVariable, Number(mem) > 0 ? String(Math.floor(Number(mem))) : ''],
    ['REPRISE_SLOTS' satisfies KernelVariable, JSON.stringify(resourceSlots)],
  ]
}

/**
 * The agent counts the batch timeout from the start of the program, which follows within moments: so the program ends
 * at the deadline or a little later, never before.
 */
function timeVariables({ batchTimeoutMs }: KernelSpec, beginsAt: Date): [string, string][] {
  const deadline = batchTimeoutMs == null ? '' : instant(beginsAt.getTime() + batchTimeoutMs)
  return [
    ['REPRISE_STARTED_AT' satisfies KernelVariable, instant(beginsAt.getTime())],
    ['REPRISE_DEADLINE' satisfies KernelVariable, deadline],
  ]
}

/** Formats a time in whole seconds, rounded down. */
function instant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
