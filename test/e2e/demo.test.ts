import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { heapFlags } from '../../src/cli/demo/server-process.ts'

/** What newcomers run first. It checks itself; here its exit status counts, and that it shows what it is about. */
test('the demo ends well', { timeout: 120_000 }, async () => {
  const main = join(import.meta.dirname, '../../src/main.ts')
  const child = spawn(process.execPath, [...heapFlags(), main, 'demo'], { stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const [status] = (await once(child, 'close')) as [number | null]
  const text = Buffer.concat(output).toString()
  expect(text).toMatch(/RETRY_SUCCEEDED primes/)
  expect(text).toMatch(/RETRY_EXHAUSTED hopeless/)
  expect(text).toMatch(/killed with SIGKILL/)
  expect({ status, text }).toMatchObject({ status: 0 })
})
