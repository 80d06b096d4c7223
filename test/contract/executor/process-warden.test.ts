import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isAlive, parseProcStat, uptimeSeconds } from '../../../src/agent/executors/process/proc-stat.ts'
import { eventually } from '../../support/eventually.ts'
import { find, kernelSpec } from './executor-subject.ts'
import { createProcessFixture } from './process-fixture.ts'

async function leaveKernelBehind(fenceSeconds: number) {
  const fixture = await createProcessFixture()
  const { agentDir } = fixture
  const spec = kernelSpec({ command: ['sleep', '1000'] })
  const input = Buffer.from(JSON.stringify({ agentDir, specs: [spec], word: 'start' })).toString('base64')
  const holder = spawn(process.execPath, [join(import.meta.dirname, 'executor-holder.ts'), input], { stdio: 'ignore' })
  const status = join(agentDir, 'kernels', spec.kernelId, 'status')
  const began = await eventually(() => {
    try {
      return /^began (.*)\n/m.exec(readFileSync(status, 'utf8'))?.[1]
    } catch {
      return null
    }
  })
  const shim = parseProcStat(began)
  if (shim === null) throw new Error(began)
  writeFileSync(join(agentDir, 'fence'), `${Math.floor(uptimeSeconds()) + fenceSeconds} boot\n`)
  holder.kill('SIGKILL')
  return { fixture, spec, shim }
}

test('kernels of a dead agent are stopped when its fence has passed', async () => {
  const { fixture, spec, shim } = await leaveKernelBehind(1)
  await eventually(() => !isAlive(shim))
  const next = fixture.create({ changed: () => undefined })
  await next.recover()
  expect(find(next, spec.kernelId)).toMatchObject({ status: 'EXITED', exitCode: 137, error: { name: 'agent-fenced' } })
  await next.close()
  await fixture.dispose()
})

test('and not before, nor once another instance is there', async () => {
  const { fixture, spec, shim } = await leaveKernelBehind(3)
  const next = fixture.create({ changed: () => undefined })
  await next.recover()
  const deadline = Math.ceil(uptimeSeconds()) + 6
  await eventually(() => uptimeSeconds() > deadline)
  expect(isAlive(shim)).toBe(true)
  next.forget(spec.kernelId, 3)
  await eventually(() => !isAlive(shim) && next.observe().length === 0)
  await next.close()
  await fixture.dispose()
}, 15_000)
