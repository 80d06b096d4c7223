import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { findProgram, pullImage, withInterpreter } from './image-preset.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'

/** Whether a shell ends with this status if it cannot run a command. Programs may end with it as well. */
export function isNotRun(exitCode: number | null): boolean {
  return exitCode === 126 || exitCode === 127
}

/** Why the kernel's program could not be run, in words; null if it is there. */
export function missingProgram(
  { presets, path: agentPath }: Pick<ProcessHost, 'path' | 'presets'>,
  { spec, path: directory }: Pick<ProcessKernel, 'spec' | 'path'>,
): string | null {
  const image = pullImage(presets, spec.image, agentPath)
  if (typeof image === 'string') return null
  const path = spec.environ.findLast(({ name }) => name === 'PATH')?.value ?? image.environ['PATH'] ?? agentPath
  const [program] = withInterpreter(image, spec.command, path)
  if (program === undefined) return null
  if (!program.includes('/')) {
    return findProgram(program, path) === null ? `command not found: ${program} is not on the agent’s PATH` : null
  }
  const file = isAbsolute(program) ? program : join(directory, 'work', program)
  if (findProgram(file, path) !== null) return null
  return existsSync(file) ? `${program} is no program: it is not executable` : notThere(program)
}

function notThere(program: string): string {
  const where = isAbsolute(program) ? 'on the agent’s machine' : 'in the directory of its own in which it runs'
  return `command not found: there is no ${program} ${where}`
}
