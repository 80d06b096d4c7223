import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { expectMissing, expectUploadOn } from './expect-relay.ts'
import { expectOwnFiles } from './relayed-work.ts'
import { SLURM_AGENTS, type SlurmFleet, startSlurmFleet } from './slurm-agents.ts'

/** Checkpoints and uploads on their way between processes and jobs of two clusters. */

const SLOWLY_MS = 180_000
const LONG = { timeout: 3 * SLOWLY_MS }
const missing = whyNoSlurmCluster()

describe.skipIf(missing !== null)(`with Slurm${missing === null ? '' : `: ${missing}`}`, LONG, () => {
  let agents: SlurmFleet

  beforeAll(async () => {
    agents = await startSlurmFleet(['process', ...SLURM_AGENTS])
  }, SLOWLY_MS)
  afterAll(() => agents?.[Symbol.asyncDispose]())

  test('goes from processes to jobs, from cluster to cluster and back, and is each time the job’s own', async () => {
    const way = ['process', ...SLURM_AGENTS, 'process', ...SLURM_AGENTS.toReversed()] as const
    const { chainId, uids } = await expectOwnFiles(agents.fleet, way, SLOWLY_MS)
    for (const [index, name] of way.entries()) if (name !== 'process') expect(uids[index]).toBe(agents.uidOn(name))
    for (const path of ['', 'secret', 'deep', 'deep/secret', 'tool', 'link'])
      expect(lstatSync(join(agents.chainsOf(way.at(-1)!), chainId, path)).uid).toBe(uids.at(-1))
  })

  test('what cannot travel is missing there, and what cannot come is missing here', async () => {
    const name = SLURM_AGENTS.at(-1)!
    await expectMissing(agents.fleet, ['process', name], SLOWLY_MS)
    await expectMissing(agents.fleet, [name, 'process'], SLOWLY_MS)
  })

  test('what is uploaded runs in a process, and then in jobs', async () => {
    const way = ['process', ...SLURM_AGENTS] as const
    const uids = await expectUploadOn(agents.fleet, way, SLOWLY_MS)
    for (const [index, name] of way.entries()) if (name !== 'process') expect(uids[index]).toBe(agents.uidOn(name))
  })
})
