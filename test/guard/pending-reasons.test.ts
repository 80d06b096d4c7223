import { expect, test } from 'vitest'
import { explainCheckpointShortage } from '../../src/domain/quota.ts'
import { CAPACITY_IS_RESERVED, explainPending, type PendingFacts } from '../../src/domain/scheduling/explain-pending.ts'
import { parseQuantities } from '../../src/domain/scheduling/resource-request.ts'
import { agentWith, request } from '../unit/scheduling/lines.ts'
import { codeIn, proseOf } from './document-tables.ts'

const GIB = String(2 ** 30)

/** docs/scheduling.md has every text that says why a session waits, and no other. */

const FREE: PendingFacts = {
  group: 'g',
  sequencer: 'FIFO',
  dependencies: { total: 0, open: 0, failed: null },
  startsAt: null,
  checkpoint: null,
  checkpointQuota: null,
  restsForMs: null,
  drained: null,
  lastError: null,
  request: request({ cpu: '4' }),
  agents: [agentWith('a', { cpu: '8', mem: GIB })],
  absent: {},
  quotas: [],
  key: null,
  before: 0,
}

const one = (capacity: Record<string, string>, free = capacity) => ({ agents: [agentWith('a', capacity, free)] })
const two = (capacity: Record<string, string>, free = capacity) => ({
  agents: [agentWith('a', capacity, free), agentWith('b', capacity, free)],
})
const crossed = [agentWith('a', { cpu: '8', mem: '1' }), agentWith('b', { cpu: '1', mem: GIB })]
const crossedNow = [
  agentWith('a', { cpu: '8', mem: GIB }, { cpu: '8', mem: '1' }),
  agentWith('b', { cpu: '8', mem: GIB }, { cpu: '1', mem: GIB }),
]
const wide = request({ cpu: '4' }, { size: 8, mode: 'MULTI_NODE' })
const reserved = agentWith('a', { cpu: '8' })
reserved.free.set('cpu', 0n)
reserved.reserved.set('cpu', 8_000_000_000n)

const quota = (of: { maxRunning?: number; slots?: Record<string, string>; used?: Record<string, string> }) => ({
  name: 'project p',
  slots: parseQuantities(of.slots ?? {}),
  usedSlots: new Map(parseQuantities(of.used ?? {})),
  maxRunning: of.maxRunning ?? null,
  running: of.maxRunning ?? 0,
})

const held = (of: { held: number; before: number; holders?: string[] }) => ({
  key: { key: 'k', limit: 2, holders: [], ...of },
})

const EACH: Partial<PendingFacts>[] = [
  { dependencies: { total: 2, open: 0, failed: '01a2' } },
  { startsAt: '2026-11-22T12:00:00.000Z' },
  { dependencies: { total: 2, open: 1, failed: null } },
  { checkpoint: 'its checkpoint of attempt 2 is on agent a, which is LOST' },
  { checkpoint: 'its checkpoint of attempt 2 is on agent a, where it may not go' },
  { checkpoint: 'no agent has its checkpoint of attempt 2' },
  {
    checkpointQuota: explainCheckpointShortage({
      scope: 'PROJECT',
      name: 'p',
      bytes: 12 * 2 ** 30,
      maxBytes: 10 * 2 ** 30,
    }),
  },
  { restsForMs: 12_000, lastError: 'agent a was silent for 40 s' },
  { restsForMs: 12_000 },
  { drained: 'resource group g is being drained: the machines move' },
  { agents: [], absent: { LOST: 2, DRAINING: 1 } },
  { request: request({ cpu: '4' }, { allowAgents: ['b'] }) },
  { request: request({ cpu: '4' }, { excludeAgents: ['a'] }) },
  { request: request({ cpu: '4' }, { needsPorts: true }), agents: [agentWith('a', { cpu: '8' }, {}, {}, null, false)] },
  { request: request({ cpu: '16' }) },
  { request: request({ cpu: '4', mem: GIB }), agents: crossed },
  { request: wide, ...two({ cpu: '8' }) },
  one({ cpu: '8' }, { cpu: '3' }),
  { request: request({ cpu: '4', mem: GIB }), agents: crossedNow },
  { request: wide, ...two({ cpu: '32' }, { cpu: '8' }) },
  { key: { key: 'k', held: 1, limit: 1, holders: ['01a2'], before: 0 } },
  held({ held: 2, holders: ['01a2', '01a3'], before: 0 }),
  held({ held: 2, holders: ['01a2', '01a3'], before: 12 }),
  held({ held: 1, before: 12 }),
  { quotas: [quota({ maxRunning: 2 })] },
  { quotas: [quota({ slots: { cpu: '8' }, used: { cpu: '6' } })] },
  { quotas: [quota({ slots: { cpu: '2' } })] },
  { agents: [reserved] },
  {},
  { before: 12 },
  { sequencer: 'DRF', before: 12 },
]

test('docs/scheduling.md has each reason, and each that it has is given', async () => {
  const given = [...new Set(EACH.map((facts) => explainPending({ ...FREE, ...facts })))]
  expect(given).toContain(CAPACITY_IS_RESERVED)
  const section = (await proseOf('docs/scheduling.md')).split('## Why a session waits')[1]!.split('\n## ')[0]!
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  const told = rows.flatMap((row) => codeIn(row.split(' | ')[0]!))
  expect(given.filter((reason) => !told.some((text) => patternOf(text).test(reason)))).toEqual([])
  expect(told.filter((text) => !given.some((reason) => patternOf(text).test(reason)))).toEqual([])
})

/** Numbers may differ, and `…` is any text. */
function patternOf(text: string): RegExp {
  const pieces = text.split(/(\d+|…)/).map((piece, index) => {
    if (index % 2 === 0) return piece.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
    return piece === '…' ? '.+' : String.raw`\d+`
  })
  return new RegExp(`^${pieces.join('')}$`)
}
