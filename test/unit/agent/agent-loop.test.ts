import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { acquireAgentLock } from '../../../src/agent/agent-lock.ts'
import { readBootId, readProcStat, uptimeSeconds } from '../../../src/agent/executors/process/proc-stat.ts'
import { createFence } from '../../../src/agent/fence.ts'
import { reconnectPauseMs } from '../../../src/waiting/wait.ts'
import type { SyncRequest } from '../../../src/domain/agent/protocol.ts'
import { createSyncTurns } from '../../../src/gateway/sync-turns.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('the lock of an agent', () => {
  let directory: string
  beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'reprise-lock-'))))
  afterEach(() => rmSync(directory, { recursive: true }))

  const place = (holder: object | string) =>
    writeFileSync(join(directory, 'agent.lock'), typeof holder === 'string' ? holder : JSON.stringify(holder))
  const own = () => ({
    pid: process.pid,
    startTicks: readProcStat(process.pid)?.startTicks ?? 0,
    bootId: readBootId(),
    nonce: 'n',
  })

  test('is exclusive until released, and leaves nothing', () => {
    const lock = acquireAgentLock(directory)
    expect(() => acquireAgentLock(directory)).toThrow('belongs to an agent that runs')
    lock.release()
    acquireAgentLock(directory).release()
    expect(readdirSync(directory)).toEqual([])
  })

  test.each([
    ['of a process that is gone', () => ({ ...own(), pid: 4_194_303 })],
    ['of another process that had the same pid', () => ({ ...own(), startTicks: 1 })],
    ['of another boot', () => ({ ...own(), bootId: 'other' })],
    ['that is not whole', () => '{"pid":'],
  ])('takes over a lock %s', (_name, holder) => {
    place(holder())
    const lock = acquireAgentLock(directory)
    expect(() => acquireAgentLock(directory)).toThrow('belongs to')
    lock.release()
    expect(readdirSync(directory)).toEqual([])
  })

  test('heeds the lock of a process that runs', () => {
    place(own())
    expect(() => acquireAgentLock(directory)).toThrow(`process ${process.pid}`)
  })
})

describe('the fence of an agent', () => {
  const log = pino({ enabled: false })
  const directory = mkdtempSync(join(tmpdir(), 'reprise-fence-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  describe.skipIf(process.platform !== 'linux')('the fence of an agent', () => {
    test('has passed for a late answer, though no timer has run since', () => {
      let passed = 0
      const fence = createFence(directory, () => passed++, log)
      // A suspended machine: the request was sent long ago.
      fence.renew(uptimeSeconds() - 100, 10_000)
      expect(passed).toBe(0)
      fence.renew(uptimeSeconds(), 10_000)
      expect(passed).toBe(1)
      fence.renew(uptimeSeconds(), 10_000)
      expect(passed).toBe(1)
      fence.close()
    })

    test('is in its file, rounded up to whole seconds', () => {
      const fence = createFence(directory, () => undefined, log)
      const now = uptimeSeconds()
      fence.renew(now, 600_000)
      fence.close()
      const written = Number(readFileSync(join(directory, 'fence'), 'latin1').split(' ')[0])
      expect(written).toBe(Math.ceil(now + 600))
    })

    test('keeps kernels from starting while it cannot be written', () => {
      const own = join(directory, 'not-there-yet')
      const reasons: (string | null)[] = []
      const fence = createFence(
        own,
        () => undefined,
        log,
        (reason) => reasons.push(reason),
      )
      fence.renew(uptimeSeconds(), 600_000)
      expect(reasons).toEqual([expect.stringContaining('the fence could not be written: ENOENT')])
      mkdirSync(own)
      // A shorter one is written at once.
      fence.renew(uptimeSeconds(), 300_000)
      fence.renew(uptimeSeconds(), 200_000)
      expect(reasons.slice(1)).toEqual([null])
      fence.close()
    })

    test.each([
      ['of this boot: it is heeded', readBootId(), 1],
      ['of an earlier boot: it is not', 'another-boot', 0],
    ])('that has passed before a restart, %s', (_, boot, times) => {
      writeFileSync(join(directory, 'fence'), `1 ${boot}\n`)
      let passed = 0
      const fence = createFence(directory, () => passed++, log)
      fence.resume()
      fence.renew(uptimeSeconds(), 10_000)
      expect(passed).toBe(times)
      fence.close()
    })
  })
})

describe('the pause before an agent reconnects', () => {
  test('grows to five seconds and is never nothing', () => {
    expect([1, 2, 3, 10].map((failures) => reconnectPauseMs(failures, 1))).toEqual([100, 200, 400, 5_000])
    checkProperty(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (failures, random) => {
          const pauseMs = reconnectPauseMs(failures, random)
          expect(pauseMs).toBeGreaterThanOrEqual(50)
          expect(pauseMs).toBeLessThanOrEqual(5_000)
        },
      ),
    )
  })
})

describe('turns of syncs', () => {
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
})
