import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { WAKE_AGENTS_PER_HINT_MAX, WAKE_TOPICS_PER_HINT_MAX } from '../../../src/domain/limits.ts'
import { formatHints, parseHints } from '../../../src/events/wake-exchange.ts'
import { createWakeHub, type WakeHints } from '../../../src/events/wake-hub.ts'

it('a hint that names as much as it may is one that PostgreSQL takes, and is read as it was told', () => {
  const hints: WakeHints = {
    topics: Array.from({ length: WAKE_TOPICS_PER_HINT_MAX }, () => `resubmission:${randomUUID()}` as const),
    agentIds: Array.from({ length: WAKE_AGENTS_PER_HINT_MAX }, randomUUID),
  }
  const from = randomUUID()
  const payload = formatHints(from, hints)
  expect(Buffer.byteLength(payload)).toBeLessThan(8_000)
  expect(parseHints(payload)).toEqual({ from, ...hints })
})

it.each(['', '{', 'null', '"x"', randomUUID(), '{"from":"a"}', '{"from":"a","topics":[],"agentIds":7}'])(
  'what cannot be read (%s) is no hint',
  (payload) => expect(parseHints(payload)).toBeNull(),
)

it('what is awaited here is done here; what is not, and events, other servers hear of', () => {
  const hub = createWakeHub()
  const abroad: WakeHints[] = []
  const woken: string[] = []
  hub.onOutgoing((hints) => abroad.push(hints))
  hub.on('schedule-sessions', () => woken.push('schedule-sessions'))
  hub.on('events', () => woken.push('events'))
  hub.onAgent('near', () => woken.push('near'))
  hub.wake('schedule-sessions')
  hub.wakeAgents(['near'])
  expect(abroad).toEqual([])
  hub.on('resubmission:1', () => woken.push('followed'))
  hub.wake('schedule-sessions', 'decide-retries', 'events', 'resubmission:1')
  hub.wakeAgents(['near', 'far'])
  expect(abroad).toEqual([
    { topics: ['decide-retries', 'events', 'resubmission:1'], agentIds: [] },
    { topics: [], agentIds: ['far'] },
  ])
  expect(woken).toEqual(['schedule-sessions', 'near', 'schedule-sessions', 'events', 'followed', 'near'])
})

it('what another server tells wakes whom it concerns, and goes no further', () => {
  const hub = createWakeHub()
  const woken: string[] = []
  hub.onOutgoing(() => woken.push('abroad'))
  for (const topic of ['events', 'decide-retries'] as const) hub.on(topic, () => woken.push(topic))
  for (const agentId of ['one', 'two']) hub.onAgent(agentId, () => woken.push(agentId))
  hub.receive({ topics: ['decide-retries', 'schedule-sessions'], agentIds: ['two', 'three'] })
  expect(woken.splice(0)).toEqual(['decide-retries', 'two'])
  hub.receive({ topics: ['events'], agentIds: null })
  expect(woken.splice(0)).toEqual(['events', 'one', 'two'])
  hub.wakeAll()
  expect(woken).toEqual(['events', 'decide-retries', 'one', 'two'])
})
