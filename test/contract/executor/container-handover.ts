import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import { parseStatus } from '../../../src/agent/executors/kernels/shim-status.ts'
import type { ProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import type { KernelSpec, ObservedKernel } from '../../../src/domain/agent/protocol.ts'
import type { ContainerEngine } from '../../support/containers/engines.ts'
import { eventually } from '../../support/eventually.ts'
import { type HeldAgent, holdAgent, SLOWLY_MS } from './container-agent.ts'
import { type ContainerFixture, createContainerFixture } from './container-fixture.ts'
import { kernelSpec, reaches } from './executor-subject.ts'

/** An agent in a process, and the one that takes over when it has been killed. */
export interface Handover extends AsyncDisposable {
  readonly fixture: ContainerFixture
  /** The agent in this process, which has not looked at its kernels yet. */
  readonly executor: Executor
  /** In this process. */
  start(script: string): KernelSpec
  /** Another agent starts these. */
  hold(specs: readonly KernelSpec[], socket?: string): HeldAgent
  /** Another agent runs it until it is killed. */
  holdRunning(script: string, more?: Partial<KernelSpec>): Promise<{ spec: KernelSpec; holder: HeldAgent }>
  /** Kills the other agent. The next one knows of it what it has written down. */
  takeOver(): Promise<void>
  file(spec: KernelSpec, ...path: string[]): string
  ends(spec: KernelSpec): Promise<ObservedKernel>
  /** The first process of its container, as its agent has written it down. */
  firstOf(spec: KernelSpec): ProcStat | null
}

export async function openHandover(engine: ContainerEngine): Promise<Handover> {
  const fixture = await createContainerFixture(engine, { pull: 'never' })
  const create = () => fixture.create({ changed: () => undefined })
  let executor = create()
  let holder: HeldAgent | null = null

  const handover: Handover = {
    fixture,
    get executor() {
      return executor
    },
    start(script) {
      const spec = kernelSpec({ command: ['sh', '-c', script] })
      executor.start(spec, 1)
      return spec
    },
    hold(specs, socket = engine.socket) {
      holder = holdAgent(fixture, socket, specs)
      holder.start()
      return holder
    },
    async holdRunning(script, more = {}) {
      const spec = kernelSpec({ command: ['sh', '-c', script], ...more })
      const held = handover.hold([spec])
      await held.reaches(spec.kernelId, 'RUNNING')
      await eventually(() => handover.firstOf(spec), { withinMs: SLOWLY_MS })
      return { spec, holder: held }
    },
    async takeOver() {
      await holder!.kill()
      await executor.close()
      executor = create()
      await executor.recover()
    },
    file: ({ kernelId }, ...path) => join(fixture.kernel(kernelId), ...path),
    ends: ({ kernelId }) => reaches(executor, kernelId, 'EXITED', SLOWLY_MS),
    firstOf(spec) {
      const status = handover.file(spec, 'status')
      return existsSync(status) ? parseStatus(readFileSync(status, 'utf8')).shim : null
    },
    async [Symbol.asyncDispose]() {
      await holder?.kill()
      for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
      await eventually(() => executor.observe().length === 0, { withinMs: SLOWLY_MS })
      await executor.close()
      await fixture.dispose()
    },
  }
  return handover
}
