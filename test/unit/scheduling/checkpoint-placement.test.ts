import { describe, expect, test } from 'vitest'
import { avoidedInOrder } from '../../../src/domain/scheduling/agent-pool.ts'
import {
  placeByCheckpoint,
  preferring,
  type CheckpointPlacement,
  type StoredCheckpoint,
} from '../../../src/domain/scheduling/checkpoint-placement.ts'

const agent = (id: string, status = 'ALIVE', isOpen = status === 'ALIVE') => ({ id, name: id, status, isOpen })
const ANYWHERE = { allowAgents: [], avoidAgents: [], excludeAgents: [] }

function placed(stored: Partial<StoredCheckpoint>, places: Partial<typeof ANYWHERE | Record<string, string[]>> = {}) {
  const checkpoint = { isRequired: true, attempt: 2, agents: [agent('a')], waitedMs: 0, waitMaxMs: 1_000, ...stored }
  return inWords(placeByCheckpoint(checkpoint, { ...ANYWHERE, ...places }))
}

function inWords(placement: CheckpointPlacement): string {
  if (placement.kind === 'wait') return `waits ${placement.leftMs}: ${placement.reason}`
  return `${placement.kind} ${[...placement.agents].join()}`
}

describe('an attempt goes where its checkpoint is', () => {
  test.each([
    ['if it can', placed({ isRequired: false }), 'prefer a'],
    ['or elsewhere', placed({ isRequired: false, agents: [agent('a', 'LOST')] }), 'prefer '],
    ['and nowhere else', placed({}), 'only a'],
    [
      'though not where it may not',
      placed({}, { allowAgents: ['b'] }),
      'waits 1000: its checkpoint of attempt 2 is on agent a, where it may not go',
    ],
    [
      'once that is back',
      placed({ agents: [agent('a', 'LOST')] }),
      'waits 1000: its checkpoint of attempt 2 is on agent a, which is LOST',
    ],
    [
      'of several',
      placed({ agents: [agent('a', 'LOST'), agent('b', 'LOST')] }),
      'waits 1000: its checkpoint of attempt 2 is on agent a, the first of 2 that have it, which is LOST',
    ],
    ['that there are no more', placed({ agents: [] }), 'waits 1000: no agent has its checkpoint of attempt 2'],
    ['but not for ever', placed({ agents: [agent('a', 'LOST')], waitedMs: 1_000 }), 'prefer '],
    ['unless the place is bad', placed({}, { avoidAgents: ['a'] }), 'prefer a'],
    ['or excluded', placed({}, { excludeAgents: ['a'] }), 'prefer '],
    ['and others share the store', placed({ agents: [agent('a'), agent('b')] }, { avoidAgents: ['a'] }), 'only a,b'],
    [
      'even if they are lost',
      placed({ agents: [agent('b', 'LOST')] }, { avoidAgents: ['a'] }),
      'waits 1000: its checkpoint of attempt 2 is on agent b, which is LOST',
    ],
  ])('%s', (_, found, expected) => expect(found).toBe(expected))
})

test('what is to be avoided comes behind what has no checkpoint', () => {
  const agents = ['a', 'b', 'c', 'd'].map((id) => ({ id }))
  const order = preferring(avoidedInOrder(['c', 'd']), new Set(['b', 'c']), agents)
  expect(agents.map(({ id }) => order.get(id) ?? 0)).toEqual([0.5, 0, 1, 2])
  expect(preferring(avoidedInOrder(['c']), new Set(), agents)).toEqual(avoidedInOrder(['c']))
})
