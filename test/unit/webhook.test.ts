import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { ChainEventData, DeploymentEventData, DeploymentEventType } from '../../src/domain/events.ts'
import { WEBHOOK_RETRY_AFTER_MAX_MS } from '../../src/domain/limits.ts'
import {
  endpointUrlFault,
  eventPatternMatches,
  isEventPattern,
  judgeAttempt,
  parseRetryAfter,
  payloadOf,
  REDELIVERY_SECONDS,
} from '../../src/domain/webhook.ts'
import { createAddressGuard } from '../../src/machine/address-guard.ts'
import { checkProperty } from '../support/seeds.ts'

describe('refused addresses', () => {
  const mayConnect = createAddressGuard([])

  it.each(['1.1.1.1', '8.8.8.8', '172.15.255.255', '172.32.0.1', '100.63.255.255', '192.0.1.1', '223.255.255.255'])(
    '%s is public',
    (address) => expect(mayConnect(address)).toBe(true),
  )
  it.each(['2606:4700:4700::1111', '2a00:1450:4001::200e', '2001:4860:4860::8888'])('%s is public', (address) =>
    expect(mayConnect(address)).toBe(true),
  )

  it.each([
    ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
    ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
    ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd00:ec2::254']],
    ['link-local', ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'fec0::1']],
    ['shared by carriers', ['100.64.0.1', '100.100.100.200', '100.127.255.255']],
    ['protocol assignments', ['192.0.0.192', '2001::1', '2001:1::1']],
    ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1']],
    ['reserved and broadcast', ['240.0.0.1', '255.255.255.255', '198.18.0.1', '198.19.255.255']],
    ['documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
    ['of a cloud', ['168.63.129.16']],
    ['IPv4 in IPv6: mapped', ['::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::ffff:8.8.8.8']],
    ['IPv4 in IPv6: compatible, translated', ['::127.0.0.1', '::ffff:0:127.0.0.1']],
    ['IPv4 in IPv6: NAT64', ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::a9fe:a9fe']],
    ['IPv4 in IPv6: 6to4, Teredo', ['2002:7f00:1::', '2002:a9fe:a9fe::1', '2001:0:a9fe:a9fe::']],
    ['discard, segments', ['100::1', '5f00::1']],
    ['no address at all', ['', 'localhost', '127.1', '0x7f000001', '[::1]']],
  ])('%s is refused', (_kind, addresses) => {
    expect(addresses.filter(mayConnect)).toEqual([])
  })

  it('allowed networks are exceptions, and nothing around them', () => {
    const guard = createAddressGuard(['10.1.0.0/16', 'fd00::/8', '64:ff9b::/96'])
    expect(
      ['10.1.2.3', 'fd12::1', '64:ff9b::808:808', '::ffff:10.1.2.3', '1.1.1.1'].filter((address) => !guard(address)),
    ).toEqual([])
    expect(['10.2.0.1', 'fc00::1', '127.0.0.1', '::ffff:10.2.0.1'].filter(guard)).toEqual([])
  })
})

describe('the payload of a chain', () => {
  const ENDED: ChainEventData = {
    epoch: 1,
    attempts: 4,
    cause: 'OOM_KILLED',
    reason: 'retries exhausted',
    runningSeconds: 12.5,
    waitingSeconds: 7,
  }
  const CASES: [type: string, event: ChainEventData, fields: object][] = [
    [
      'chain.failed',
      ENDED,
      {
        epoch: 1,
        attempts: 4,
        cause: 'OOM_KILLED',
        reason: 'retries exhausted',
        running_seconds: 12.5,
        waiting_seconds: 7,
      },
    ],
    [
      'chain.reopened',
      { epoch: 2, attempts: 5, reason: 'resubmitted by bo' },
      { epoch: 2, attempts: 5, cause: null, reason: 'resubmitted by bo', running_seconds: null, waiting_seconds: null },
    ],
  ]

  test.each(CASES)('%s', (type, event, fields) => {
    const occurredAt = new Date('2026-11-21T12:00:00Z')
    const session = {
      name: 'n',
      type: 'BATCH',
      project: 'p',
      parentSessionId: 'b',
      attempt: 2,
      maxAttempts: 3,
      exitCode: 137,
    }
    const delivered = { webhookId: 'w', type, occurredAt, sessionId: 's', chainId: 'c', facts: { event, session } }
    expect(JSON.parse(payloadOf(delivered))).toEqual({
      type,
      timestamp: '2026-11-21T12:00:00.000Z',
      data: {
        session_id: 's',
        session_name: 'n',
        session_type: 'BATCH',
        project: 'p',
        chain_id: 'c',
        parent_session_id: 'b',
        exit_code: 137,
        ...fields,
      },
    })
  })
})

describe('the payload of a deployment', () => {
  const MOVED = { from: 'READY', to: 'SCALING' }
  const CASES: [type: DeploymentEventType, event: DeploymentEventData[DeploymentEventType], fields: object][] = [
    ['deployment.created', { replicas: 3, revision: 1 }, { replicas: 3, revision: 1 }],
    ['deployment.scaled', { from: 3, to: 0 }, { previous_replicas: 3, replicas: 0 }],
    ['deployment.updated', { from: 1, to: 2 }, { previous_revision: 1, revision: 2 }],
    ['deployment.status_changed', MOVED, { previous_status: 'READY', status: 'SCALING', reason: null }],
    ['deployment.destroyed', { reason: 'enough' }, { reason: 'enough' }],
    [
      'route.status_changed',
      { from: null, to: 'PROVISIONING', sessionId: 's', revision: 2 },
      {
        route_id: 'r',
        session_id: 's',
        revision: 2,
        previous_status: null,
        status: 'PROVISIONING',
        reason: null,
        host: null,
        port: null,
      },
    ],
  ]

  test.each(CASES)('%s', (type, event, fields) => {
    const occurredAt = new Date('2026-11-21T12:00:00Z')
    const deployment = {
      id: 'd',
      routeId: type === 'route.status_changed' ? 'r' : null,
      name: 'web',
      project: 'default',
    }
    const delivered = { webhookId: 'w', type, occurredAt, sessionId: null, chainId: null, facts: { event, deployment } }
    expect(JSON.parse(payloadOf(delivered))).toEqual({
      type,
      timestamp: '2026-11-21T12:00:00.000Z',
      data: { deployment_id: 'd', deployment_name: 'web', project: 'default', ...fields },
    })
  })
})

describe('endpoints', () => {
  it.each([
    'https://example.com/hook?key=1',
    'http://example.com:80/',
    'https://example.com:8443',
    'http://[2606:4700::1111]:1024/',
    'http://10.0.0.1/',
  ])('%s may be written', (url) => {
    expect(endpointUrlFault(url)).toBeUndefined()
  })

  it.each([
    ['ftp://example.com/', 'http://'],
    ['file:///etc/passwd', 'http://'],
    ['example.com', 'http://'],
    ['https://', 'http://'],
    ['https://user@example.com/', 'user name'],
    ['https://:secret@example.com/', 'user name'],
    ['https://example.com/#top', 'fragment'],
    ['http://example.com:25/', 'port'],
    ['http://example.com:22/', 'port'],
    [`https://example.com/${'x'.repeat(2_048)}`, 'characters'],
    ['https://example.com/\0', 'http://'],
  ])('%s may not', (url, fault) => {
    expect(endpointUrlFault(url)).toContain(fault)
  })

  it('a pattern is a name, or the beginning of some', () => {
    for (const pattern of ['session.error', 'session.*', 'session.retry_*', 'sess*', '*']) {
      expect([pattern, isEventPattern(pattern)]).toEqual([pattern, true])
    }
    for (const pattern of [
      '',
      'session',
      'session.',
      'session.eror',
      '*.error',
      'session.*_held',
      'Session.*',
      'job.*',
      '**',
    ]) {
      expect([pattern, isEventPattern(pattern)]).toEqual([pattern, false])
    }
    expect(eventPatternMatches('session.retry_*', 'session.retry_held')).toBe(true)
    expect(eventPatternMatches('session.retry_*', 'session.error')).toBe(false)
    expect(eventPatternMatches('session.error', 'session.errors')).toBe(false)
  })
})

describe('redelivery', () => {
  const DELIVERY = '0197fc50-7d3c-7000-8000-000000000001'

  function judge(statusCode: number | null, more: Partial<Parameters<typeof judgeAttempt>[0]> = {}) {
    return judgeAttempt({
      deliveryId: DELIVERY,
      statusCode,
      retryAfterMs: null,
      failures: 0,
      redelivered: true,
      ...more,
    })
  }

  describe('the outcome of a delivery', () => {
    it('has ten attempts over three days, each delay up to a tenth longer than scheduled', () => {
      const hours = REDELIVERY_SECONDS.reduce((sum, seconds) => sum + seconds, 0) / 3600
      expect(hours).toBeCloseTo(75.58, 1)
      checkProperty(
        fc.property(fc.uuid(), fc.nat(REDELIVERY_SECONDS.length - 1), (deliveryId, failures) => {
          const verdict = judge(500, { deliveryId, failures })
          const base = REDELIVERY_SECONDS[failures]! * 1000
          if (verdict.kind !== 'again') throw new Error(verdict.kind)
          expect(verdict.inMs).toBeGreaterThanOrEqual(base)
          expect(verdict.inMs).toBeLessThanOrEqual(Math.min(base * 1.1, 86_400_000))
        }),
      )
      expect(judge(500, { failures: 9 })).toEqual({ kind: 'exhausted', restMs: 0 })
    })

    it('is delivered by any 2xx and by nothing else', () => {
      expect([200, 201, 204, 299].map((status) => judge(status).kind)).toEqual(Array(4).fill('delivered'))
      expect([199, 300, 301, 307, 400, 404, 500, null].map((status) => judge(status).kind)).toEqual(
        Array(8).fill('again'),
      )
      expect(judge(410)).toEqual({ kind: 'gone' })
    })

    it('waits as long as Retry-After asks if that is longer; 429 and 503 rest the endpoint', () => {
      expect(judge(500, { retryAfterMs: 60_000 })).toEqual({ kind: 'again', inMs: 60_000, restMs: 0 })
      expect(judge(429, { retryAfterMs: 60_000 })).toEqual({ kind: 'again', inMs: 60_000, restMs: 60_000 })
      expect(judge(503, { retryAfterMs: 1 })).toMatchObject({ restMs: 1, inMs: expect.toSatisfy((ms) => ms >= 5_000) })
    })

    it('a test event has one attempt', () => {
      expect(judge(500, { redelivered: false })).toEqual({ kind: 'exhausted', restMs: 0 })
    })
  })

  it('Retry-After is seconds or a date, and bounded', () => {
    const now = new Date('2026-11-21T12:00:00Z')
    const read = (header?: string) => parseRetryAfter(header, now)
    expect(read('120')).toBe(120_000)
    expect(read(' 0 ')).toBe(0)
    expect(read('Sat, 21 Nov 2026 12:00:30 GMT')).toBe(30_000)
    expect(read('Sat, 21 Nov 2026 11:00:00 GMT')).toBe(0)
    expect(read('999999999')).toBe(WEBHOOK_RETRY_AFTER_MAX_MS)
    expect([read(), read('soon'), read('-5'), read('1.5'), read('')]).toEqual([null, null, null, null, null])
  })
})
