/** Stopping and starting an agent while kernels run, and what the next one does with them. */
import { expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { useAgentProgram } from './agent-fixture.ts'
import { signalFile } from './signal-file.ts'

const given = useAgentProgram()

/** `one`, and after the file is there `two` and exit code 6; has said `one`. */
async function runInTwoSteps() {
  const go = signalFile(given.agentDir)
  const session = await given.create(['sh', '-c', `echo one; ${go.wait}; echo two; exit 6`])
  await given.reaches(session.sessionId, 'RUNNING')
  await eventually(async () => (await given.text(session.kernelId)) === 'one\n')
  return { ...session, go }
}

it('two agents never share a directory, and a stop frees it', async () => {
  const { gateway } = given
  const first = given.newAgent()
  await first.start()
  await eventually(() => gateway.registrations.length === 1)
  await expect(given.newAgent().start()).rejects.toThrow('belongs to an agent that runs')
  await first.stop()
  expect(await first.done).toBe('stopped')
  await given.newAgent().start()
  await eventually(() => gateway.registrations.length === 2)
  const [before, after] = gateway.registrations
  expect(after?.agentId).toBe(before?.agentId)
  expect(after?.instanceId).not.toBe(before?.instanceId)
})

it('kernels outlive a stop of the agent, and the next one ships their logs from where the server has them', async () => {
  const { gateway, reaches, text, db } = given
  const first = given.newAgent()
  await first.start()
  const { sessionId, kernelId, go } = await runInTwoSteps()
  const processes = go.waiting()
  await first.stop()
  expect(go.waiting()).toEqual(processes)
  const before = gateway.syncs.length
  await given.newAgent().start()
  await eventually(() => gateway.syncs.slice(before).some(({ observed }) => observed[0]?.status === 'RUNNING'))
  expect(go.waiting()).toEqual(processes)
  await go.write()
  expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 6, attempt: 1 })
  expect(await text(kernelId)).toBe('one\ntwo\n')
  expect(await kernelRows(db, sessionId)).toMatchObject([{ assignment: 1, error: 'kernel-exited' }])
  const shipped = gateway.syncs.slice(before).flatMap(({ logs }) => logs)
  expect(shipped).toMatchObject([{ offset: 4, bytes: 4, text: 'two\n' }])
})

it('what ended while no agent was there is reported by the next', async () => {
  const { reaches, text } = given
  const first = given.newAgent()
  await first.start()
  const { sessionId, kernelId, go } = await runInTwoSteps()
  await first.stop()
  await go.write()
  await eventually(() => go.waiting().length === 0)
  await given.newAgent().start()
  expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 6 })
  expect(await text(kernelId)).toBe('one\ntwo\n')
})

it('a kernel of which the next agent finds nothing has vanished', async () => {
  const { create, reaches } = given
  const first = given.newAgent({ executor: 'noop' })
  await first.start()
  const { sessionId } = await create(['noop', 'hang'])
  await reaches(sessionId, 'RUNNING')
  await first.stop()
  await given.newAgent({ executor: 'noop' }).start()
  expect(await reaches(sessionId, 'ERROR')).toMatchObject({ error: 'kernel-vanished', exitCode: null })
})

it('a fence that passes between two agents is applied by the next, which the server does not answer either', async () => {
  const { gateway, reaches, configure } = given
  await configure({ fence_after_ms: 8_000 })
  const first = given.newAgent()
  await first.start()
  const { sessionId, go } = await runInTwoSteps()
  gateway.cut()
  await first.stop()
  await given.newAgent().start()
  expect(go.waiting()).not.toEqual([])
  await eventually(() => go.waiting().length === 0)
  gateway.heal()
  expect(await reaches(sessionId, 'ERROR')).toMatchObject({ exitCode: 143, error: 'agent-fenced' })
})
