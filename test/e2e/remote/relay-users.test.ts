import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endKernelsOf } from './kernel-notes.ts'
import { expectOwnFiles } from './relayed-work.ts'
import { type RemoteFleet, startRemoteFleet } from './remote-fleet.ts'

/** Agents on which projects have user ids of their own, each from another range. */

const RANGES = { one: [2_000_100_000, 2_000_100_999], two: [2_000_200_000, 2_000_200_999] } as const

let fleet: RemoteFleet

beforeAll(async () => {
  fleet = await startRemoteFleet()
  const token = await fleet.token()
  for (const [name, range] of Object.entries(RANGES)) {
    const environment = { REPRISE_ISOLATION: 'user', REPRISE_ISOLATION_UIDS: range.join('-') }
    if (isRoot) await fleet.startAgent({ name, token, environment })
  }
})
afterAll(async () => {
  await endKernelsOf(fleet)
  await fleet[Symbol.asyncDispose]()
})

const isRoot = process.getuid?.() === 0

describe.skipIf(!isRoot)(`user ids${isRoot ? '' : ' (skipped: only root can give them)'}`, () => {
  test('what is fetched belongs to the project on the agent that fetches, which reads, changes and removes it', async () => {
    const { chainId, uids } = await expectOwnFiles(fleet, ['one', 'two', 'one'])
    for (const [index, name] of (['one', 'two', 'one'] as const).entries()) {
      const [first, last] = RANGES[name]
      expect(uids[index]).toBeGreaterThanOrEqual(first)
      expect(uids[index]).toBeLessThanOrEqual(last)
    }
    const directory = join(fleet.agentDir('two'), 'chains', chainId)
    for (const name of ['', 'secret', 'deep', 'deep/secret', 'tool', 'link'])
      expect(lstatSync(join(directory, name))).toMatchObject({ uid: uids[1], gid: uids[1] })
  })
})
