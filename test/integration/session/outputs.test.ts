/** How servers record the outputs of attempts: reports of agents, what no agent sends, and what expires. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { OutputsReport } from '../../../src/domain/agent/protocol.ts'
import { manifestId, type OutputFile, PROGRAM_MODE } from '../../../src/domain/session/outputs.ts'
import { readOutputs } from '../../../src/services/session/read-outputs.ts'
import { createDownload, pinOutputs } from '../../../src/services/session/keep-outputs.ts'
import { updateProject } from '../../../src/services/access/tenants.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { setQuota } from '../../../src/services/quota.ts'
import { expireOutputs, settleAbandonedOutputs } from '../../../src/store/sql/session/settle-outputs.sql.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { endAll, sessionIn } from '../../support/sessions/drive-session.ts'

const given = useScheduling()
const { signal } = new AbortController()

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

function file(path: string, text: string, more: Partial<OutputFile> = {}): OutputFile {
  return { path, bytes: text.length, mode: PROGRAM_MODE, sha256: sha256(text), target: null, modifiedAt: null, ...more }
}

function idOf(files: readonly OutputFile[]): string {
  const manifest = manifestId()
  for (const each of files) manifest.add(each)
  return manifest.id()
}

/** A session that has ended, and the reports of its agent. */
async function ended(exitCode = 0, input: Partial<CreateSessionInput> = {}) {
  const { server, agent, db } = given
  const sessionId = await sessionIn(server, agent, 'RUNNING', { outputs: { paths: ['*'] }, ...input })
  const [kernel] = await kernelRows(db, sessionId)
  const ref = { agentId: agent.id, kernelId: kernel!.id, assignment: kernel!.assignment }
  const report = (what: object, by = ref) => server.gateway.reportOutputs({ ...by, ...what } as OutputsReport, signal)
  const early = await report({ step: 'BEGIN' })
  await endAll(server, agent, exitCode)
  await server.settle()
  const send = (text: string) =>
    server.gateway.sendParts(
      {
        ...ref,
        purpose: 'OUTPUT',
        slices: [{ sha256: sha256(text), bytes: text.length, offset: 0, length: text.length }],
      },
      Buffer.from(text),
      signal,
    )
  return { sessionId, ref, early, report, send }
}

const shown = async (sessionId: string) => (await readOutputs(given.server.context, [sessionId])).get(sessionId)

/** Reports these files as they arrive, and their end. */
async function deliver({ report, send }: Awaited<ReturnType<typeof ended>>, texts: Record<string, string>) {
  const files = Object.entries(texts).map(([path, text]) => file(path, text))
  await report({ step: 'BEGIN' })
  for (const text of Object.values(texts)) await send(text)
  await report({ step: 'FILES', first: true, files })
  return report({ step: 'END', state: 'COMPLETE', manifest: idOf(files), reasons: [] })
}

describe('reports of agents', () => {
  test('settle the outputs once every content has arrived, and only once', async () => {
    const { sessionId, early, report, send, ref } = await ended()
    expect(early).toMatchObject({ wanted: false, later: true })
    expect(await shown(sessionId)).toMatchObject({ state: 'WAITING' })
    expect(await report({ step: 'BEGIN' })).toMatchObject({ wanted: true })
    expect(await shown(sessionId)).toMatchObject({ state: 'COLLECTING' })
    const files = [file('a', 'first'), file('b/c', 'second'), file('empty', '')]
    await send('first')
    await report({ step: 'FILES', first: true, files: files.slice(0, 1) })
    await report({ step: 'FILES', first: false, files: files.slice(1) })
    const end = { step: 'END', state: 'COMPLETE', manifest: idOf(files), reasons: [] }
    expect(await report(end)).toMatchObject({ wanted: true, missing: [sha256('second')] })
    await send('second')
    await expect(report({ ...end, manifest: idOf(files.slice(1)) })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    })
    expect(await report(end)).toMatchObject({ wanted: false })
    expect(await shown(sessionId)).toMatchObject({ state: 'COMPLETE', files: 3, bytes: 11, manifest: idOf(files) })

    for (const late of [{ step: 'BEGIN' }, { step: 'FILES', first: true, files: [] }, { ...end, state: 'PARTIAL' }])
      expect(await report(late)).toMatchObject({ wanted: false })
    expect(await shown(sessionId)).toMatchObject({ state: 'COMPLETE', files: 3 })
    const events = await given.sql(`SELECT data FROM session_events WHERE type = 'session.outputs_complete'`)
    expect(events.map(({ data }) => data)).toEqual([{ state: 'COMPLETE', files: 3, bytes: 11 }])

    const other = fakeAgent(given.server.gateway)
    await expect(report({ step: 'BEGIN' }, { ...ref, agentId: other.id })).rejects.toMatchObject({
      code: 'KERNEL_NOT_FOUND',
    })
    const later = { ...ref, assignment: ref.assignment + 1 }
    await expect(report({ step: 'BEGIN' }, later)).rejects.toMatchObject({ code: 'KERNEL_NOT_FOUND' })
  })

  test.each([
    ['a path that climbs', { path: '../x' }],
    ['an absolute path', { path: '/etc/passwd' }],
    ['a link that leaves', { path: 'a', mode: 0o120_777, target: '../../x' }],
    ['a target without a link', { target: 'b' }],
    ['no hash', { sha256: 'x' }],
    ['a device', { mode: 0o60_644 }],
  ])('are refused with %s', async (_, more) => {
    const { report } = await ended()
    await report({ step: 'BEGIN' })
    const files = [file('a', 'x', more)]
    await expect(report({ step: 'FILES', first: true, files })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  })

  test('are not wanted if the session asked for those of another end', async () => {
    const { sessionId, report } = await ended(3, { outputs: { paths: ['*'], when: 'SUCCESS' } })
    expect(await report({ step: 'BEGIN' })).toMatchObject({ wanted: false })
    expect(await shown(sessionId)).toMatchObject({ state: 'NONE', reasons: [expect.stringContaining('succeed')] })
  })

  test('announce outputs that no session asked for when the program ends, so that people can wait for them', async () => {
    const { server, agent } = given
    const left = async (leftOutputs: boolean) => {
      const sessionId = await sessionIn(server, agent, 'RUNNING')
      const [kernel] = await kernelRows(given.db, sessionId)
      agent.observe(kernel!.id, { status: 'EXITED', exitCode: 0, leftOutputs })
      return { sessionId, ref: { agentId: agent.id, kernelId: kernel!.id, assignment: kernel!.assignment } }
    }
    const [sent, none, lost] = [await left(true), await left(false), await left(true)]
    await agent.sync()
    expect(await shown(sent.sessionId)).toMatchObject({ state: 'WAITING', request: null })
    expect(await shown(none.sessionId)).toBeUndefined()
    await server.settle()
    const report = (what: object) => server.gateway.reportOutputs({ ...sent.ref, ...what } as OutputsReport, signal)
    const files = [file('empty', '')]
    expect(await report({ step: 'BEGIN' })).toMatchObject({ wanted: true })
    await report({ step: 'FILES', first: true, files })
    await report({ step: 'END', state: 'COMPLETE', manifest: idOf(files), reasons: [] })
    expect(await shown(sent.sessionId)).toMatchObject({ state: 'COMPLETE', files: 1 })
    await advanceClock(given.db, 3_600_000)
    await settleAbandonedOutputs(given.db, 10)
    expect(await shown(lost.sessionId)).toMatchObject({ state: 'LOST' })
  })

  test('learn what the quotas leave', async () => {
    const first = await ended()
    await deliver(first, { a: '0123456789' })
    const { context } = given.server
    const quota = await setQuota(context, { scope: 'PROJECT', name: 'default', maxOutputBytes: '25' })
    expect(quota).toMatchObject({ maxOutputBytes: 25, usage: { outputBytes: 10 } })
    expect(await (await ended()).report({ step: 'BEGIN' })).toMatchObject({ bytesMax: 15 })
    await setQuota(context, { scope: 'PROJECT', name: 'default', maxOutputBytes: null })
  })
})

describe('outputs that no agent sends', () => {
  test('are lost with their agent until it returns', async () => {
    const { sessionId, report } = await ended()
    expect(await settleAbandonedOutputs(given.db, 10)).toBe(0)
    await given.sql(`UPDATE agents SET status = 'LOST' WHERE id = $1`, [given.agent.id])
    expect(await settleAbandonedOutputs(given.db, 10)).toBe(1)
    expect(await shown(sessionId)).toMatchObject({ state: 'LOST', reasons: [expect.stringContaining('is gone')] })
    await given.sql(`UPDATE agents SET status = 'ALIVE' WHERE id = $1`, [given.agent.id])
    expect(await report({ step: 'BEGIN' })).toMatchObject({ wanted: true })
    expect(await shown(sessionId)).toMatchObject({ state: 'COLLECTING', reasons: [] })
  })

  test('arrive whole if their agent was lost and returned while it sent them', async () => {
    for (const step of ['before the list', 'before the end']) {
      const { sessionId, report, send } = await ended()
      const files = [file('a', step)]
      await report({ step: 'BEGIN' })
      await send(step)
      if (step === 'before the end') await report({ step: 'FILES', first: true, files })
      await given.sql(`UPDATE agents SET status = 'LOST' WHERE id = $1`, [given.agent.id])
      expect(await settleAbandonedOutputs(given.db, 10)).toBe(1)
      expect(await shown(sessionId)).toMatchObject({ state: 'LOST' })
      await given.sql(`UPDATE agents SET status = 'ALIVE' WHERE id = $1`, [given.agent.id])
      if (step === 'before the list')
        expect(await report({ step: 'FILES', first: true, files })).toMatchObject({ wanted: true })
      await report({ step: 'END', state: 'COMPLETE', manifest: idOf(files), reasons: [] })
      expect(await shown(sessionId), step).toMatchObject({ state: 'COMPLETE', reasons: [] })
    }
  })

  test('are lost with an agent that had not reported the start of the program, which may have run', async () => {
    const { server, agent, db } = given
    const sessionId = await sessionIn(server, agent, 'CREATING', { outputs: { paths: ['*'] } })
    const [kernel] = await kernelRows(db, sessionId)
    const ref = { agentId: agent.id, kernelId: kernel!.id, assignment: kernel!.assignment }
    const begin = () => server.gateway.reportOutputs({ ...ref, step: 'BEGIN' }, signal)
    await terminateSession(server.context, { sessionId })
    await advanceClock(db, 60, { silentAgents: [agent.id] })
    await server.settle()
    expect(await shown(sessionId)).toMatchObject({ status: 'TERMINATED' })
    await settleAbandonedOutputs(db, 10)
    expect(await shown(sessionId)).toMatchObject({ state: 'LOST', reasons: [expect.stringContaining('is gone')] })
    expect(await begin()).toMatchObject({ wanted: true })

    // The same if the agent was back before the servers looked: they know only that the kernel is gone.
    await given.sql(`UPDATE session_outputs SET state = 'WAITING', assignment = NULL WHERE session_id = $1`, [
      sessionId,
    ])
    await given.sql(`UPDATE kernels SET confirmed_gone = true WHERE id = $1`, [kernel!.id])
    await settleAbandonedOutputs(db, 10)
    expect(await shown(sessionId)).toMatchObject({ state: 'NONE', reasons: ['its program never ran'] })
    expect(await begin()).toMatchObject({ wanted: true })
    expect(await shown(sessionId)).toMatchObject({ state: 'COLLECTING', reasons: [] })

    // An agent that sends them contradicts that.
    await given.sql(`UPDATE agents SET status = 'ALIVE' WHERE id = $1`, [agent.id])
    expect(await settleAbandonedOutputs(db, 10)).toBe(0)
    expect(await shown(sessionId)).toMatchObject({ state: 'COLLECTING', reasons: [] })
  })

  test('are lost if the agent does not mention them any more', async () => {
    const { sessionId, report } = await ended()
    await report({ step: 'BEGIN' })
    const ago = async (minutes: number) => {
      const past = `now() - interval '${minutes} minutes'`
      await given.sql(`UPDATE session_outputs SET heard_at = ${past}`)
      await given.sql(`UPDATE sessions SET terminated_at = ${past}`)
    }
    await ago(10)
    expect(await settleAbandonedOutputs(given.db, 10)).toBe(0)
    await ago(20)
    expect(await settleAbandonedOutputs(given.db, 10)).toBe(1)
    expect(await shown(sessionId)).toMatchObject({ state: 'LOST' })
  })

  test('do not exist if the program never ran', async () => {
    const { server, db } = given
    const sessionId = await server.create({ outputs: { paths: ['*'] } })
    await given.sql(`UPDATE sessions SET status = 'CANCELLED', terminated_at = now() WHERE id = $1`, [sessionId])
    await settleAbandonedOutputs(db, 10)
    expect(await shown(sessionId)).toMatchObject({ state: 'NONE', reasons: ['its program never ran'] })
  })
})

test('outputs expire, but for the newest complete ones of a chain and pinned ones', async () => {
  const kept = await ended()
  await deliver(kept, { a: 'kept' })
  const failed = await ended(3, { outputs: { paths: ['*'], keepDays: 2 } })
  await failed.report({ step: 'BEGIN' })
  await failed.send('half')
  const files = [file('a', 'half')]
  await failed.report({ step: 'FILES', first: true, files })
  await failed.report({ step: 'END', state: 'PARTIAL', manifest: idOf(files), reasons: ['b: gone'] })
  const { expiresAt, completedAt } = (await shown(failed.sessionId))!
  expect(expiresAt!.getTime() - completedAt!.getTime()).toBeCloseTo(2 * 86_400_000, -3)
  expect(await shown(kept.sessionId)).toMatchObject({ expiresAt: null })

  await given.sql(`UPDATE session_outputs SET expires_at = now() - interval '1 s'`)
  await pinOutputs(given.server.context, { sessionId: failed.sessionId }, true)
  expect(await expireOutputs(given.db, 10)).toBe(0)
  await pinOutputs(given.server.context, { sessionId: failed.sessionId }, false)
  expect(await expireOutputs(given.db, 10)).toBe(1)
  expect(await shown(failed.sessionId)).toMatchObject({ state: 'EXPIRED', files: 0, reasons: ['b: gone'] })
  expect(await shown(kept.sessionId)).toMatchObject({ state: 'COMPLETE', files: 1 })
})

test('outputs that stay in place are listed without their contents, until they expire', async () => {
  const inPlace = { outputs: { paths: ['*'], keepDays: 2, inPlace: true } }
  const files = [file('a', 'here'), file('b', 'too')]
  const deliverFrom = async ({ report }: Awaited<ReturnType<typeof ended>>, directory: string) => {
    await report({ step: 'BEGIN' })
    await report({ step: 'FILES', first: true, files })
    return report({ step: 'END', state: 'PARTIAL', manifest: idOf(files), reasons: [], directory })
  }
  const { context } = given.server
  await setQuota(context, { scope: 'PROJECT', name: 'default', maxOutputBytes: '0' })
  const first = await ended(0, inPlace)
  expect(await deliverFrom(first, '/shared/files')).toMatchObject({ wanted: false })
  expect(await shown(first.sessionId)).toMatchObject({
    state: 'PARTIAL',
    files: 2,
    place: { node: `agent-${given.agent.id}`, directory: '/shared/files' },
  })
  expect(await setQuota(context, { scope: 'PROJECT', name: 'default', maxOutputBytes: null })).toMatchObject({
    usage: { outputBytes: 0 },
  })
  await expect(createDownload(context, { sessionId: first.sessionId })).rejects.toMatchObject({
    code: 'OUTPUTS_IN_PLACE',
  })
  expect(await first.report({ step: 'BEGIN' })).toMatchObject({ wanted: false, kept: true })
  await given.sql(`UPDATE session_outputs SET expires_at = now() - interval '1 s' WHERE session_id = $1`, [
    first.sessionId,
  ])
  await expireOutputs(given.db, 10)
  expect(await first.report({ step: 'BEGIN' })).toEqual({ wanted: false, bytesMax: expect.any(Number) })
  expect(await shown(first.sessionId)).toMatchObject({ state: 'EXPIRED', place: null })

  await expect(deliverFrom(await ended(0, inPlace), 'files')).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  const others = await ended()
  expect(await deliverFrom(others, '/shared/files')).toMatchObject({
    wanted: true,
    missing: files.map(({ sha256: hash }) => hash).toSorted(),
  })
})

test('outputs are kept as long as their session says, or else their project', async () => {
  const { context } = given.server
  const daysOf = async (input: Partial<CreateSessionInput> = {}) => {
    const work = await ended(0, input)
    await deliver(work, { a: 'x' })
    // Not as it is shown: the newest complete outputs of a chain are kept longer.
    const { rows } = await given.db.query<{ days: number | null }>(
      `SELECT extract(epoch FROM expires_at - completed_at)::float8 / 86400 AS days FROM session_outputs WHERE session_id = $1`,
      [work.sessionId],
    )
    return rows[0]!.days
  }
  await updateProject(context, { name: 'default', outputKeepDays: 7 })
  expect(await daysOf()).toBeCloseTo(7, 3)
  expect(await daysOf({ outputs: { paths: ['*'], keepDays: 2 } })).toBeCloseTo(2, 3)
  await updateProject(context, { name: 'default', membersEndAll: false })
  expect(await daysOf()).toBeCloseTo(7, 3)
  await updateProject(context, { name: 'default', outputKeepDays: null })
  expect(await daysOf()).toBe(30)
  for (const change of [{}, { outputKeepDays: 0 }, { outputKeepDays: 1e9 }])
    await expect(updateProject(context, { name: 'default', ...change })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    })
})
