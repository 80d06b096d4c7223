import { accessSync, constants } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProcessExecutor } from '../../../src/agent/executors/process/process-executor.ts'
import { openGpus } from '../../../src/agent/gpus/gpu-watch.ts'
import { nvidiaDriver } from '../../../src/agent/gpus/nvidia.ts'
import { fakeTools } from '../../support/agents/fake-gpu-tools.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { kernelSpec, reaches, readAll } from './executor-subject.ts'
import { isolationOf } from './isolation-of.ts'
import { testLog } from './process-fixture.ts'
import { arrangements } from './process-isolations.ts'

/**
 * The device nodes that a kernel with namespaces finds. A fake tree stands for those of GPUs; it lies in the machine's
 * `/dev`, because a kernel's own `/dev` is made of nothing else.
 */

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

const closed = arrangements.filter(({ arrangement, fault }) => arrangement.startsWith('namespaces') && fault === null)

describe.skipIf(!isWritable('/dev'))('device nodes of GPUs', () => {
  let tree: string

  beforeAll(async () => {
    tree = await mkdtemp('/dev/reprise-test-')
    for (const name of ['nvidiactl', 'nvidia-uvm', 'nvidia0', 'nvidia1', 'nvidia2', 'nvidia3'])
      await writeFile(join(tree, name), `${name}\n`)
    await chmod(tree, 0o755)
  })
  afterAll(() => rm(tree, { recursive: true, force: true }))

  test.each(closed)('isolated by $arrangement: its own and the shared ones, and no others', async ({ arrangement }) => {
    const tools = await fakeTools(await temporaryDirectory('fake-gpus'))
    await tools.set({ gpus: ['a', 'b', 'c', 'd'].map((name) => ({ uuid: `GPU-${name}` })) })
    const agentDir = await temporaryDirectory('gpu-nodes')
    const drivers = [nvidiaDriver(tools.nvidiaSmi, tree)]
    const gpus = await openGpus({ drivers, only: null, agentDir, log: testLog })
    const isolation = await isolationOf(arrangement, agentDir)
    const executor = createProcessExecutor({ agentDir, log: testLog, gpus, isolation }, { changed: () => undefined })
    await executor.recover()
    try {
      const command = ['sh', '-c', `cat ${tree}/* 2>/dev/null; echo end`]
      const find = async (count: number) => {
        const spec = kernelSpec({ command, resourceSlots: count === 0 ? {} : { 'cuda.device': String(count) } })
        executor.start(spec, 1)
        await reaches(executor, spec.kernelId, 'EXITED')
        return (await readAll(executor, spec.kernelId, 'STDOUT')).text.trim().split('\n')
      }
      expect(await find(2)).toEqual(['nvidia-uvm', 'nvidia0', 'nvidia1', 'nvidiactl', 'end'])
      expect(await find(0)).toEqual(['end'])
    } finally {
      await executor.close()
    }
  })
})
