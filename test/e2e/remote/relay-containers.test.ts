import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeEnginesConcurrently } from '../../support/containers/describe-engines.ts'
import { BASE_IMAGE, ENGINES, whyNoEngine } from '../../support/containers/engines.ts'
import { sharedEngine } from '../../support/containers/shared-engine.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { expectMissing, expectPublishedToOutlive, expectUploadOn, type Loss } from './expect-relay.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { expectOwnFiles } from './relayed-work.ts'
import { PATIENT_LEASE, type RemoteFleet, SHORT_LEASE, startRemoteFleet } from './remote-fleet.ts'

/** A server, an agent that runs processes and agents with engines: none sees the files of another. */

const SLOWLY_MS = 120_000
const LONG = { timeout: 3 * SLOWLY_MS }
const AM_ROOT = process.getuid?.() === 0
/** With root's engine each project has a user id of its own, on each agent from another range. */
const FIRST_UIDS = { process: 2_000_100_000, docker: 2_000_200_000, podman: 2_000_300_000 } as const
const UIDS_PER_AGENT = 1_000
type Name = keyof typeof FIRST_UIDS
const present = ENGINES.filter((name) => whyNoEngine(name) === null)

let fleets = 0

interface Ground extends AsyncDisposable {
  fleet: RemoteFleet
  /** Starts it again if it runs. */
  startAgent(name: Name): Promise<SpawnedProgram>
  expectOwner(name: Name, uid: number): void
}

/** Each test has a fleet of its own, in which it says where work goes. */
async function openGround(names: readonly Name[], lease = PATIENT_LEASE): Promise<Ground> {
  const uidsBefore = UIDS_PER_AGENT * fleets++
  const fleet = await startRemoteFleet({ lease })
  const token = await fleet.token()
  const agents = new Map<Name, SpawnedProgram>()

  async function environmentOf(name: Name): Promise<Record<string, string>> {
    const first = FIRST_UIDS[name] + uidsBefore
    const uids = `${first}-${first + UIDS_PER_AGENT - 1}`
    if (name === 'process') return AM_ROOT ? { REPRISE_ISOLATION: 'user', REPRISE_ISOLATION_UIDS: uids } : {}
    return {
      REPRISE_EXECUTOR: 'container',
      REPRISE_CONTAINER_ENGINE: (await sharedEngine(name)).url,
      // So that a session without an image runs here as well as there.
      REPRISE_CONTAINER_IMAGE: BASE_IMAGE,
      REPRISE_CONTAINER_NETWORK: 'host',
      REPRISE_CONTAINER_PULL: 'never',
      REPRISE_CONTAINER_UIDS: uids,
    }
  }

  const ground: Ground = {
    fleet,
    async startAgent(name) {
      await agents.get(name)?.stop()
      const agent = await fleet.startAgent({ name, token, environment: await environmentOf(name) })
      agents.set(name, agent)
      return agent
    },
    expectOwner(name, uid) {
      if (!AM_ROOT) return
      const first = FIRST_UIDS[name] + uidsBefore
      expect(uid).toBeGreaterThanOrEqual(first)
      expect(uid).toBeLessThan(first + UIDS_PER_AGENT)
    },
    async [Symbol.asyncDispose]() {
      await endKernelsOf(fleet)
      await fleet[Symbol.asyncDispose]()
    },
  }
  await Promise.all(names.map(ground.startAgent))
  return ground
}

test
  .skipIf(present.length === 0)
  .concurrent(
    'goes from processes to containers, from engine to engine and back, and is each time the project’s own',
    LONG,
    async () => {
      await using ground = await openGround(['process', ...present])
      const { fleet, expectOwner } = ground
      const way: Name[] = ['process', ...present, 'process', ...present]
      const { chainId, uids } = await expectOwnFiles(fleet, way, SLOWLY_MS)
      for (const [index, name] of way.entries()) expectOwner(name, uids[index]!)
      const last = way.at(-1)!
      for (const path of ['', 'secret', 'deep', 'deep/secret', 'tool', 'link'])
        expect(lstatSync(join(fleet.agentDir(last), 'chains', chainId, path))).toMatchObject(
          AM_ROOT ? { uid: uids.at(-1), gid: uids.at(-1) } : {},
        )
    },
  )

describeEnginesConcurrently('containers of %s', (name) => {
  const missing = whyNoEngine(name)
  const loss = ({ fleet, startAgent }: Ground, from: Name, to: Name): Loss => {
    const chains = join(fleet.agentDir(from), 'chains')
    return { fleet, from, to, start: () => startAgent(from), fenceMs: 6_000, chains, withinMs: SLOWLY_MS }
  }

  test.skipIf(missing !== null)(
    'a publication of a container outlives its agent: a process goes on from it',
    LONG,
    async () => {
      await using ground = await openGround(['process', name], SHORT_LEASE)
      await expectPublishedToOutlive(loss(ground, name, 'process'))
    },
  )

  test.skipIf(missing !== null)(
    'a container goes on from the publication of a process whose agent is lost',
    LONG,
    async () => {
      await using ground = await openGround(['process', name], SHORT_LEASE)
      await expectPublishedToOutlive(loss(ground, 'process', name))
    },
  )

  test.skipIf(missing !== null)('checkpoints that cannot be sent or fetched are missing', LONG, async () => {
    await using ground = await openGround(['process', name])
    await expectMissing(ground.fleet, ['process', name], SLOWLY_MS)
    await expectMissing(ground.fleet, [name, 'process'], SLOWLY_MS)
  })

  test.skipIf(missing !== null)('uploaded code runs in a process, and then in a container', LONG, async () => {
    await using ground = await openGround(['process', name])
    const way = ['process', name, 'process'] as const
    const uids = await expectUploadOn(ground.fleet, way, SLOWLY_MS)
    for (const [index, on] of way.entries()) ground.expectOwner(on, uids[index]!)
  })
})
