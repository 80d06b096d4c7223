/** An agent that lies over HTTP changes only its own kernels. */
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { LogPiece, ObservedKernel } from '../../../src/domain/agent/protocol.ts'
import {
  LABELS_MAX,
  LOG_CHUNK_BYTES_MAX,
  OBSERVED_KERNELS_MAX,
  REGISTER_BYTES_MAX,
  SLOTS_MAX,
  SYNC_BYTES_MAX,
} from '../../../src/domain/limits.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'
import { sessionIn, sessionTriedAgain } from '../../support/sessions/drive-session.ts'
import { observed, type FakeAgent } from '../../support/agents/fake-agent.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { PATHS, useAgentApi } from './agent-api-fixture.ts'

const given = useAgentApi('once')

interface Scene {
  agent: FakeAgent
  /** Kernels of `agent`, booked like this. */
  running: string
  prepared: string
  preparing: string
  scheduled: string
  /** Another agent with another token, and a kernel of it. */
  foreign: { agent: FakeAgent; instanceId: string; kernelId: string }
  /** The true state, as the next sync of the agent. */
  readonly truth: Sync
}

type Sync = {
  agentId: string
  instanceId: string
  sequence: number
  observed: ObservedKernel[]
  logs: LogPiece[]
  waitMs: number
}

let scene: Scene
let sequence = 1_000

beforeAll(async () => {
  const { server, agent, api } = given
  const foreign = await foreignAgent()
  const kernelIn = async (status: Parameters<typeof sessionIn>[2]) =>
    (await kernelRows(api.db, await sessionIn(server, agent, status)))[0]!.id
  const running = await kernelIn('RUNNING')
  const prepared = await kernelIn('PREPARED')
  const preparing = await kernelIn('PREPARING')
  agent.observe(preparing, { status: 'PREPARING' })
  const scheduled = (await kernelRows(api.db, await sessionTriedAgain(server, agent)))[0]!.id
  const instanceId = await instanceOf(agent.id)
  const observedNow = [...agent.kernels.values()]
  scene = {
    agent,
    running,
    prepared,
    preparing,
    scheduled,
    foreign,
    get truth() {
      return { agentId: agent.id, instanceId, sequence: ++sequence, observed: observedNow, logs: [], waitMs: 0 }
    },
  }
  await given.post(PATHS.sync, scene.truth)
})

async function instanceOf(agentId: string): Promise<string> {
  const { rows } = await given.api.db.query<{ id: string }>('SELECT instance_id AS id FROM agents WHERE id = $1', [
    agentId,
  ])
  return rows[0]!.id
}

async function foreignAgent(): Promise<Scene['foreign']> {
  await given.api.db.query(`INSERT INTO resource_groups (name) VALUES ('elsewhere')`)
  const token = await given.api.factory.token({ role: 'AGENT' })
  const agent = given.played(token, { resourceGroup: 'elsewhere' })
  await agent.register()
  const sessionId = await sessionIn(given.server, agent, 'RUNNING', { resourceGroup: 'elsewhere' })
  const [kernel] = await kernelRows(given.api.db, sessionId)
  return { agent, instanceId: await instanceOf(agent.id), kernelId: kernel!.id }
}

/** The false report, and the answer: an error code, or `stale` for an answer without orders. */
type Lie = [what: string, body: (scene: Scene) => unknown, answer: Answer]
type Answer = 'stale' | 'forget' | 'VALIDATION_FAILED' | 'FORBIDDEN' | 'AGENT_SUPERSEDED' | 'AGENT_UNKNOWN'

const STATUS: Record<Answer, number> = {
  stale: 200,
  forget: 200,
  VALIDATION_FAILED: 422,
  FORBIDDEN: 403,
  AGENT_SUPERSEDED: 409,
  AGENT_UNKNOWN: 404,
}

const NOW = '2026-11-21T12:00:00.000Z'

const besides = (report: (scene: Scene) => ObservedKernel) => (at: Scene) => ({
  ...at.truth,
  observed: [...at.truth.observed, report(at)],
})

const instead =
  (which: 'running' | 'prepared' | 'preparing', report: Partial<ObservedKernel>) =>
  ({ truth, [which]: kernelId }: Scene) => ({
    ...truth,
    observed: truth.observed.map((kernel) => (kernel.kernelId === kernelId ? { ...kernel, ...report } : kernel)),
  })

const piece = (kernelId: string, of: object = {}) => ({
  assignment: 1,
  kernelId,
  stream: 'STDOUT' as const,
  offset: 0,
  bytes: 4,
  text: 'lies',
  at: NOW,
  ...of,
})

const logging = (of: (scene: Scene) => object) => (at: Scene) => ({ ...at.truth, logs: [of(at)] })

const ended = { status: 'EXITED', exitCode: 0, startedAt: NOW, endedAt: NOW } as const

const ABOUT_KERNELS: Lie[] = [
  ['an older assignment has ended', besides(({ running }) => observed(running, 0, ended)), 'forget'],
  ['an assignment to come has ended', besides(({ running }) => observed(running, 2, ended)), 'forget'],
  [
    'the greatest assignment has failed',
    besides(({ running }) => observed(running, 2 ** 31 - 1, { status: 'FAILED' })),
    'forget',
  ],
  [
    'a kernel that nobody knows runs',
    besides(() => observed(randomUUID(), 1, { status: 'RUNNING', startedAt: NOW })),
    'forget',
  ],
  ["another agent's kernel has ended", besides(({ foreign }) => observed(foreign.kernelId, 1, ended)), 'forget'],
  [
    "another agent's kernel has failed",
    besides(({ foreign }) => observed(foreign.kernelId, 1, { status: 'FAILED' })),
    'forget',
  ],
  [
    "another agent's kernel runs here",
    besides(({ foreign }) => observed(foreign.kernelId, 1, { status: 'RUNNING', startedAt: NOW })),
    'forget',
  ],
  ['one runs that is to be prepared', instead('preparing', { status: 'RUNNING', startedAt: NOW }), 'stale'],
  ['one runs that nobody started', instead('prepared', { status: 'RUNNING', startedAt: NOW }), 'stale'],
  [
    'one runs that was not ordered yet',
    besides(({ scheduled }) => observed(scheduled, 2, { status: 'RUNNING', startedAt: NOW })),
    'stale',
  ],
  [
    'one is prepared that was not ordered yet',
    besides(({ scheduled }) => observed(scheduled, 2, { status: 'PREPARED' })),
    'stale',
  ],
  ['one that is prepared goes back to pulling', instead('prepared', { status: 'PULLING' }), 'stale'],
  ['one that runs goes back to prepared', instead('running', { status: 'PREPARED' }), 'stale'],
  ['one that runs goes back to pulling', instead('running', { status: 'PULLING' }), 'stale'],
  ['one that runs goes back to preparing', instead('running', { status: 'PREPARING' }), 'stale'],
  ['one that runs serves on a port', instead('running', { port: 22 }), 'stale'],
]

const ABOUT_ITSELF: Lie[] = [
  ['it is another agent', ({ truth, foreign }) => ({ ...truth, agentId: foreign.agent.id }), 'FORBIDDEN'],
  [
    'it is another agent, by its instance',
    ({ truth, foreign }) => ({ ...truth, agentId: foreign.agent.id, instanceId: foreign.instanceId }),
    'FORBIDDEN',
  ],
  ['it is an agent that nobody knows', ({ truth }) => ({ ...truth, agentId: randomUUID() }), 'AGENT_UNKNOWN'],
  ['it is another instance', ({ truth }) => ({ ...truth, instanceId: randomUUID() }), 'AGENT_SUPERSEDED'],
  [
    "it is another agent's instance",
    ({ truth, foreign }) => ({ ...truth, instanceId: foreign.instanceId }),
    'AGENT_SUPERSEDED',
  ],
  ['it replays an old sequence', ({ truth }) => ({ ...truth, sequence: 1, observed: [] }), 'stale'],
]

const LOGS: Lie[] = [
  ["of another agent's kernel", logging(({ foreign }) => piece(foreign.kernelId)), 'stale'],
  ['of a kernel that nobody knows', logging(() => piece(randomUUID())), 'stale'],
  ['of an assignment to come', logging(({ running }) => piece(running, { assignment: 2 })), 'stale'],
  ['of a kernel that never started', logging(({ prepared }) => piece(prepared)), 'stale'],
  [
    'beyond what is kept of a kernel',
    logging(({ running }) => piece(running, { offset: Number.MAX_SAFE_INTEGER })),
    'stale',
  ],
  ['before the beginning', logging(({ running }) => piece(running, { offset: -1 })), 'VALIDATION_FAILED'],
  ['at no offset', logging(({ running }) => piece(running, { offset: 1e300 })), 'VALIDATION_FAILED'],
  ['of no bytes', logging(({ running }) => piece(running, { bytes: 0 })), 'VALIDATION_FAILED'],
  [
    'of too many bytes',
    logging(({ running }) => piece(running, { bytes: LOG_CHUNK_BYTES_MAX + 1 })),
    'VALIDATION_FAILED',
  ],
  [
    'of more text than bytes',
    logging(({ running }) => piece(running, { text: 'x'.repeat(LOG_CHUNK_BYTES_MAX + 1) })),
    'VALIDATION_FAILED',
  ],
  ['with NUL', logging(({ running }) => piece(running, { text: 'a\0' })), 'VALIDATION_FAILED'],
  ['with half a surrogate pair', logging(({ running }) => piece(running, { text: '\ud800' })), 'VALIDATION_FAILED'],
  ['of no stream', logging(({ running }) => piece(running, { stream: 'STDWAR' })), 'VALIDATION_FAILED'],
  ['of no time', logging(({ running }) => piece(running, { at: 'yesterday' })), 'VALIDATION_FAILED'],
  [
    'of a time before all calendars',
    logging(({ running }) => piece(running, { at: '0000-01-01T00:00:00Z' })),
    'VALIDATION_FAILED',
  ],
]

const MALFORMED: Lie[] = [
  ['null', () => null, 'VALIDATION_FAILED'],
  ['a list', () => [], 'VALIDATION_FAILED'],
  ['a number', () => 1, 'VALIDATION_FAILED'],
  ['nothing in particular', () => ({}), 'VALIDATION_FAILED'],
  ['a list without end', () => `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'VALIDATION_FAILED'],
  ...['agentId', 'instanceId', 'sequence', 'observed', 'logs', 'waitMs'].flatMap((field): Lie[] => [
    [`no ${field}`, ({ truth }) => ({ ...truth, [field]: undefined }), 'VALIDATION_FAILED'],
    [`${field} of the wrong type`, ({ truth }) => ({ ...truth, [field]: { a: 1 } }), 'VALIDATION_FAILED'],
    [`${field} with NUL`, ({ truth }) => ({ ...truth, [field]: 'a\0b' }), 'VALIDATION_FAILED'],
  ]),
  ...[0, -1, 1.5, '7', 1e308, null].map((number): Lie => [
    `sequence ${number}`,
    ({ truth }) => ({ ...truth, sequence: number }),
    'VALIDATION_FAILED',
  ]),
  [
    'too many kernels',
    ({ truth }) => ({ ...truth, observed: Array.from({ length: OBSERVED_KERNELS_MAX + 1 }, () => truth.observed[0]) }),
    'VALIDATION_FAILED',
  ],
  ['a status of its own', instead('running', { status: 'DONE' as 'EXITED' }), 'VALIDATION_FAILED'],
  ['a kernel by its name', instead('running', { kernelId: '../main1' }), 'VALIDATION_FAILED'],
  ['port 0', instead('running', { port: 0 }), 'VALIDATION_FAILED'],
  ['a port beyond all', instead('running', { port: 65_536 }), 'VALIDATION_FAILED'],
  ['half a port', instead('running', { port: 22.5 }), 'VALIDATION_FAILED'],
  ['a port as text', instead('running', { port: '22' as never }), 'VALIDATION_FAILED'],
  ['a negative assignment', instead('running', { assignment: -1 }), 'VALIDATION_FAILED'],
  ['an assignment beyond the column', instead('running', { assignment: 2 ** 31 }), 'VALIDATION_FAILED'],
  ['an exit code beyond all', instead('running', { ...ended, exitCode: 1e300 }), 'VALIDATION_FAILED'],
  [
    'an exit code that is none',
    instead('running', { ...ended, exitCode: 'one' as unknown as number }),
    'VALIDATION_FAILED',
  ],
  [
    'a cause with an exit code beyond the column',
    instead('running', { ...ended, exitCode: 1, error: { name: 'x', message: '', exitCode: 2 ** 53 - 1 } }),
    'VALIDATION_FAILED',
  ],
  [
    'a cause of many words',
    instead('running', { ...ended, exitCode: 1, error: { name: 'x', message: 'x'.repeat(5_000) } }),
    'VALIDATION_FAILED',
  ],
]

describe.each([
  ['about kernels', ABOUT_KERNELS],
  ['about itself', ABOUT_ITSELF],
  ['in logs', LOGS],
  ['that is malformed', MALFORMED],
])('%s', (_, lies) => {
  test.each(lies)('%s', async (_what, body, expected) => {
    const before = await given.world()
    const told = await given.post(PATHS.sync, body(scene))
    expect(await given.world()).toEqual(before)
    expect(told).toMatchObject({ status: STATUS[expected] })
    expect(told.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/)
    if (told.status === 200) {
      expect(told.body.forget).toHaveLength(expected === 'forget' ? 1 : 0)
      for (const order of told.body.orders)
        expect(order).toMatchObject({ want: 'PREPARE', spec: { kernelId: scene.preparing } })
    } else {
      expect(told.body).toMatchObject({ code: expected, message: expect.any(String) })
    }
    // It was not fenced off by its lies: the truth is heard as before.
    expect(await given.post(PATHS.sync, scene.truth)).toMatchObject({ status: 200 })
  })
})

describe('registering', () => {
  const registration = () => ({
    agentId: randomUUID(),
    instanceId: randomUUID(),
    name: 'liar',
    resourceGroup: 'default',
    address: 'here',
    version: '1',
    slots: { cpu: '1' },
    labels: {},
  })
  const many = (count: number, value: string) =>
    Object.fromEntries(Array.from({ length: count }, (_each, index) => [`k${index}`, value]))

  test.each<[string, object, number, string]>([
    ['negative slots', { slots: { cpu: '-1' } }, 422, 'VALIDATION_FAILED'],
    ['slots that are no number', { slots: { cpu: 'NaN' } }, 422, 'VALIDATION_FAILED'],
    ['slots without end', { slots: { cpu: 'Infinity' } }, 422, 'VALIDATION_FAILED'],
    ['slots as powers', { slots: { cpu: '1e9' } }, 422, 'VALIDATION_FAILED'],
    ['slots as numbers', { slots: { cpu: 4 } }, 422, 'VALIDATION_FAILED'],
    ['huge slots', { slots: { cpu: '9'.repeat(40) } }, 422, 'VALIDATION_FAILED'],
    ['slots too fine', { slots: { cpu: '0.1234567891' } }, 422, 'VALIDATION_FAILED'],
    ['a weird name of a slot', { slots: { 'c p u': '1' } }, 422, 'VALIDATION_FAILED'],
    ['a slot with NUL', { slots: { '\0': '1' } }, 422, 'VALIDATION_FAILED'],
    ['a slot without a name', { slots: { '': '1' } }, 422, 'VALIDATION_FAILED'],
    ['too many slots', { slots: many(SLOTS_MAX + 1, '1') }, 422, 'VALIDATION_FAILED'],
    ['slots as a list', { slots: ['cpu'] }, 422, 'VALIDATION_FAILED'],
    ['no name', { name: '' }, 422, 'VALIDATION_FAILED'],
    ['a long name', { name: 'x'.repeat(300) }, 422, 'VALIDATION_FAILED'],
    ['a name with NUL', { name: 'a\0b' }, 422, 'VALIDATION_FAILED'],
    ['half a surrogate pair', { address: '\udfff' }, 422, 'VALIDATION_FAILED'],
    ['too many labels', { labels: many(LABELS_MAX + 1, 'x') }, 422, 'VALIDATION_FAILED'],
    ['labels with NUL', { labels: { a: '\0' } }, 422, 'VALIDATION_FAILED'],
    ['labels as numbers', { labels: { a: 1 } }, 422, 'VALIDATION_FAILED'],
    ['no id', { agentId: 'me' }, 422, 'VALIDATION_FAILED'],
    ['no instance', { instanceId: null }, 422, 'VALIDATION_FAILED'],
    ['a group that is not there', { resourceGroup: 'none' }, 404, 'RESOURCE_GROUP_NOT_FOUND'],
    ['too much', { address: 'x'.repeat(REGISTER_BYTES_MAX) }, 413, 'REQUEST_TOO_LARGE'],
  ])('with %s', async (_, fault, status, code) => {
    const before = await given.world()
    expect(await given.post(PATHS.register, { ...registration(), ...fault })).toMatchObject({ status, body: { code } })
    expect(await given.world()).toEqual(before)
  })

  const others: [string, () => Promise<string>][] = [
    ["as another token's agent", async () => scene.foreign.agent.id],
    ['as the embedded agent', () => given.api.factory.agent()],
  ]
  test.each(others)('%s', async (_, idOf) => {
    const agentId = await idOf()
    const before = await given.world()
    for (const path of [PATHS.register, PATHS.sync]) {
      const told = await given.post(path, { ...registration(), ...scene.truth, agentId })
      expect(told).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
    }
    expect(await given.world()).toEqual(before)
  })
})

describe('with a token', () => {
  const ofProject = (role: 'ADMIN' | 'MEMBER' | 'VIEWER') => () =>
    given.api.factory.token({ role, projectId: DEFAULT_PROJECT_ID })
  const refused: [string, () => Promise<string | null>, number, string][] = [
    ['of nobody', async () => null, 401, 'UNAUTHENTICATED'],
    ['that is made up', async () => `rpr_${'x'.repeat(43)}`, 401, 'UNAUTHENTICATED'],
    ['of a member', ofProject('MEMBER'), 403, 'FORBIDDEN'],
    ['of a viewer', ofProject('VIEWER'), 403, 'FORBIDDEN'],
    ["of a project's administrator", ofProject('ADMIN'), 403, 'FORBIDDEN'],
  ]
  test.each(refused)('%s', async (_, tokenOf, status, code) => {
    const token = await tokenOf()
    const before = await given.world()
    const lie = instead('running', ended)(scene)
    expect(await given.post(PATHS.sync, lie, { token })).toMatchObject({ status, body: { code } })
    expect(await given.world()).toEqual(before)
  })
})

test.each<[string, string | Uint8Array, number, string]>([
  ['nothing', '', 400, 'MALFORMED_REQUEST'],
  ['half of JSON', '{"agentId":', 400, 'MALFORMED_REQUEST'],
  ['what is no UTF-8', Uint8Array.of(0x22, 0xff, 0x22), 400, 'MALFORMED_REQUEST'],
  ['more than any sync has', 'x'.repeat(SYNC_BYTES_MAX + 1), 413, 'REQUEST_TOO_LARGE'],
])('a body of %s', async (_, body, status, code) => {
  const before = await given.world()
  expect(await given.post(PATHS.sync, body)).toMatchObject({ status, body: { code } })
  expect(await given.world()).toEqual(before)
})

test('a repeated sync is applied once', async () => {
  const { truth, running } = scene
  const sync = { ...truth, logs: [piece(running)] }
  await given.post(PATHS.sync, sync)
  const before = await given.world()
  expect(await given.post(PATHS.sync, sync)).toMatchObject({ status: 200 })
  expect(await given.world()).toEqual(before)
  expect(before['kernel_logs']).toHaveLength(1)
})

test('the same report by the right agent does change the session', async () => {
  const before = await given.world()
  expect(await given.post(PATHS.sync, instead('running', ended)(scene))).toMatchObject({ status: 200 })
  expect(await given.world()).not.toEqual(before)
})
