import { expect, it } from 'vitest'
import { createSyncTurns } from '../../../src/gateway/sync-turns.ts'
import type { SyncRequest } from '../../../src/domain/agent/protocol.ts'

const sync = (agentId: string, sequence = 1, instanceId = 'i'): SyncRequest => ({
  agentId,
  instanceId,
  sequence,
  observed: [],
  logs: [],
  waitMs: 0,
})

it('keeps no place for every agent that was ever named', async () => {
  const turns = createSyncTurns(3)
  for (let n = 0; n < 100; n++) await turns.take(sync(`agent-${n}`), async () => n)
  expect(turns.size).toBe(3)
})

it('nor for those whose exchange fails', async () => {
  const turns = createSyncTurns(3)
  const refused = async () => {
    throw new Error('no such agent')
  }
  for (let n = 0; n < 10; n++) await turns.take(sync(`agent-${n}`), refused).catch(() => {})
  expect(turns.size).toBe(3)
})

it('keeps the order of agents with a sync under way, however many others come', async () => {
  const turns = createSyncTurns(2)
  const { promise, resolve } = Promise.withResolvers<void>()
  const done: string[] = []
  const slow = turns.take(sync('slow', 1), async () => promise.then(() => done.push('first')))
  for (let n = 0; n < 10; n++) await turns.take(sync(`agent-${n}`), async () => n)
  const next = turns.take(sync('slow', 2), async () => done.push('second'))
  expect(await turns.take(sync('slow', 1), async () => done.push('late'))).toBeUndefined()
  resolve()
  await Promise.all([slow, next])
  expect(done).toEqual(['first', 'second'])
})
