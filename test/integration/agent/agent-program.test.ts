/** The agent's program: taking orders, reporting, registering again, being superseded. */
import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { eventually } from '../../support/eventually.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { signalFile } from './signal-file.ts'

const given = useAgentProgram()

it('takes an order, reports the end at once, and forgets when told', async () => {
  const { gateway, create, reaches, text, db } = given
  const go = signalFile(given.agentDir)
  await given.newAgent().start()
  const { sessionId, kernelId } = await create(['sh', '-c', `${go.wait}; echo out; echo err >&2; exit 4`])
  await eventually(() => {
    const poll = gateway.syncs.at(-1)
    return poll?.observed[0]?.status === 'RUNNING' && poll.waitMs > 0
  })
  const { interrupted } = gateway
  await go.write()
  expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 4 })
  // The agent has not waited until the poll was over.
  expect(gateway.interrupted).toBeGreaterThan(interrupted)
  expect(await text(kernelId, 'STDOUT')).toBe('out\n')
  expect(await text(kernelId, 'STDERR')).toBe('err\n')
  expect(await kernelRows(db, sessionId)).toMatchObject([{ status: 'ERROR', exitCode: 4, gone: true, held: false }])
  await eventually(() => gateway.syncs.at(-1)?.observed.length === 0)
  await eventually(async () => (await readdir(join(given.agentDir, 'kernels'))).length === 0)
  expect(gateway.underWayMax).toBe(1)
})

it('registers again where the server does not know it any more', async () => {
  const { gateway, server, create, reaches, db } = given
  await given.newAgent({ executor: 'noop' }).start()
  await eventually(() => gateway.syncs.at(-1)?.waitMs)
  await db.query('DELETE FROM agents')
  server.hub.wakeAgents([gateway.syncs[0]!.agentId])
  await eventually(() => gateway.registrations.length === 2)
  expect(gateway.registrations[1]).toEqual(gateway.registrations[0])
  await reaches((await create(['noop'])).sessionId, 'TERMINATED')
})

it('stops when it is superseded, and frees its directory', async () => {
  const { gateway, server } = given
  const agent = given.newAgent({ executor: 'noop' })
  await agent.start()
  await eventually(() => gateway.syncs.at(-1)?.waitMs)
  const [identity] = gateway.registrations
  await server.gateway.register({ ...identity!, instanceId: randomUUID() }, new AbortController().signal)
  server.hub.wakeAgents([identity!.agentId])
  expect(await agent.done).toBe('superseded')
  const syncs = gateway.syncs.length
  const successor = given.newAgent({ executor: 'noop' })
  await successor.start()
  await eventually(() => gateway.syncs.length > syncs)
  expect(gateway.syncs.slice(syncs).map(({ instanceId }) => instanceId)).not.toContain(identity!.instanceId)
})

it('does not ask without pause about an order that takes its time', async () => {
  const { gateway, server, create, reaches, text, configure } = given
  await configure({ stop_grace_ms: 1_500 })
  await given.newAgent({ executor: 'noop' }).start()
  const { sessionId, kernelId } = await create(['noop', 'stubborn'])
  await reaches(sessionId, 'RUNNING')
  await eventually(async () => (await text(kernelId)) === 'ready\n')
  const before = gateway.syncs.length
  await terminateSession(server.context, { sessionId })
  await reaches(sessionId, 'TERMINATED')
  expect(gateway.syncs.length - before).toBeLessThan(20)
  expect((await kernelRows(given.db, sessionId))[0]).toMatchObject({ exitCode: 137 })
})
