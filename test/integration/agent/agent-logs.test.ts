import { expect, it } from 'vitest'
import { LOG_BYTES_PER_KERNEL_MAX, LOG_BYTES_PER_SYNC_MAX } from '../../../src/domain/limits.ts'
import { kernelRows } from '../../support/session-rows.ts'
import { useAgentProgram } from './agent-fixture.ts'

const given = useAgentProgram()

const NOTE = `\n[reprise: output beyond ${LOG_BYTES_PER_KERNEL_MAX} bytes is not kept]\n`

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

it.each([
  ['a flood', LOG_BYTES_PER_KERNEL_MAX + 100_000, NOTE],
  ['one byte too many', LOG_BYTES_PER_KERNEL_MAX + 1, NOTE],
  ['as much as is kept', LOG_BYTES_PER_KERNEL_MAX, ''],
])('%s is kept up to the limit, a note says where it was cut, and the end is told', async (_, bytes, note) => {
  const { create, reaches, text } = given
  await given.newAgent().start()
  const { sessionId, kernelId } = await create(['sh', '-c', `head -c ${bytes} /dev/zero | tr '\\0' x`])
  await reaches(sessionId, 'TERMINATED')
  const kept = await text(kernelId)
  expect(kept.slice(0, LOG_BYTES_PER_KERNEL_MAX)).toMatch(/^x*$/)
  expect(kept.slice(LOG_BYTES_PER_KERNEL_MAX)).toBe(note)
})

it('both streams count together', async () => {
  const { create, reaches, text } = given
  await given.newAgent().start()
  const half = LOG_BYTES_PER_KERNEL_MAX / 2
  const { sessionId, kernelId } = await create([
    'sh',
    '-c',
    `head -c ${half} /dev/zero | tr '\\0' x; yes | head -c ${half + 9} >&2`,
  ])
  await reaches(sessionId, 'TERMINATED')
  expect(await text(kernelId, 'STDOUT')).toHaveLength(half)
  const errors = await text(kernelId, 'STDERR')
  expect(errors.slice(half)).toBe(NOTE)
})

it('what is too much for the line goes in smaller and smaller pieces, each byte once', async () => {
  const { gateway, create, reaches, text } = given
  const takes = 200_000
  const sizeOf = (request: object) => JSON.stringify('logs' in request ? request.logs : []).length
  gateway.lose = (request) => (sizeOf(request) > takes ? 'request' : null)
  await given.newAgent().start()
  const { sessionId, kernelId } = await create(['sh', '-c', 'seq 300000'])
  await reaches(sessionId, 'TERMINATED')
  const lines = Array.from({ length: 300_000 }, (_, n) => `${n + 1}\n`)
  expect((await text(kernelId, 'STDOUT')) === lines.join('')).toBe(true)
  expect(gateway.lost).toBeGreaterThan(0)
  expect(Math.max(...gateway.syncs.map(sizeOf))).toBeGreaterThan(takes / 2)
})
