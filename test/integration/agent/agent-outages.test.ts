/** What an agent does while requests, answers or its server are lost. */
import { expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { useAgentProgram } from './agent-fixture.ts'
import type { Request } from './faulty-gateway.ts'
import { signalFile } from './signal-file.ts'

const given = useAgentProgram()

/** Each thing that there is to say is said once in vain. */
function losesEveryFirst(part: 'request' | 'answer'): (request: Request) => 'request' | 'answer' | null {
  const said = new Set<string>()
  return (request) => {
    const what = 'observed' in request ? JSON.stringify([request.observed, request.logs]) : 'register'
    const isNew = !said.has(what)
    said.add(what)
    return isNew ? part : null
  }
}

it.each(['request', 'answer'] as const)('where each %s is lost once, nothing is lost nor doubled', async (part) => {
  const { gateway, create, reaches, text, db } = given
  gateway.lose = losesEveryFirst(part)
  await given.newAgent().start()
  const { sessionId, kernelId } = await create(['sh', '-c', 'for n in 1 2 3 4 5; do echo $n; sleep 0.1; done; exit 3'])
  expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 3, attempt: 1 })
  expect(await text(kernelId)).toBe('1\n2\n3\n4\n5\n')
  expect(await kernelRows(db, sessionId)).toMatchObject([{ status: 'ERROR', assignment: 1 }])
  await eventually(() => gateway.syncs.at(-1)?.observed.length === 0)
  expect(gateway.lost).toBeGreaterThan(3)
})

it('an outage of the server costs no kernel, and registering waits for it', async () => {
  const { gateway, create, reaches, text } = given
  const go = signalFile(given.agentDir)
  gateway.cut()
  await given.newAgent().start()
  await eventually(() => gateway.refusals > 1)
  gateway.heal()
  const { sessionId, kernelId } = await create(['sh', '-c', `${go.wait}; echo out`])
  await reaches(sessionId, 'RUNNING')
  const refusals = gateway.refusals
  gateway.cut()
  await go.write()
  await eventually(() => go.waiting().length === 0)
  await eventually(() => gateway.refusals > refusals + 2)
  gateway.heal()
  expect(await reaches(sessionId, 'TERMINATED')).toMatchObject({ exitCode: 0 })
  expect(await text(kernelId)).toBe('out\n')
})

it('does not wait for the answer to a poll that it has interrupted', async () => {
  const { gateway, create, reaches } = given
  const go = signalFile(given.agentDir)
  const stuck = gateway.hold(({ waitMs, observed }) => waitMs > 0 && observed[0]?.status === 'RUNNING')
  await given.newAgent().start()
  const { sessionId } = await create(['sh', '-c', `${go.wait}; exit 5`])
  await stuck.reached
  await go.write()
  expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 5 })
  stuck.open()
})

/** Longer than a busy machine stands still, which would be an outage otherwise. */
const FENCE_AFTER_MS = 5_000

it('stops its kernels when it has not been answered for the fence, and only then', async () => {
  const { gateway, create, reaches, configure, db } = given
  const go = signalFile(given.agentDir)
  await configure({ fence_after_ms: FENCE_AFTER_MS })
  await given.newAgent().start()
  const { sessionId } = await create(['sh', '-c', go.wait])
  await reaches(sessionId, 'RUNNING')
  const began = performance.now()
  await eventually(() => performance.now() - began > FENCE_AFTER_MS && gateway.syncs.at(-1)!.waitMs > 0)
  expect(go.waiting()).not.toEqual([])
  gateway.cut()
  await eventually(() => go.waiting().length === 0)
  expect(gateway.refusals).toBeGreaterThan(0)
  expect(await kernelRows(db, sessionId)).toMatchObject([{ status: 'RUNNING', gone: false }])
  gateway.heal()
  expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 143, error: 'agent-fenced' })
  expect(await kernelRows(db, sessionId)).toMatchObject([{ status: 'ERROR', gone: true }])
  const cause = async () => (await sessionRow(db, sessionId)).cause
  expect(await eventually(cause)).toBe('AGENT_TRANSIENT')
})
