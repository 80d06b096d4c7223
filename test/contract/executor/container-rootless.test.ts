import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { makeOrdinaryUser, type OrdinaryUser, whyNoOrdinaryUser } from '../../support/containers/ordinary-user.ts'
import { passedAs } from '../../support/containers/tests-of-user.ts'

const TEN_MINUTES_MS = 600_000

const missing = whyNoOrdinaryUser()

/** The same tests that root runs with root's engine. */
describe(`with a Podman of its own, an ordinary user${missing === null ? '' : `: ${missing}`}`, () => {
  let user: OrdinaryUser

  beforeAll(async () => {
    if (missing === null) user = await makeOrdinaryUser(inject('runDirectory'))
  })
  afterAll(() => user?.[Symbol.asyncDispose]())

  test.skipIf(missing !== null)('runs, stops and reads kernels', { timeout: TEN_MINUTES_MS }, async () => {
    const names = await passedAs(user, 'test/contract/executor/container-executor.test.ts', 'podman')
    expect(names.length).toBeGreaterThanOrEqual(29)
  })

  test.skipIf(missing !== null)(
    'enters kernels, and reaches ports of their own networks',
    { timeout: TEN_MINUTES_MS },
    async () => {
      const names = await passedAs(user, 'test/contract/executor/container-exec.test.ts', 'podman.*network none')
      expect(names).toContainEqual(expect.stringContaining('a connection leads to a port of the kernel'))
      expect(names.length).toBeGreaterThanOrEqual(8)
    },
  )
})
