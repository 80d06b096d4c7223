import { describe, test } from 'vitest'
import { whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { expectPublishedToOutlive } from './expect-relay.ts'
import { type AgentName, SLURM_AGENTS, startSlurmFleet } from './slurm-agents.ts'

/** What an attempt has published, once its agent is lost. Both tests wait for a fence. */

const SLOWLY_MS = 180_000
const LONG = { timeout: 3 * SLOWLY_MS }
const missing = whyNoSlurmCluster()

async function expectToOutlive(from: AgentName, to: AgentName, fenceMs: number): Promise<void> {
  await using agents = await startSlurmFleet([from, to])
  await expectPublishedToOutlive({
    fleet: agents.fleet,
    from,
    to,
    start: () => agents.startAgent(from),
    fenceMs,
    chains: agents.chainsOf(from),
    withinMs: SLOWLY_MS,
  })
}

describe
  .skipIf(missing !== null)
  .concurrent(`the agent of a job or a process is lost${missing === null ? '' : `: ${missing}`}`, LONG, () => {
    test('what a job has published outlives its agent: one of another cluster goes on', async () => {
      // Little more than the shortest with which jobs are started.
      await expectToOutlive(SLURM_AGENTS[1] ?? 'plain', SLURM_AGENTS[2] ?? 'process', 40_000)
    })

    test('a job goes on with what a process has published whose agent is lost', async () => {
      await expectToOutlive('process', 'plain', 10_000)
    })
  })
