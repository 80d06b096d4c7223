import { expect, it } from 'vitest'
import * as limits from '../../src/domain/limits.ts'
import { SHIPPED_POLICY } from '../../src/domain/retry/policy/policy.ts'

it('every limit is a whole number with its unit or subject in its name', () => {
  expect(Object.keys(limits).length).toBeGreaterThan(30)
  for (const [name, value] of Object.entries(limits)) {
    const numbers: unknown[] = typeof value === 'object' ? Object.values(value) : [value]
    expect([name, numbers.every(Number.isSafeInteger)]).toEqual([name, true])
    expect(name).toMatch(/_(MS|MAX|MIN|DEFAULT|BYTES|SECONDS)$/)
  }
})

it('an agent is suspected after some missed heartbeats, lost later, and fenced with a margin', () => {
  expect(limits.SUSPECT_AFTER_MS).toBeGreaterThanOrEqual(3 * limits.HEARTBEAT_INTERVAL_MS)
  expect(limits.LOST_AFTER_MS).toBeGreaterThanOrEqual(2 * limits.SUSPECT_AFTER_MS)
  expect(limits.FENCE_MARGIN_MS).toBeGreaterThanOrEqual(2 * limits.HEARTBEAT_INTERVAL_MS)
})

it('a sync that waits for orders is a heartbeat in time', () => {
  expect(limits.SYNC_WAIT_MAX_MS).toBeLessThanOrEqual(limits.HEARTBEAT_INTERVAL_MS)
})

it('leases are looked at often enough to tell the steps apart', () => {
  expect(2 * limits.LEASE_CHECK_INTERVAL_MS).toBeLessThan(limits.SUSPECT_AFTER_MS)
})

it('an outage is noticed before it costs an agent its lease, and not by one late note', () => {
  expect(limits.SERVER_OUTAGE_AFTER_MS).toBeGreaterThanOrEqual(3 * limits.LEASE_CHECK_INTERVAL_MS)
  expect(limits.SERVER_OUTAGE_AFTER_MS).toBeLessThan(limits.SUSPECT_AFTER_MS)
})

it('routes back off to longer than they must serve to be told from failed starts', () => {
  expect(limits.ROUTE_BACKOFF_MIN_MS).toBeLessThan(limits.LASTING_HEALTH_MS)
  expect(limits.LASTING_HEALTH_MS).toBeLessThan(limits.ROUTE_BACKOFF_MAX_MS)
  expect(limits.ROUTE_BACKOFF_MAX_MS).toBeLessThanOrEqual(limits.RETRY_DELAY_CEILING_MS)
})

it('tries pause from less to more', () => {
  expect(limits.TRY_PAUSE_MIN_MS).toBeLessThan(limits.TRY_PAUSE_MAX_MS)
})

it('pages, releases and batches fit into each other', () => {
  expect(limits.PAGE_SIZE_DEFAULT).toBeLessThanOrEqual(limits.PAGE_SIZE_MAX)
  expect(limits.HELD_RELEASE_RETRIES_MAX).toBeLessThanOrEqual(limits.DISPATCH_BATCH_RETRIES_MAX)
  expect(limits.RELAY_BATCH_EVENTS_MAX).toBeLessThanOrEqual(limits.SUBSCRIBER_QUEUE_EVENTS_MAX)
})

it('log chunks fit into a sync, and syncs into what is kept of a kernel', () => {
  expect(limits.LOG_CHUNK_BYTES_MAX).toBeLessThan(limits.LOG_BYTES_PER_SYNC_MAX)
  expect(limits.LOG_BYTES_PER_SYNC_MAX).toBeLessThanOrEqual(limits.LOG_BYTES_PER_KERNEL_MAX)
})

it('what a program is started with fits the least that Linux allows', () => {
  const all = limits.COMMAND_BYTES_MAX + limits.ENVIRON_BYTES_MAX + limits.ADDED_ENVIRON_BYTES_MAX
  expect(all).toBeLessThanOrEqual(limits.EXEC_BYTES_MAX)
  expect(limits.EXEC_BYTES_MAX).toBe((8 * 1024 * 1024) / 4)
  expect(limits.EXEC_RESERVE_BYTES).toBeLessThan(limits.ADDED_ENVIRON_BYTES_MAX / 2)
})

it('the hard ceiling is a day, and base and jitter together fit the integer columns', () => {
  expect(limits.RETRY_DELAY_CEILING_MS).toBe(24 * 60 * 60 * 1000)
  expect(2 * limits.RETRY_DELAY_CEILING_MS).toBeLessThan(2 ** 31)
})

it('the shipped policy lies within the limits', () => {
  expect(SHIPPED_POLICY.maxRetries).toBe(0)
  expect(SHIPPED_POLICY.maxUncountedRetries).toBeLessThanOrEqual(limits.UNCOUNTED_RETRIES_MAX)
  expect(SHIPPED_POLICY.maxRetryDelay! * 1000).toBeLessThanOrEqual(limits.RETRY_DELAY_CEILING_MS)
})

it('exit codes fit the integer column', () => {
  expect([limits.EXIT_CODE_MIN, limits.EXIT_CODE_MAX]).toEqual([-(2 ** 31), 2 ** 31 - 1])
})
