import { v7 as uuidv7 } from 'uuid'
import type { KernelSpec, ObservedKernel } from '../../../src/domain/agent/protocol.ts'
import type { Executor, ExecutorHooks } from '../../../src/agent/executors/executor.ts'
import { eventually } from '../../support/eventually.ts'

/** The commands of one executor for things that every executor can do. */
export interface Commands {
  succeed: string[]
  exit(code: number): string[]
  /** Runs until it gets SIGTERM. */
  hang: string[]
  /** Says `ready` once it does not heed SIGTERM any more. */
  stubborn: string[]
  /**
   * Ends at SIGTERM, unlike its children: one in its own process group, one in a session of its own. They say `ready`.
   * At SIGTERM they say `saved` a moment later and end, or with `stubborn` go on. Null where there are no processes.
   */
  family: ((how: 'saves' | 'stubborn') => string[]) | null
  /** One line to STDOUT, then success. */
  print(text: string): string[]
  /** null where nothing limits memory. */
  outOfMemory: { command: string[]; mem: string } | null
  vanish: string[]
  /** Runs a script of the shell; null where nothing is run. */
  shell: ((script: string) => string[]) | null
}

export interface ExecutorFixture {
  commands: Commands
  missingImage: string
  /** The name of the failure; `image-pull-failed` by default. */
  missingImageError?: string
  /** Its kernels run where no port can be reached: one that serves fails. */
  servesNothing?: boolean
  /** Makes a running kernel vanish from outside, if it cannot do so itself. */
  killFromOutside?(kernelId: string): Promise<void>
  /** The name of that failure; `kernel-vanished` by default. */
  vanishedError?: string
  create(hooks: ExecutorHooks): Executor
  dispose(): Promise<void>
}

export function kernelSpec(overrides: Partial<KernelSpec> = {}): KernelSpec {
  return {
    kernelId: uuidv7(),
    sessionId: uuidv7(),
    chainId: uuidv7(),
    attempt: 1,
    role: 'main',
    index: 1,
    image: null,
    command: ['true'],
    environ: [],
    resourceSlots: {},
    portVariable: null,
    ...overrides,
  }
}

export function find(executor: Executor, kernelId: string): ObservedKernel | undefined {
  return executor.observe().find((kernel) => kernel.kernelId === kernelId)
}

export function reaches(executor: Executor, kernelId: string, status: ObservedKernel['status'], withinMs = 120_000) {
  return eventually(
    () => {
      const kernel = find(executor, kernelId)
      return kernel?.status === status && kernel
    },
    { withinMs, what: `kernel ${status}` },
  ).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${JSON.stringify(find(executor, kernelId))}`)
  })
}

export async function readAll(executor: Executor, kernelId: string, stream: 'STDOUT' | 'STDERR', chunk = 65_536) {
  let text = ''
  for (let offset = 0; ;) {
    const read = await executor.readLog(kernelId, stream, offset, chunk)
    text += read.text
    offset += read.bytes
    if (read.end) return { text, bytes: offset }
    if (read.bytes === 0) throw new Error(`stuck at ${offset}`)
  }
}
