import { lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { jobUsers, USER_NAMES, whyNoJobUsers } from '../../support/slurm/job-users.ts'
import { type SlurmCluster, startSlurmCluster, whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import { expectMissing, expectPublishedToOutlive, expectUploadOn, type Loss } from './expect-relay.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { expectOwnFiles } from './relayed-work.ts'
import { type RemoteFleet, startRemoteFleet } from './remote-fleet.ts'

/**
 * A server, an agent that runs processes, and agents of two clusters: none sees the files of another. On two of them
 * jobs are those of the project's user, who is another on each.
 */

const SLOWLY_MS = 180_000
const LONG = { timeout: 3 * SLOWLY_MS }
const missing = whyNoSlurmCluster()
const AM_ROOT = whyNoJobUsers() === null
const AGENTS = { plain: 0, red: 0, blue: 1 } as const
type Name = 'process' | keyof typeof AGENTS
const SLURM: (keyof typeof AGENTS)[] = AM_ROOT ? ['plain', 'red', 'blue'] : ['plain']

let fleet: RemoteFleet
let token: string
let root: string
const clusters: SlurmCluster[] = []
const agents = new Map<Name, SpawnedProgram>()

beforeAll(async () => {
  if (missing !== null) return
  root = await temporaryDirectory('relay-slurm')
  fleet = await startRemoteFleet()
  token = await fleet.token()
  for (const name of ['a', 'b'].slice(0, AM_ROOT ? 2 : 1)) clusters.push(await startSlurmCluster(join(root, name)))
  for (const name of ['process', ...SLURM] as const) await startAgent(name)
}, SLOWLY_MS)
afterAll(async () => {
  if (fleet !== undefined) await endKernelsOf(fleet)
  await fleet?.[Symbol.asyncDispose]()
  for (const cluster of clusters) await cluster[Symbol.asyncDispose]()
})

const sharedOf = (name: keyof typeof AGENTS) => join(clusters[AGENTS[name]]!.shared, name)

async function startAgent(name: Name): Promise<SpawnedProgram> {
  await agents.get(name)?.stop()
  const agent = await fleet.startAgent({ name, token, environment: environmentOf(name) })
  agents.set(name, agent)
  return agent
}

function environmentOf(name: Name): Record<string, string> {
  if (name === 'process') return { REPRISE_ISOLATION: AM_ROOT ? 'user' : 'none' }
  mkdirSync(sharedOf(name), { recursive: true, mode: 0o711 })
  return {
    REPRISE_EXECUTOR: 'slurm',
    REPRISE_SLURM_DIR: sharedOf(name),
    REPRISE_SLURM_POLL_MS: '500',
    ...(name !== 'plain' && { REPRISE_SLURM_USERS: JSON.stringify({ default: USER_NAMES[name] }) }),
    SLURM_CONF: clusters[AGENTS[name]]!.config,
  }
}

/** An agent of Slurm has all below its own id. */
function chainsOf(name: Name): string {
  if (name === 'process') return join(fleet.agentDir(name), 'chains')
  const [agentId] = readdirSync(sharedOf(name))
  return join(sharedOf(name), agentId!, 'chains')
}

function uidOn(name: keyof typeof AGENTS): number {
  return name === 'plain' ? process.getuid!() : jobUsers()[name]!.uid
}

describe.skipIf(missing !== null)(`with Slurm${missing === null ? '' : `: ${missing}`}`, () => {
  test(
    'goes from processes to jobs, from cluster to cluster and back, and is each time the job’s own',
    LONG,
    async () => {
      const way = ['process', ...SLURM, 'process', ...SLURM.toReversed()] as const
      const { chainId, uids } = await expectOwnFiles(fleet, way, SLOWLY_MS)
      for (const [index, name] of way.entries()) if (name !== 'process') expect(uids[index]).toBe(uidOn(name))
      for (const path of ['', 'secret', 'deep', 'deep/secret', 'tool', 'link'])
        expect(lstatSync(join(chainsOf(way.at(-1)!), chainId, path)).uid).toBe(uids.at(-1))
    },
  )

  const loss = (from: Name, to: Name): Loss => {
    // Little more than the shortest with which jobs are started.
    const fenceMs = 40_000
    return { fleet, from, to, start: () => startAgent(from), fenceMs, chains: chainsOf(from), withinMs: SLOWLY_MS }
  }

  test('what a job has published outlives its agent: one of another cluster goes on', LONG, async () => {
    await expectPublishedToOutlive(loss(SLURM[1] ?? 'plain', SLURM[2] ?? 'process'))
  })

  test('a job goes on with what a process has published whose agent is lost', LONG, async () => {
    await expectPublishedToOutlive(loss('process', 'plain'))
  })

  test('what cannot travel is missing there, and what cannot come is missing here', LONG, async () => {
    const name = SLURM.at(-1)!
    await expectMissing(fleet, ['process', name], SLOWLY_MS)
    await expectMissing(fleet, [name, 'process'], SLOWLY_MS)
  })

  test('what is uploaded runs in a process, and then in jobs', LONG, async () => {
    const way = ['process', ...SLURM] as const
    const uids = await expectUploadOn(fleet, way, SLOWLY_MS)
    for (const [index, name] of way.entries()) if (name !== 'process') expect(uids[index]).toBe(uidOn(name))
  })
})
