/** Many kernels of one agent that end at once. */
import { expect, it } from 'vitest'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { eventually } from '../../support/eventually.ts'
import { useAgentProgram } from './agent-fixture.ts'

const KERNELS = 1_000

const given = useAgentProgram({ live: false })

async function countKernels(status: string): Promise<number> {
  const statement = 'SELECT count(*)::int AS count FROM kernels WHERE status = $1::kernel_status'
  return (await given.db.query<{ count: number }>(statement, [status])).rows[0]!.count
}

it('many kernels that end at once travel together', async () => {
  const { gateway, server } = given
  await given.newAgent({ executor: 'noop', cpu: String(KERNELS) }).start()
  await eventually(() => gateway.registrations.length > 0)
  const inputs = Array.from({ length: KERNELS }, () => ({ name: 'work', command: ['noop'] }))
  await createSessions(server.context, inputs)
  await server.run('schedule-sessions', 'schedule-sessions')
  await eventually(async () => (await countKernels('PREPARED')) === KERNELS)
  gateway.cut()
  await server.run('promote-to-prepared', 'promote-to-prepared')
  expect(await countKernels('CREATING')).toBe(KERNELS)
  const before = gateway.syncs.length
  gateway.heal()
  await eventually(async () => (await countKernels('TERMINATED')) === KERNELS)
  expect(gateway.syncs.length - before).toBeLessThan(10)
})
