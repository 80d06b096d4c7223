/** Services that have nothing to do rest. */
import { expect, it } from 'vitest'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { ALL_SERVICES } from '../../support/servers/test-server.ts'

const given = useScheduling()

it.each(ALL_SERVICES)('%s rests where there is nothing to do', async (name) => {
  await given.server.settle()
  const { done, more, againInMs } = await given.server.services[name].runOnce()
  expect({ done, more: more ?? false }).toEqual({ done: 0, more: false })
  expect(againInMs ?? Infinity).toBeGreaterThan(100)
})
