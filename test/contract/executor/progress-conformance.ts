import { expect } from 'vitest'
import type { Executor } from '../../../src/agent/executors/executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { find, kernelSpec, reaches, readAll } from './executor-subject.ts'

/** Whether an executor reports what programs tell about their progress, and stops one that makes none. */
export async function expectProgress(executor: Executor, shell: (script: string) => string[]): Promise<void> {
  const start = (command: string[], more: Partial<KernelSpec> = {}) => {
    const spec = kernelSpec({ command, ...more })
    executor.start(spec, 1)
    return spec.kernelId
  }
  const tell = `printf 'step 1\\rstep 2\\033[K of 9\\r\\n' >"$REPRISE_PROGRESS_FILE"`
  const limits = { progressTimeoutMs: 4_000, stopGraceMs: 1_000 }
  const onHang = ['sh', '-c', 'echo "dumped $REPRISE_KERNEL_ID"; echo why >&2; sleep 0.5; echo late; exit 5']
  const hung = start(shell(`${tell}; echo said; exec sleep 1000`), { ...limits, onHang })
  const quick = start(shell(`${tell}; exit 3`))
  const told = await eventually(() => find(executor, hung)?.progressLine)
  expect(told).toBe('step 2 [K of 9')
  expect(await reaches(executor, quick, 'EXITED')).toMatchObject({ exitCode: 3, progressLine: told })
  const message = 'no-progress: 4 s without output'
  const ended = await reaches(executor, hung, 'EXITED')
  expect(ended).toMatchObject({ error: { name: 'no-progress', message }, stopped: false, progressLine: told })
  const { text } = await readAll(executor, hung, 'STDERR')
  if (/onHang was not run: (this agent cannot run commands|an agent that is not root)/.test(text)) return
  for (const each of [`dumped ${hung}\n`, 'why\n', 'late\n', 'onHang ended with 5']) expect(text).toContain(each)
}
