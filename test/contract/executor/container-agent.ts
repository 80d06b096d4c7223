import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ContainerOptions } from '../../../src/agent/executors/container/container-kernel.ts'
import type { KernelSpec, ObservedStatus } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import type { ContainerFixture } from './container-fixture.ts'

const HOLDER = join(import.meta.dirname, 'container-holder.ts')
/** Processes are started, beside whatever else this machine does. */
export const SLOWLY_MS = 90_000

/** Another process with an executor, which prepares these kernels. */
export interface HeldAgent {
  /** All of them. */
  start(): void
  stop(kernelId: string, graceMs: number): void
  forget(kernelId: string): void
  /** All of it, with its log. */
  said(): string
  /** It has said so. */
  reaches(kernelId: string, status: ObservedStatus): Promise<unknown>
  kill(): Promise<void>
}

export function holdAgent(
  { agentDir, agentId, description }: Pick<ContainerFixture, 'agentDir' | 'agentId' | 'description'>,
  socket: string,
  specs: readonly KernelSpec[],
  overrides: Partial<ContainerOptions> = {},
): HeldAgent {
  const input = { agentDir, agentId, description, socket, specs, overrides }
  const words = [HOLDER, Buffer.from(JSON.stringify(input)).toString('base64')]
  const child = spawn(process.execPath, words, { stdio: 'pipe' })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  return {
    start: () => void child.stdin.write('start\n'),
    stop: (kernelId, graceMs) => void child.stdin.write(`stop ${kernelId} ${graceMs}\n`),
    forget: (kernelId) => void child.stdin.write(`forget ${kernelId}\n`),
    said: () => said,
    reaches: (kernelId, status) =>
      eventually(() => said.includes(`${kernelId} ${status}\n`), {
        withinMs: SLOWLY_MS,
        what: `the other agent's kernel ${status}`,
      }).catch((error: Error) => {
        throw new Error(`${error.message}; it has said ${said.slice(-2_000)}`)
      }),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
