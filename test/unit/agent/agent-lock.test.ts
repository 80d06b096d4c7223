import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { acquireAgentLock } from '../../../src/agent/agent-lock.ts'
import { readBootId, readProcStat } from '../../../src/agent/executors/process/proc-stat.ts'

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
