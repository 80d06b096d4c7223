/** Secret variables, their key, and the secrets of webhooks. */
import { describe, expect, test } from 'vitest'
import { createGateway } from '../../../src/gateway/gateway.ts'
import type { KernelOrder } from '../../../src/domain/agent/protocol.ts'
import { ENVIRON_BYTES_MAX } from '../../../src/domain/limits.ts'
import { createDeployment } from '../../../src/services/deployment/create-deployment.ts'
import { createSession } from '../../../src/services/session/create-sessions.ts'
import { createWebhook, rotateWebhookSecret } from '../../../src/services/webhook/webhooks.ts'
import { openWebhookSecret, sealPlainWebhooks } from '../../../src/services/webhook/webhook-secrets.ts'
import { assertSharedKey, createSecretBox } from '../../../src/services/access/secrets.ts'
import { openEnviron } from '../../../src/services/session/plan-attempt.ts'
import { updateDeployment } from '../../../src/services/deployment/change-deployment.ts'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { readChainChanges, readChainEpochs } from '../../../src/services/chain.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import { useResubmission } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { TEST_SECRETS } from '../../support/servers/test-secrets.ts'
import { TEST_CODE, TEST_OUTPUTS, TEST_RELAY } from '../../support/servers/test-code.ts'

const given = useScheduling()
const resubmit = useResubmission(given)

const KEY = [{ name: 'API_KEY', value: 'open sesame' }]
const WORK = { name: 'work', command: ['true'] }
const other = createSecretBox([Buffer.alloc(32, 'other')])

const storedOf = async (sessionId: string) =>
  (await given.sql('SELECT secret_environ AS stored FROM sessions WHERE id = $1', [sessionId]))[0]!['stored'] as never

const environOf = (orders: readonly KernelOrder[], want: 'PREPARE' | 'START') =>
  orders.flatMap((order) => (order.want === want && 'spec' in order ? order.spec.environ : []))

describe('secret variables', () => {
  test('come with the order to start, and with no other', async () => {
    const { server, agent } = given
    await createSession(server.context, { ...WORK, secretEnviron: KEY })
    await server.run('schedule-sessions')
    const prepare = await agent.sync()
    expect(environOf(prepare.orders, 'PREPARE').map(({ name }) => name)).toContain('REPRISE_ATTEMPT')
    expect(JSON.stringify(prepare)).not.toMatch(/API_KEY|open sesame/)
    agent.obey(prepare)
    await agent.sync()
    await server.run('promote-to-prepared')
    expect(environOf((await agent.sync()).orders, 'START')).toContainEqual(KEY[0])
  })

  test('retries and resubmissions inherit them, and compare them without decrypting', async () => {
    const { server, agent, db } = given
    const first = await sessionIn(server, agent, 'RUNNING', { secretEnviron: KEY, retryPolicy: { maxRetries: 1 } })
    await failWith(server, agent, 1)
    await advanceClock(db, 3_600)
    await server.run('dispatch-retries')
    const childOf = async (id: string) =>
      (await given.sql('SELECT id FROM sessions WHERE parent_session_id = $1', [id]))[0]!['id'] as string
    const retry = await childOf(first)
    expect(await storedOf(retry)).toEqual(await storedOf(first))
    await sessionIn(server, agent, 'RUNNING', { name: 'drives all' })
    await failWith(server, agent, 1)
    const same = { sessionIds: [retry], clientKey: 'again', overrides: { secretEnviron: KEY } }
    const { resubmissionId } = await resubmit(same)
    expect((await resubmit(same)).resubmissionId).toBe(resubmissionId)
    const unchanged = await childOf(retry)
    expect(await storedOf(unchanged)).toEqual(await storedOf(first))
    const context = { db, viewer: server.context.viewer }
    const page = { chainIds: [first], after: '0', limit: 10 }
    expect(await readChainChanges(context, page)).toEqual([])

    await sessionIn(server, agent, 'RUNNING', { name: 'drives all' })
    await failWith(server, agent, 1)
    const secretEnviron = [
      { name: 'API_KEY', value: 'another' },
      { name: 'SECOND', value: 'new' },
    ]
    await resubmit({ sessionIds: [unchanged], overrides: { secretEnviron } })
    expect(openEnviron(TEST_SECRETS, await storedOf(await childOf(unchanged)))).toEqual(secretEnviron)
    expect((await readChainChanges(context, page)).map(({ differences }) => differences)).toEqual([
      [
        { field: 'secretEnviron.API_KEY', before: '[redacted]', after: '[redacted]' },
        { field: 'secretEnviron.SECOND', before: null, after: '[redacted]' },
      ],
    ])
    expect((await readChainEpochs(context, [first])).at(-1)!.overrides).toEqual([
      { field: 'secretEnviron.API_KEY', before: '[redacted]', value: '[redacted]' },
      { field: 'secretEnviron.SECOND', before: null, value: '[redacted]' },
    ])
    const [audit] = await given.sql(`SELECT string_agg(details::text, '') AS text FROM audit_log`)
    expect(audit!['text']).toContain('[redacted]')
    expect(audit!['text']).not.toMatch(/another|sealed|open sesame/)
  })

  test('count together with the plain environment of a deployment', async () => {
    const { context } = given.server
    const five = (prefix: string) =>
      [0, 1, 2, 3, 4].map((n) => ({ name: `${prefix}${n}`, value: 'x'.repeat(ENVIRON_BYTES_MAX / 10) }))
    const input = { name: 'web', command: ['serve'], replicas: 0, secretEnviron: five('S') }
    const { deploymentId } = await createDeployment(context, input)
    await updateDeployment(context, { deploymentId, environ: five('E').slice(1) })
    const tooMuch = updateDeployment(context, { deploymentId, environ: five('E') })
    const bytes = 10 * (Math.floor(ENVIRON_BYTES_MAX / 10) + 12)
    await expect(tooMuch).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      issues: [{ path: 'environ', message: expect.stringContaining(`would take ${bytes} bytes`) }],
    })
    const portVariable = 'P'.repeat(257)
    await expect(updateDeployment(context, { deploymentId, portVariable })).rejects.toMatchObject({
      issues: [{ path: 'portVariable' }],
    })
  })

  test('that the server cannot read: the session fails to start, with the reason', async () => {
    const { server, db, agent } = given
    const id = await sessionIn(server, agent, 'CREATING', { secretEnviron: KEY })
    const gateway = createGateway({
      db,
      wake: server.hub,
      secrets: other,
      metrics: server.metrics,
      code: TEST_CODE,
      relay: TEST_RELAY,
      outputs: TEST_OUTPUTS,
      onAgent: server.hub.onAgent,
      logged: () => {},
    })
    const stranded = fakeAgent(gateway, { id: agent.id, instanceId: agent.instanceId })
    for (const [kernelId, kernel] of agent.kernels) stranded.kernels.set(kernelId, kernel)
    await given.sql('UPDATE agents SET last_sequence = 0')
    expect((await stranded.sync()).orders).toEqual([])
    const [kernel] = await given.sql('SELECT reason, error FROM kernels WHERE session_id = $1', [id])
    expect(kernel).toMatchObject({
      reason: 'secrets-unreadable',
      error: { message: expect.stringContaining(`with the key ${TEST_SECRETS.keyId}`) },
    })
  })

  test('count when a known creation id is given again', async () => {
    const { context } = given.server
    const input = { ...WORK, creationId: 'once', secretEnviron: KEY }
    const { sessionId } = await createSession(context, input)
    expect(await createSession(context, input)).toEqual({ sessionId, created: false })
    const another = { ...input, secretEnviron: [{ name: 'API_KEY', value: 'another' }] }
    await expect(createSession(context, another)).rejects.toMatchObject({ code: 'CREATION_ID_REUSED' })
  })

  test('share their names and their limit with the plain environment', async () => {
    const { context } = given.server
    const twice = createSession(context, { ...WORK, environ: KEY, secretEnviron: KEY })
    await expect(twice).rejects.toThrow('secretEnviron.0.name: is also in environ')
    const many = (count: number, prefix: string) =>
      Array.from({ length: count }, (_, n) => ({ name: `${prefix}${n}`, value: '' }))
    const full = createSession(context, { ...WORK, environ: many(300, 'A'), secretEnviron: many(201, 'B') })
    await expect(full).rejects.toThrow('at most 500 variables')
    const port = createDeployment(context, { ...WORK, secretEnviron: [{ name: 'PORT', value: '1' }] })
    await expect(port).rejects.toThrow('secretEnviron.0.name: is the portVariable')
  })

  test('of a deployment are in the next revision only if they differ', async () => {
    const { context, db } = given.server
    const { deploymentId } = await createDeployment(context, { ...WORK, secretEnviron: KEY })
    const revision = async () =>
      (
        await db.query<{ revision: number; stored: never }>(
          `SELECT revision, (SELECT secret_environ FROM deployment_revisions r WHERE r.deployment_id = d.id AND r.revision = d.revision) AS stored
          FROM deployments d WHERE id = $1`,
          [deploymentId],
        )
      ).rows[0]!
    await updateDeployment(context, { deploymentId, secretEnviron: KEY })
    expect((await revision()).revision).toBe(1)
    await updateDeployment(context, { deploymentId, priority: 20 })
    const kept = await revision()
    expect([kept.revision, openEnviron(TEST_SECRETS, kept.stored)]).toEqual([2, KEY])
    await updateDeployment(context, { deploymentId, secretEnviron: [{ name: 'API_KEY', value: 'new' }] })
    const changed = await revision()
    expect([changed.revision, openEnviron(TEST_SECRETS, changed.stored)[0]!.value]).toEqual([3, 'new'])
    const taken = updateDeployment(context, { deploymentId, environ: [{ name: 'API_KEY', value: '' }] })
    await expect(taken).rejects.toThrow('is also in environ')
  })
})

describe('the key of the secrets', () => {
  test('is the same for all servers of a database, or the start fails with a sentence', async () => {
    const { db } = given.server
    await assertSharedKey(db, { ...TEST_SECRETS, path: '/a' })
    await assertSharedKey(db, { ...TEST_SECRETS, path: '/a' })
    const refused = assertSharedKey(db, { ...other, path: '/b' })
    await expect(refused).rejects.toThrow(
      `encrypted with the key ${TEST_SECRETS.keyId}, and /b holds ${other.keyId}. All servers of a database share one key`,
    )
  })

  test('is replaced by a server that has both', async () => {
    const { db } = given.server
    await assertSharedKey(db, { ...TEST_SECRETS, path: '/a' })
    const both = createSecretBox([Buffer.alloc(32, 'other'), Buffer.alloc(32, 'test')])
    await assertSharedKey(db, { ...both, path: '/b' })
    await assertSharedKey(db, { ...other, path: '/c' })
    await expect(assertSharedKey(db, { ...TEST_SECRETS, path: '/a' })).rejects.toThrow('docs/security.md')
  })

  test('noted by several at once is that of one of them', async () => {
    const { db } = given.server
    await given.sql(`DELETE FROM settings WHERE key = 'secrets.key'`)
    const boxes = Array.from({ length: 6 }, (_, n) => createSecretBox([Buffer.alloc(32, n + 1)]))
    const ends = await Promise.allSettled(boxes.map((box, n) => assertSharedKey(db, { ...box, path: `/${n}` })))
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })
})

describe('the secrets of webhooks', () => {
  const stored = async () =>
    (await given.sql('SELECT id, secret, previous_secret AS previous, secret_sealed AS sealed FROM webhooks')) as {
      id: string
      secret: Buffer
      previous: Buffer | null
      sealed: boolean
    }[]

  test('are stored encrypted', async () => {
    const { context } = given.server
    const { webhookId, secret } = await createWebhook(context, { url: 'https://example.com', eventTypes: ['*'] })
    const rotated = await rotateWebhookSecret(context, { webhookId })
    const [row] = await stored()
    const shown = (text: string) => Buffer.from(text.slice('whsec_'.length), 'base64')
    expect(row!.secret.includes(shown(rotated.secret))).toBe(false)
    expect(openWebhookSecret(TEST_SECRETS, webhookId, row!.secret)).toEqual(shown(rotated.secret))
    expect(openWebhookSecret(TEST_SECRETS, webhookId, row!.previous!)).toEqual(shown(secret))
  })

  test('that were there before are encrypted at the next start, once', async () => {
    const { context, db } = given.server
    for (const path of ['a', 'b', 'c'])
      await createWebhook(context, { url: `https://example.com/${path}`, eventTypes: ['*'] })
    const [plain, previous] = [Buffer.alloc(32, 'plain'), Buffer.alloc(24, 'previous')]
    await given.sql(
      'UPDATE webhooks SET secret = $1, previous_secret = $2, previous_secret_expires_at = reprise_now(), secret_sealed = false',
      [plain, previous],
    )
    expect(await sealPlainWebhooks(db, TEST_SECRETS)).toBe(3)
    expect(await sealPlainWebhooks(db, TEST_SECRETS)).toBe(0)
    for (const row of await stored()) {
      expect(row.sealed).toBe(true)
      expect(openWebhookSecret(TEST_SECRETS, row.id, row.secret)).toEqual(plain)
      expect(openWebhookSecret(TEST_SECRETS, row.id, row.previous!)).toEqual(previous)
    }
  })
})
