import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { v7 as uuidv7 } from 'uuid'
import type { ExecutorOffer } from '../../../src/agent/executors/executor.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type OwnSlurmCluster, startOwnSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { find, kernelSpec, readAll, reaches } from './executor-subject.ts'
import { createSlurmFixture } from './slurm-fixture.ts'

const missing = whyNoSlurmCluster()

describe.skipIf(missing !== null)(`what Slurm has${missing === null ? '' : `: ${missing}`}`, () => {
  let cluster: OwnSlurmCluster

  beforeAll(async () => {
    cluster = await startOwnSlurmCluster(await temporaryDirectory('slurm'), { gpusPerNode: 2 })
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  test('is offered anew when a node goes, and when it comes back', async () => {
    const fixture = await createSlurmFixture(cluster, { capacityMs: 500 })
    const offers: ExecutorOffer[] = []
    const executor = fixture.create({ changed: () => undefined, offers: (offer) => void offers.push(offer) })
    await executor.recover()
    const cpus = () => offers.at(-1)?.slots['cpu']
    const node = cluster.nodes[0]!.name
    try {
      expect(cpus()).toBe('32')
      await cluster.run('scontrol', 'update', `NodeName=${node}`, 'State=DRAIN', 'Reason=test')
      await eventually(() => cpus() === '16').catch(async (error: unknown) => {
        throw new Error(await cluster.run('sinfo', '-N', '--Format=NodeList:|,StateLong:|,CPUsState:|'), {
          cause: error,
        })
      })
      await cluster.run('scontrol', 'update', `NodeName=${node}`, 'State=RESUME')
      await eventually(() => cpus() === '32')
      expect(offers).toHaveLength(3)
    } finally {
      await executor.close()
      await fixture.dispose()
    }
  })

  test('includes GPUs, of which a job sees those that it asked for', async () => {
    const fixture = await createSlurmFixture(cluster, { gres: { 'cuda.device': 'gpu' } })
    const offers: ExecutorOffer[] = []
    const executor = fixture.create({ changed: () => undefined, offers: (offer) => void offers.push(offer) })
    await executor.recover()
    const print = ['sh', '-c', 'echo "$CUDA_VISIBLE_DEVICES"; sleep 1']
    const run = (amount: string, more: Partial<KernelSpec> = {}) => {
      const spec = kernelSpec({ command: print, resourceSlots: { cpu: '1', 'cuda.device': amount }, ...more })
      executor.start(spec, 1)
      return spec.kernelId
    }
    const seen = async (kernelId: string) => {
      await reaches(executor, kernelId, 'EXITED')
      return (await readAll(executor, kernelId, 'STDOUT')).text.trim()
    }
    try {
      expect(offers.at(-1)).toMatchObject({ slots: { 'cuda.device': '4' }, slotsPerKernelMax: { 'cuda.device': '2' } })
      expect(await seen(run('2'))).toBe('0,1')
      expect(await seen(run('1'))).toBe('0')
      expect(await seen(run('0'))).not.toMatch(/\d/)
      const sessionId = uuidv7()
      const gang = { size: 2, singleNode: true }
      const [first, second] = [run('1', { sessionId, gang }), run('1', { sessionId, gang, role: 'sub' })]
      const jobs = await Promise.all([first, second].map(seen))
      const hosts = [first, second].map((kernelId) => find(executor, kernelId)?.host)
      expect(new Set(hosts).size).toBe(1)
      for (const devices of jobs) expect(devices).toMatch(/^\d$/)
      const refused = await reaches(executor, run('3'), 'FAILED')
      expect(refused.error).toMatchObject({ name: 'submit-refused' })
    } finally {
      for (const { kernelId, assignment } of executor.observe()) executor.forget(kernelId, assignment)
      await eventually(() => executor.observe().length === 0)
      await executor.close()
      await fixture.dispose()
    }
  })
})
