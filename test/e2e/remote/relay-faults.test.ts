import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startPartitionProxy } from '../../support/agents/partition-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { haltAt, killHalted } from '../../support/programs/halted-program.ts'
import type { SpawnedProgram } from '../../support/programs/spawned-program.ts'
import { whyNoMounts } from '../../support/run/mounts.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { beginWork, checkpointDirOf, copiesIn, draftsOf, leftOnRecord, workGoesTo } from './relayed-work.ts'
import { type RemoteFleet, startRemoteFleet, textOf } from './remote-fleet.ts'

/*
 * A server and agents without a common file system: disks are full, and what is on its way stands still. Much of it is
 * waiting, so the groups run beside each other, each in a place of its own.
 */

interface Place {
  fleet: RemoteFleet
  agents: Map<string, SpawnedProgram>
  startAgent(name: string, how?: Partial<Parameters<RemoteFleet['startAgent']>[0]>): Promise<void>
}

const mounts: string[] = []

afterAll(() => {
  for (const path of mounts) execFileSync('umount', ['--lazy', path])
})

/** A server with the agents `one` and `two`, for the tests of the describe block that calls it; empty until they run. */
function usePlace(): Place {
  const place = {} as Place
  beforeAll(async () => {
    const fleet = (place.fleet = await startRemoteFleet())
    const token = await fleet.token()
    const agents = (place.agents = new Map())
    place.startAgent = async (name, how = {}) => {
      await agents.get(name)?.stop()
      agents.set(name, await fleet.startAgent({ name, token, ...how }))
    }
    await Promise.all(['one', 'two'].map((name) => place.startAgent(name)))
  })
  afterEach(() => endKernelsOf(place.fleet))
  afterAll(() => place.fleet?.[Symbol.asyncDispose]())
  return place
}

/** Kernels end with this agent. */
async function retire({ fleet, agents }: Place, name: string): Promise<void> {
  await endKernelsOf(fleet)
  await eventually(async () => (await fleet.sql('SELECT FROM kernels WHERE NOT confirmed_gone')).length === 0)
  await agents.get(name)!.stop()
}

/** A file system with room for one of the large files of the work, and not for both. */
async function smallDisk(): Promise<string> {
  const path = join(await temporaryDirectory('disk'), 'small')
  mkdirSync(path)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=755', 'tmpfs', path])
  mounts.push(path)
  return path
}

/** The agent tells it once the attempt has begun. */
async function noteOf(fleet: RemoteFleet, chainId: string, attempt: number): Promise<string> {
  const found = await eventually(
    async () =>
      (
        await fleet.sql(`SELECT c.note FROM session_checkpoints c JOIN sessions s ON s.id = c.session_id
          WHERE s.chain_id = '${chainId}' AND s.attempt = ${attempt}`)
      )[0],
  )
  return found['note']
}

const texts = async (fleet: RemoteFleet, chainId: string) => (await fleet.chain(chainId)).map(textOf)

const noMounts = whyNoMounts()

describe
  .skipIf(noMounts !== null)
  .concurrent(`a disk that is full${noMounts === null ? '' : ` (skipped: ${noMounts})`}`, () => {
    const place = usePlace()

    test(
      'of the server: no torn copy appears or stays, small ones still travel, and with space all do',
      { concurrent: false },
      async () => {
        const disk = await smallDisk()
        await place.fleet.server.stop()
        await place.fleet.restartServer({ REPRISE_CHECKPOINT_DIR: disk })
        await workGoesTo(place.fleet, 'one')
        const [large, small] = [await beginWork(place.fleet), await beginWork(place.fleet, 1000)]
        for (const { runs } of [large, small]) await eventually(() => runs().includes('1'))
        await small.letGo(1, 'two')
        await eventually(() => small.runs().includes('2'))
        await large.letGo(1, 'two')
        await eventually(() => large.runs().includes('2'))
        expect(copiesIn(disk).expectWhole()).toHaveLength(1)
        expect(place.agents.get('one')!.log.join('\n')).toContain('the disk of REPRISE_BLOB_DIR is full')
        execFileSync('mount', ['-o', 'remount,size=64m', disk])
        await large.letGo(2, 'one')
        await small.letGo(2, 'one')
        for (const { has } of [large, small]) await has('TERMINATED', 3)
        expect(await texts(place.fleet, large.chainId)).toEqual(['none:  \n', 'missing1:  \n', 'fetched2: 2 whole\n'])
        expect(await texts(place.fleet, small.chainId)).toEqual([
          'none:  \n',
          'fetched1: 1 whole\n',
          'fetched2: 2 whole\n',
        ])
        await place.fleet.server.stop()
        await place.fleet.restartServer()
      },
    )

    test(
      'of the fetching agent: its attempt begins without the checkpoint, and says why',
      { concurrent: false },
      async () => {
        const disk = await smallDisk()
        await place.startAgent('small', { environment: { REPRISE_CHAINS_DIR: disk } })
        await workGoesTo(place.fleet, 'one')
        const [large, small] = [await beginWork(place.fleet), await beginWork(place.fleet, 1000)]
        for (const { runs } of [large, small]) await eventually(() => runs().includes('1'))
        await small.letGo(1, 'small')
        await eventually(() => small.runs().includes('2'))
        await large.letGo(1, 'small')
        await eventually(() => large.runs().includes('2'))
        expect(await noteOf(place.fleet, large.chainId, 2)).toMatch(
          /the servers have a copy, but it could not be written: ENOSPC/,
        )
        expect(readdirSync(disk).filter((name) => name.startsWith('.new-'))).toEqual([])
        await eventually(async () => (await texts(place.fleet, large.chainId))[1] === 'missing1:  \n')
        await eventually(async () => (await texts(place.fleet, small.chainId))[1] === 'fetched1: 1 whole\n')
        await retire(place, 'small')
      },
    )
  })

/** Blobs that the server has open, to give them away or to receive them. */
function openAtServer(fleet: RemoteFleet): string[] {
  const directory = `/proc/${fleet.server.pid}/fd`
  return readdirSync(directory).flatMap((fd) => {
    try {
      const path = readlinkSync(join(directory, fd))
      return path.includes('/checkpoints/blobs/') ? [path] : []
    } catch {
      return []
    }
  })
}

/** More than what is on the way between two sockets. */
const MUCH_BYTES = 40_000_000

describe.concurrent('agents that stand still while they send and fetch', () => {
  const place = usePlace()

  test('others go on, and the server keeps nothing of theirs', { concurrent: false, timeout: 400_000 }, async () => {
    const notes = [await temporaryDirectory('notes'), await temporaryDirectory('notes')] as const
    const once = join(notes[0], 'on-record')
    const sending = { call: 'open', of: String.raw`^/proc/self/fd/\d+/b$`, side: 'before', times: 2, once } as const
    const sends = haltAt(notes[0], sending)
    const fetches = haltAt(notes[1], { call: 'open', of: String.raw`/\.new-.*/b$`, side: 'before' })
    await place.fleet.sql('UPDATE resource_groups SET fence_after_ms = 10000')
    await place.startAgent('sends', { environment: sends.environment })
    await place.startAgent('fetches', { environment: fetches.environment })

    await workGoesTo(place.fleet, 'sends')
    const sent = await beginWork(place.fleet)
    await sent.letGo(1, 'one')
    await leftOnRecord(place.fleet, sent.chainId, 1)
    writeFileSync(once, '')
    await sends.reached()
    const fetched = await beginWork(place.fleet, MUCH_BYTES)
    await fetched.letGo(1, 'fetches')
    await fetches.reached()
    // Nothing is open for a part that has not come.
    expect(openAtServer(place.fleet)).toHaveLength(1)

    await workGoesTo(place.fleet, 'one')
    const other = await beginWork(place.fleet)
    await other.letGo(1, 'two')
    await other.letGo(2, 'one')
    await other.has('TERMINATED', 3)
    expect(await texts(place.fleet, other.chainId)).toEqual(['none:  \n', 'fetched1: 1 whole\n', 'fetched2: 2 whole\n'])

    // Neither has what the other attempts need: one was not sent, the other is with the servers.
    await eventually(() => sent.runs().includes('2'), { withinMs: 120_000 })
    await eventually(() => fetched.runs().includes('2') || fetched.runs().includes('3'), { withinMs: 120_000 })
    await eventually(async () => (await texts(place.fleet, sent.chainId))[1] === 'missing1:  \n')
    const settled = () => openAtServer(place.fleet).length === 0
    await eventually(settled, { withinMs: 150_000, what: 'the server has closed what stands still' })
    copiesIn(checkpointDirOf(place.fleet)).expectWhole()

    await killHalted(sends, place.agents.get('sends')!)
    await killHalted(fetches, place.agents.get('fetches')!)
    await endKernelsOf(place.fleet)
    await place.fleet.sql('UPDATE resource_groups SET fence_after_ms = 120000')
    for (const name of ['sends', 'fetches']) await place.startAgent(name)
    for (const name of ['sends', 'fetches']) {
      await retire(place, name)
      await eventually(() => draftsOf(place.fleet, name).length === 0)
    }
  })
})

describe.concurrent.each([
  ['sent', 'far', 'one'],
  ['fetched', 'one', 'far'],
] as const)('the connection over which it is %s stands still', (_, first, second) => {
  const place = usePlace()

  test('and it is done again', { concurrent: false }, async () => {
    await using proxy = await openProxy(place.fleet)
    await place.startAgent('far', { url: proxy.url })
    await workGoesTo(place.fleet, first)
    const work = await beginWork(place.fleet, MUCH_BYTES / 4)
    await eventually(() => work.runs().includes('1'))
    const stuck = proxy.stickAfter(MUCH_BYTES / 8)
    await work.letGo(1, second)
    await stuck
    await eventually(() => work.runs().includes('2'), { withinMs: 150_000 })
    await eventually(async () => (await texts(place.fleet, work.chainId))[1] === 'fetched1: 1 whole\n')
    expect(copiesIn(checkpointDirOf(place.fleet)).partBytes()).toEqual([])
    expect(draftsOf(place.fleet, 'far')).toEqual([])
    await endKernelsOf(place.fleet)
    await place.agents.get('far')!.stop()
  })
})

async function openProxy(fleet: RemoteFleet) {
  const proxy = await startPartitionProxy(fleet.url)
  return Object.assign(proxy, { [Symbol.asyncDispose]: () => proxy.close() })
}
