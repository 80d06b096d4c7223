import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, describe, expect, test } from 'vitest'
import { readBootId, uptimeSeconds } from '../../../src/agent/executors/process/proc-stat.ts'
import { createFence } from '../../../src/agent/fence.ts'

const log = pino({ enabled: false })
const directory = mkdtempSync(join(tmpdir(), 'reprise-fence-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

describe.skipIf(process.platform !== 'linux')('the fence of an agent', () => {
  test('has passed for an answer that comes too late, though no timer has run since', () => {
    let passed = 0
    const fence = createFence(directory, () => passed++, log)
    // As in a machine that was suspended: the request was sent long ago.
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
