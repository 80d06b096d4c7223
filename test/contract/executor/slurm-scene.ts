import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KernelSpec, ObservedKernel } from '../../../src/domain/agent/protocol.ts'
import type { Executor, ExecutorHooks } from '../../../src/agent/executors/executor.ts'
import type { SlurmOptions } from '../../../src/agent/executors/slurm/slurm-host.ts'
import { eventually } from '../../support/eventually.ts'
import type { SlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { kernelSpec, reaches } from './executor-subject.ts'
import { createSlurmFixture, type SlurmFixture } from './slurm-fixture.ts'

/** A busy machine takes its time to start a job. */
export const SLOWLY_MS = 120_000

type Kernel = Pick<KernelSpec, 'kernelId'>

/** The Slurm agent of one test: a directory and an executor. All its kernels are ended with the test. */
export interface SlurmScene extends AsyncDisposable {
  readonly fixture: SlurmFixture
  /** The present instance. */
  readonly executor: Executor
  /** Opens the agent's next executor, behind the end of the present one. */
  reopen(more?: Partial<SlurmOptions>): Promise<void>
  /** Starts a kernel that runs this script of sh. */
  start(script: string, more?: Partial<KernelSpec>): KernelSpec
  reaches(kernel: Kernel, status: ObservedKernel['status']): Promise<ObservedKernel>
  file(kernel: Kernel, ...names: string[]): string
  /** Lines that the kernel's program has added to its file `witness`: one each time it begins. */
  begunTimes(kernel: Kernel): number
  /** Resolves once the program has begun. */
  hasBegun(kernel: Kernel): Promise<void>
  /** Creates the file `gate` that the kernel's program waits for. */
  openGate(kernel: Kernel): void
}

/** Adds a line to `witness`, and ends with this code once `openGate` was called. */
export const gated = (exitCode: number) =>
  `echo begun >>witness; while [ ! -e gate ]; do sleep 0.1; done; exit ${exitCode}`

interface SceneOptions extends Partial<SlurmOptions> {
  hooks?: Partial<ExecutorHooks>
  /** False: another process is the agent until `reopen` is called. */
  isOpen?: boolean
}

export async function openSlurm(
  cluster: SlurmCluster,
  { hooks = {}, isOpen = true, ...options }: SceneOptions = {},
): Promise<SlurmScene> {
  const fixture = await createSlurmFixture(cluster, options)
  const allHooks = { changed: () => undefined, ...hooks }
  let current: Executor | null = null

  async function open(more: Partial<SlurmOptions> = {}): Promise<Executor> {
    await current?.close()
    current = fixture.create(allHooks, more)
    await current.recover()
    return current
  }
  const executorNow = () => {
    if (current === null) throw new Error('the executor is not open yet')
    return current
  }
  const scene: SlurmScene = {
    fixture,
    get executor() {
      return executorNow()
    },
    reopen: async (more) => void (await open(more)),
    start(script, more = {}) {
      const spec = kernelSpec({ command: ['sh', '-c', script], ...more })
      executorNow().start(spec, 1)
      return spec
    },
    reaches: ({ kernelId }, status) => reaches(executorNow(), kernelId, status, SLOWLY_MS),
    file: ({ kernelId }, ...names) => join(fixture.kernel(kernelId), ...names),
    begunTimes(kernel) {
      const path = scene.file(kernel, 'work', 'witness')
      return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
    },
    async hasBegun(kernel) {
      await eventually(() => scene.begunTimes(kernel) > 0, { withinMs: SLOWLY_MS, what: 'the program begins' })
    },
    openGate: (kernel) => writeFileSync(scene.file(kernel, 'work', 'gate'), ''),
    async [Symbol.asyncDispose]() {
      const executor = current ?? (await open())
      for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
      await eventually(() => executor.observe().length === 0, { withinMs: SLOWLY_MS, what: 'all kernels end' })
      await executor.close()
      await fixture.dispose()
    },
  }
  if (isOpen) await open()
  return scene
}
