import { isInputObjectType, getNullableType } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'
import { startGraphQLServer, type TestServer } from '../support/servers/graphql-server.ts'

/** Each mutation, with as many faults as its input can have, up to three: all are told at once, each with its place. */

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const ID = '00000000-0000-7000-8000-00000000000a'
const NUL = 'a\0b'
const LONG = 'x'.repeat(2_000)

const FAULTY: Record<string, [input: object, paths: string[]]> = {
  createSession: [
    {
      name: '',
      command: ['a\0'],
      priority: 101,
      retryPolicy: { maxRetries: -1, rules: [{ match: {}, action: 'FAIL', delay: 1 }] },
    },
    ['name', 'command.0', 'priority', 'retryPolicy.maxRetries', 'retryPolicy.rules.0.delay'],
  ],
  createDeployment: [
    {
      name: 'Web',
      command: [],
      replicas: -1,
      environ: [{ name: 'PORT', value: '1' }],
      healthCheck: { path: 'x', interval: 2, timeout: 2, staleAfter: 4 },
    },
    ['name', 'command', 'replicas', 'environ.0.name', 'healthCheck.path', 'healthCheck.staleAfter'],
  ],
  scaleDeployment: [
    { deploymentId: 'ours', replicas: -1, minHealthy: -1, maxSurge: 1_000_000 },
    ['replicas', 'minHealthy', 'maxSurge'],
  ],
  updateDeployment: [
    { deploymentId: 'ours', command: [], priority: 101, healthCheck: { timeout: 0 } },
    ['command', 'priority', 'healthCheck.timeout'],
  ],
  destroyDeployment: [{ deploymentId: 'ours', reason: NUL }, ['reason']],
  createResourceGroup: [{ name: 'a b', maxTries: 0, fenceAfter: 1 }, ['name', 'maxTries', 'fenceAfter']],
  updateResourceGroup: [
    { name: 'default', maxTries: 0, fenceAfter: 1, drainReason: NUL },
    ['maxTries', 'fenceAfter', 'drainReason'],
  ],
  createToken: [{ name: NUL, role: 'MEMBER', expiresAt: '2020-01-01T00:00:00Z' }, ['name', 'project', 'expiresAt']],
  createWebhook: [
    { url: 'ftp://x', eventTypes: ['nonsense!'], description: NUL },
    ['url', 'eventTypes.0', 'description'],
  ],
  updateWebhook: [
    { webhookId: 'ours', url: 'ftp://x', eventTypes: [], description: NUL },
    ['url', 'eventTypes', 'description'],
  ],
  setQuota: [
    { scope: 'PROJECT', name: 'default', maxRunning: -1, maxPending: -1, slots: [{ slot: 'cpu', amount: 'much' }] },
    ['maxRunning', 'maxPending', 'slots.0.amount'],
  ],
  setRetryDefaults: [
    { scope: 'PROJECT', policy: { maxRetries: 101, jitterRatio: 2 } },
    ['name', 'policy.maxRetries', 'policy.jitterRatio'],
  ],
  updateRetry: [
    { sessionId: ID, policy: { maxRetries: 101, jitterRatio: 2 } },
    ['policy.maxRetries', 'policy.jitterRatio'],
  ],
  setRetrySwitch: [
    { scope: 'PROJECT', rateLimit: { perSecond: 0, burst: 0 }, until: '2020-01-01T00:00:00Z' },
    ['name', 'rateLimit.perSecond', 'rateLimit.burst', 'until'],
  ],
  resubmitSessions: [
    { clientKey: '', overrides: { priority: 101, batchTimeout: -1, avoidAgents: [ID] } },
    ['sessionIds', 'clientKey', 'overrides.priority', 'overrides.batchTimeout', 'overrides.avoidAgents.0'],
  ],
  createSchedule: [
    { name: '', cron: '61 * * * *', timeZone: 'Mars', catchUp: 101, jitter: -1, session: { name: '', command: [] } },
    ['name', 'cron', 'timeZone', 'catchUp', 'jitter', 'session.name', 'session.command'],
  ],
  updateSchedule: [
    { scheduleId: 'ours', name: '', every: 0, timeZone: 'Mars', session: { name: 'x', command: [] } },
    ['name', 'every', 'timeZone', 'session.command'],
  ],
  pauseSchedule: [{ scheduleId: 'ours', reason: NUL }, ['reason']],
  terminateSessions: [{ clientKey: '', reason: NUL }, ['sessionIds', 'clientKey', 'reason']],
  cancelRetries: [{ clientKey: '' }, ['sessionIds', 'clientKey']],
  retryNowMany: [{ clientKey: '' }, ['sessionIds', 'clientKey']],
  createProject: [{ name: 'a b', domain: NUL }, ['name', 'domain']],
  setProjectMember: [{ project: 'a b', user: NUL, role: 'AGENT' }, ['project', 'user', 'role']],
  removeProjectMember: [{ project: 'a b', user: NUL }, ['project', 'user']],
  createDomain: [{ name: NUL }, ['name']],
  createUser: [{ name: LONG }, ['name']],
  deleteUser: [{ name: NUL }, ['name']],
  updateProject: [{ name: 'a b', membersEndAll: true }, ['name']],
  runScheduleNow: [{ scheduleId: ID, clientKey: '' }, ['clientKey']],
  terminateSession: [{ sessionId: ID, reason: NUL }, ['reason']],
  returnGpu: [{ agentId: ID, uuid: LONG, reason: '' }, ['uuid', 'reason']],
  takeGpu: [{ agentId: ID, uuid: LONG, reason: '' }, ['uuid', 'reason']],
  addSessions: [
    {
      groupId: ID,
      indexes: '5-1',
      sessions: [
        { name: '', command: [] },
        { name: 'x', command: ['x'], sessionType: 'INFERENCE' },
      ],
    },
    ['indexes', 'sessions', 'sessions.0.name', 'sessions.0.command'],
  ],
  resubmitSessionGroup: [
    { groupId: ID, states: [], clientKey: '', overrides: { priority: 101, avoidAgents: [ID] } },
    ['states', 'clientKey', 'overrides.priority', 'overrides.avoidAgents.0'],
  ],
  cancelSessionGroup: [{ groupId: ID, reason: '' }, ['reason']],
  setFailureGroupState: [{ failureGroupId: ID, state: 'KNOWN', link: 'ftp://x', note: '\0' }, ['note', 'link']],
  applyRetryAdvice: [{ adviceId: ID, reason: '\0' }, ['reason']],
  dismissRetryAdvice: [{ adviceId: ID, reason: '' }, ['reason']],
  setFailureRules: [
    { project: 'a b', rules: [{ pattern: LONG, name: '' }] },
    ['project', 'rules.0.pattern', 'rules.0.name'],
  ],
  setRetryBreaker: [{ failureGroupId: ID, open: true, reason: '\0' }, ['reason']],
  nameFailureGroup: [{ failureGroupId: ID, name: '\0' }, ['name']],
  mergeFailureGroups: [{ failureGroupIds: [], into: ID }, ['failureGroupIds']],
  splitFailureGroup: [{ failureGroupId: ID, reason: '' }, ['reason']],
  drainAgent: [{ agentId: ID, reason: '' }, ['reason']],
  rotateWebhookSecret: [{ webhookId: 'ours', overlapSeconds: -1 }, ['overlapSeconds']],
  replayWebhook: [{ webhookId: 'ours', since: '2020-01-01T00:00:00Z' }, ['since']],
}

/** Nothing but ids, which the schema reads itself, and a list of inputs that are each by themselves. */
const WITHOUT_FAULTS = new Set([
  'abortBulkAction',
  'abortResubmission',
  'cancelRetry',
  'createDownload',
  'createSessions',
  'deleteResourceGroup',
  'deleteSchedule',
  'deleteWebhook',
  'pinOutputs',
  'removeAgent',
  'replayDelivery',
  'resumeAgent',
  'resumeSchedule',
  'retryNow',
  'revokeToken',
  'sendTestEvent',
  'unpinOutputs',
])

/** Fields of many mutations, whose faults others show. */
const COMMON = new Set(['clientKey', 'reason'])

const fields = Object.values(schema.getMutationType()!.getFields())

test('every mutation is here', () => {
  const all = fields.map(({ name }) => name).filter((name) => !WITHOUT_FAULTS.has(name))
  expect(all.toSorted()).toEqual(Object.keys(FAULTY).toSorted())
  for (const { name, args } of fields.filter(
    (field) => WITHOUT_FAULTS.has(field.name) && field.name !== 'createSessions',
  )) {
    const type = getNullableType(args[0]!.type)
    expect([
      name,
      isInputObjectType(type) && Object.keys(type.getFields()).filter((field) => !COMMON.has(field)).length <= 2,
    ]).toEqual([name, true])
  }
})

describe('all faults at once', () => {
  test.each(Object.entries(FAULTY))('%s', async (name, [given, paths]) => {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`
    const answer = await server.query(
      `mutation ($input: ${type}!) { ${name}(input: $input) { __typename ... on ValidationError { code issues { path } }
        ... on Error { message } } }`,
      { input: await withSubject(given) },
    )
    expect(answer.errors).toBeUndefined()
    const result = answer.data[name]
    expect(result).toMatchObject({ __typename: 'ValidationError', code: 'VALIDATION_FAILED' })
    const told = result.issues.map(({ path }: { path: string }) => path)
    expect(told.toSorted()).toEqual(paths.toSorted())
  })

  /** The names of fields that name what is there already. */
  async function withSubject(given: object): Promise<object> {
    if ('deploymentId' in given) return { ...given, deploymentId: (await server.factory.deployment()).id }
    if ('webhookId' in given) {
      const { webhook } = await create('Webhook', { url: 'https://example.com/', eventTypes: ['*'] })
      return { ...given, webhookId: webhook!['webhookId'] }
    }
    if ('scheduleId' in given) {
      const session = { name: 'yearly', command: ['true'] }
      const { schedule } = await create('Schedule', { name: `yearly-${++schedules}`, cron: '0 0 1 1 *', session })
      return { ...given, scheduleId: schedule!['scheduleId'] }
    }
    return given
  }

  let schedules = 0

  async function create(type: 'Webhook' | 'Schedule', input: object): Promise<Record<string, Record<string, string>>> {
    const name = type.toLowerCase()
    const text = `mutation ($input: Create${type}Input!) {
      create${type}(input: $input) { ... on Create${type}Payload { ${name} { ${name}Id } } } }`
    return (await server.query(text, { input })).data[`create${type}`]
  }
})
