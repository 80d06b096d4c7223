import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ExecutorOffer } from '../../../src/agent/executors/executor.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type SlurmCluster, startSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { createSlurmFixture } from './slurm-fixture.ts'

const missing = whyNoSlurmCluster()

describe.skipIf(missing !== null)(`what Slurm has${missing === null ? '' : `: ${missing}`}`, () => {
  let cluster: SlurmCluster
  const before = process.env['SLURM_CONF']

  beforeAll(async () => {
    cluster = await startSlurmCluster(await temporaryDirectory('slurm'))
    process.env['SLURM_CONF'] = cluster.config
  })
  afterAll(async () => {
    if (before === undefined) delete process.env['SLURM_CONF']
    else process.env['SLURM_CONF'] = before
    await cluster[Symbol.asyncDispose]()
  })

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
})
