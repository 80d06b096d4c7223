/** Logs on their way from the agent's program to the server: whole, in order, within their bound. */
import { expect, it } from 'vitest'
import {
  LOG_BYTES_PER_KERNEL_MAX,
  LOG_BYTES_PER_SYNC_MAX,
  LOG_HEAD_BYTES_PER_STREAM_MAX,
} from '../../../src/domain/limits.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { useAgentProgram } from './agent-fixture.ts'

const given = useAgentProgram()

const note = (bytes: number) => `\n[reprise: ${bytes} bytes of output are left out here]\n`

it('all output is delivered before the end is reported', async () => {
  const { gateway, create, reaches, text, db } = given
  const end = gateway.hold(({ observed }) => observed.some(({ status }) => status === 'EXITED'))
  await given.newAgent().start()
  const { sessionId, kernelId } = await create(['sh', '-c', 'seq 1000000; echo done >&2'])
  await end.reached
  expect(await text(kernelId, 'STDOUT')).toHaveLength(6_888_896)
  expect(await text(kernelId, 'STDERR')).toBe('done\n')
  expect(await kernelRows(db, sessionId)).toMatchObject([{ gone: false }])
  end.open()
  await reaches(sessionId, 'TERMINATED')
  for (const { logs } of gateway.syncs) {
    expect(logs.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(LOG_BYTES_PER_SYNC_MAX)
  }
})

/** Numbered lines of 16 bytes. */
const lines = (count: number) => `seq -f '%015.0f' 1 ${count}`
const LINES_MAX = LOG_BYTES_PER_KERNEL_MAX / 16
const HEAD_LINES = LOG_HEAD_BYTES_PER_STREAM_MAX / 16
const line = (number: number) => `${String(number).padStart(15, '0')}\n`

it.each([
  ['a flood', 3 * LINES_MAX],
  ['one line too many', LINES_MAX + 1],
])('of %s the beginning and the end are kept, and what is left out is named between them', async (_, count) => {
  const { create, reaches, text } = given
  await given.newAgent().start()
  const { sessionId, kernelId } = await create(['sh', '-c', `${lines(count)}; exit 3`])
  await reaches(sessionId, 'ERROR')
  const kept = await text(kernelId)
  const named = note((count - LINES_MAX) * 16)
  expect(kept.length).toBe(LOG_BYTES_PER_KERNEL_MAX + named.length)
  expect(kept.slice(0, 16)).toBe(line(1))
  expect(kept.slice((HEAD_LINES - 1) * 16, HEAD_LINES * 16 + named.length + 16)).toBe(
    `${line(HEAD_LINES)}${named}${line(HEAD_LINES + 1 + count - LINES_MAX)}`,
  )
  expect(kept.slice(-16)).toBe(line(count))
})

it('as much as is kept is kept whole', async () => {
  const { create, reaches, text } = given
  await given.newAgent().start()
  const { sessionId, kernelId } = await create(['sh', '-c', lines(LINES_MAX)])
  await reaches(sessionId, 'TERMINATED')
  const kept = await text(kernelId)
  expect(kept).toHaveLength(LOG_BYTES_PER_KERNEL_MAX)
  expect(kept.slice(-16)).toBe(line(LINES_MAX))
})

it('both streams count together', async () => {
  const { create, reaches, text } = given
  await given.newAgent().start()
  const { sessionId, kernelId } = await create(['sh', '-c', `${lines(LINES_MAX / 2)}; ${lines(LINES_MAX / 2 + 2)} >&2`])
  await reaches(sessionId, 'TERMINATED')
  expect(await text(kernelId, 'STDOUT')).toHaveLength(LOG_BYTES_PER_KERNEL_MAX / 2)
  const errors = await text(kernelId, 'STDERR')
  expect(errors).toHaveLength(LOG_BYTES_PER_KERNEL_MAX / 2 + note(32).length)
  expect(errors.slice(LOG_HEAD_BYTES_PER_STREAM_MAX)).toMatch(note(32))
  expect(errors.slice(-16)).toBe(line(LINES_MAX / 2 + 2))
})

it('an agent that comes back in the midst of the end goes on where it was', async () => {
  const { gateway, create, reaches, text } = given
  const first = given.newAgent()
  await first.start()
  const count = 2 * LINES_MAX
  const { sessionId, kernelId } = await create(['sh', '-c', lines(count)])
  const behind = gateway.hold(({ logs }) =>
    logs.some(({ offset }) => offset > LOG_HEAD_BYTES_PER_STREAM_MAX + 2_000_000),
  )
  await behind.reached
  behind.open()
  await first.stop()
  await given.newAgent().start()
  await reaches(sessionId, 'TERMINATED')
  const kept = await text(kernelId)
  const named = note((count - LINES_MAX) * 16)
  expect(kept).toHaveLength(LOG_BYTES_PER_KERNEL_MAX + named.length)
  expect(kept.slice(LOG_HEAD_BYTES_PER_STREAM_MAX)).toMatch(named)
  expect(kept.slice(-16)).toBe(line(count))
})

it('what is too much for the line goes in smaller and smaller pieces, each byte once', async () => {
  const { gateway, create, reaches, text } = given
  const takes = 200_000
  const sizeOf = (request: object) => JSON.stringify('logs' in request ? request.logs : []).length
  gateway.lose = (request) => (sizeOf(request) > takes ? 'request' : null)
  await given.newAgent().start()
  const { sessionId, kernelId } = await create(['sh', '-c', 'seq 300000'])
  await reaches(sessionId, 'TERMINATED')
  const all = Array.from({ length: 300_000 }, (_, n) => `${n + 1}\n`)
  expect((await text(kernelId, 'STDOUT')) === all.join('')).toBe(true)
  expect(gateway.lost).toBeGreaterThan(0)
  expect(Math.max(...gateway.syncs.map(sizeOf))).toBeGreaterThan(takes / 2)
})
