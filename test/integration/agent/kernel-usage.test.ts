/** What kernels used, as their agents tell it: a real one, and one that lies. */
import { expect, it } from 'vitest'
import type { KernelUsage } from '../../../src/domain/agent/kernel-report.ts'
import { playedAgent } from '../../support/agents/played-agent.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { metricValue } from '../../support/servers/metric-value.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

async function usageOf(sessionId: string) {
  const rows = await given.sql(
    `SELECT peak_memory_bytes AS "peakMemoryBytes", cpu_seconds AS "cpuSeconds", wall_seconds AS "wallSeconds",
       usage_source AS source FROM kernels WHERE session_id = $1`,
    [sessionId],
  )
  return rows[0]
}

/** Of a session that runs. */
async function runs() {
  const { server, agent } = given
  const sessionId = await server.create({})
  for (let rounds = 0; rounds < 4; rounds++) {
    await server.settle()
    await agent.comply()
  }
  await server.settle()
  const [kernel] = await kernelRows(given.db, sessionId)
  expect(kernel!.status).toBe('RUNNING')
  return { sessionId, kernelId: kernel!.id }
}

const USAGE: KernelUsage = { peakMemoryBytes: 104_857_600, cpuSeconds: 0.5, wallSeconds: 0, source: 'CGROUP' }
const NOTHING = { peakMemoryBytes: null, cpuSeconds: null, wallSeconds: null, source: null }

it('is kept with the end, once, and counted by outcome', async () => {
  const { server, agent } = given
  const value = (name: string) => metricValue(server.metrics.registry, name)
  const { sessionId, kernelId } = await runs()
  agent.observe(kernelId, { usage: USAGE })
  await agent.sync()
  expect(await usageOf(sessionId)).toEqual(NOTHING)
  agent.observe(kernelId, { status: 'EXITED', exitCode: 3 })
  await agent.sync()
  agent.observe(kernelId, { status: 'EXITED', exitCode: 3, startedAt: 'then', usage: { ...USAGE, cpuSeconds: 9 } })
  await agent.sync()
  expect(await usageOf(sessionId)).toEqual(USAGE)
  expect(await value('bai_kernel_cpu_seconds_total{outcome="failed"}')).toBe(0.5)
  const well = await runs()
  agent.observe(well.kernelId, { status: 'EXITED', exitCode: 0, usage: { ...USAGE, cpuSeconds: 0.25 } })
  await agent.sync()
  expect(await value('bai_kernel_cpu_seconds_total{outcome="succeeded"}')).toBe(0.25)
  expect(await value('bai_kernel_run_seconds_total{outcome="succeeded"}')).toBe(0)
})

it.each([
  ['nothing, as an older agent', undefined, NOTHING],
  ['no object', 'much', NOTHING],
  ['more than there is', { peakMemoryBytes: 1e300, cpuSeconds: 1e300, wallSeconds: Infinity }, NOTHING],
  ['less than nothing', { peakMemoryBytes: -1, cpuSeconds: -1e-9, wallSeconds: Number.NaN }, NOTHING],
  ['half a byte', { peakMemoryBytes: 1.5 }, { ...NOTHING, peakMemoryBytes: 2, source: 'PROCESSES' }],
  ['a source of its own', { ...USAGE, source: 'OATH' }, { ...USAGE, source: 'PROCESSES' }],
])('an agent that says %s', async (_what, usage, expected) => {
  const { server, agent, db } = given
  const { sessionId, kernelId } = await runs()
  agent.observe(kernelId, { status: 'EXITED', exitCode: 0, usage: usage as KernelUsage })
  await agent.sync()
  await server.settle()
  expect(await usageOf(sessionId)).toEqual(expected)
  expect(await kernelRows(db, sessionId)).toMatchObject([{ status: 'TERMINATED', exitCode: 0 }])
})

it('no kernel ran for longer than it has been there', async () => {
  const { agent, sql } = given
  const { sessionId, kernelId } = await runs()
  await sql(`UPDATE kernels SET created_at = now() - interval '100 s'`)
  agent.observe(kernelId, { status: 'EXITED', exitCode: 0, usage: { ...USAGE, wallSeconds: 1e8 } })
  await agent.sync()
  const wall = (await usageOf(sessionId))!['wallSeconds'] as number
  expect(wall).toBeGreaterThanOrEqual(100)
  expect(wall).toBeLessThan(10_000)
})

it('another agent has no word in it', async () => {
  const { agent, server } = given
  const other = playedAgent(server.gateway)
  await other.register()
  const { sessionId, kernelId } = await runs()
  const { assignment } = agent.kernels.get(kernelId)!
  other.kernels.set(kernelId, {
    ...agent.kernels.get(kernelId)!,
    assignment,
    status: 'EXITED',
    exitCode: 0,
    usage: USAGE,
  })
  await other.sync()
  expect(await usageOf(sessionId)).toEqual(NOTHING)
})
