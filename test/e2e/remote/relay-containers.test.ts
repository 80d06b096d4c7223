import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import {
  BASE_IMAGE,
  ENGINES,
  type EngineName,
  type PrivateEngine,
  startEngine,
  whyNoEngine,
} from '../../support/containers/private-engine.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { expectMissing, expectPublishedToOutlive, expectUploadOn, type Loss } from './expect-relay.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { expectOwnFiles } from './relayed-work.ts'
import { type RemoteFleet, startRemoteFleet } from './remote-fleet.ts'

/** A server, an agent that runs processes and one for each engine: none sees the files of another. */

const SLOWLY_MS = 120_000
const LONG = { timeout: 3 * SLOWLY_MS }
const AM_ROOT = process.getuid?.() === 0
/** With root's engine each project has a user id of its own, on each agent from another range. */
const FIRST_UIDS = { process: 2_000_100_000, docker: 2_000_200_000, podman: 2_000_300_000 } as const
type Name = keyof typeof FIRST_UIDS
const present = ENGINES.filter((name) => whyNoEngine(name) === null)

let fleet: RemoteFleet
let token: string
const engines = new Map<EngineName, PrivateEngine>()
const agents = new Map<Name, SpawnedProgram>()

beforeAll(async () => {
  if (present.length === 0) return
  fleet = await startRemoteFleet()
  token = await fleet.token()
  for (const name of present) engines.set(name, await startEngine(name, { ofRun: inject('runDirectory') }))
  for (const name of ['process', ...present] as const) await startAgent(name)
}, SLOWLY_MS)
afterAll(async () => {
  if (fleet !== undefined) await endKernelsOf(fleet)
  await fleet?.[Symbol.asyncDispose]()
  for (const engine of engines.values()) await engine[Symbol.asyncDispose]()
})

async function startAgent(name: Name): Promise<SpawnedProgram> {
  await agents.get(name)?.stop()
  const uids = `${FIRST_UIDS[name]}-${FIRST_UIDS[name] + 999}`
  const processes = AM_ROOT ? { REPRISE_ISOLATION: 'user', REPRISE_ISOLATION_UIDS: uids } : undefined
  const containers = {
    REPRISE_EXECUTOR: 'container',
    REPRISE_CONTAINER_ENGINE: engines.get(name as EngineName)?.url ?? '',
    // So that a session without an image runs here as well as there.
    REPRISE_CONTAINER_IMAGE: BASE_IMAGE,
    REPRISE_CONTAINER_NETWORK: 'host',
    REPRISE_CONTAINER_PULL: 'never',
    REPRISE_CONTAINER_UIDS: uids,
  }
  const environment = name === 'process' ? processes : containers
  const agent = await fleet.startAgent({ name, token, ...(environment && { environment }) })
  agents.set(name, agent)
  return agent
}

function expectOwner(name: Name, uid: number): void {
  if (!AM_ROOT) return
  expect(uid).toBeGreaterThanOrEqual(FIRST_UIDS[name])
  expect(uid).toBeLessThan(FIRST_UIDS[name] + 1000)
}

test.skipIf(present.length === 0)(
  'goes from processes to containers, from engine to engine and back, and is each time the project’s own',
  LONG,
  async () => {
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

describe.each(ENGINES)('containers of %s', (name: EngineName) => {
  const missing = whyNoEngine(name)
  const loss = (from: Name, to: Name): Loss => {
    const chains = join(fleet.agentDir(from), 'chains')
    return { fleet, from, to, start: () => startAgent(from), fenceMs: 6_000, chains, withinMs: SLOWLY_MS }
  }

  test.skipIf(missing !== null)('what one has published outlives its agent: a process goes on', LONG, async () => {
    await expectPublishedToOutlive(loss(name, 'process'))
  })

  test.skipIf(missing !== null)('one goes on with what a process has published whose agent is lost', LONG, async () => {
    await expectPublishedToOutlive(loss('process', name))
  })

  test.skipIf(missing !== null)(
    'what cannot travel is missing there, and what cannot come is missing here',
    LONG,
    async () => {
      await expectMissing(fleet, ['process', name], SLOWLY_MS)
      await expectMissing(fleet, [name, 'process'], SLOWLY_MS)
    },
  )

  test.skipIf(missing !== null)('what is uploaded runs in a process, and then in a container', LONG, async () => {
    const way = ['process', name, 'process'] as const
    const uids = await expectUploadOn(fleet, way, SLOWLY_MS)
    for (const [index, on] of way.entries()) expectOwner(on, uids[index]!)
  })
})
