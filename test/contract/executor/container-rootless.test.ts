import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { makeOrdinaryUser, type OrdinaryUser, whyNoOrdinaryUser } from '../../support/containers/ordinary-user.ts'
import { passedAs } from '../../support/containers/tests-of-user.ts'

const TEN_MINUTES_MS = 600_000
const FILE = 'test/contract/executor/container-executor.test.ts'

const missing = whyNoOrdinaryUser()

/** The same tests that root runs with root's engine. */
describe(`with a Podman of its own, an ordinary user${missing === null ? '' : `: ${missing}`}`, () => {
  let user: OrdinaryUser
  let passed: string[]

  beforeAll(async () => {
    if (missing !== null) return
    user = await makeOrdinaryUser(inject('runDirectory'))
    passed = await passedAs(user, FILE, 'podman (executor container|what is no program|.*network none)')
  }, TEN_MINUTES_MS)
  afterAll(() => user?.[Symbol.asyncDispose]())

  test.skipIf(missing !== null)('runs, stops and reads kernels', () => {
    const names = passed.filter((name) => !name.includes('network none'))
    expect(names.length).toBeGreaterThanOrEqual(29)
  })

  test.skipIf(missing !== null)('enters kernels, and reaches ports of their own networks', () => {
    const names = passed.filter((name) => name.includes('network none'))
    expect(names).toContainEqual(expect.stringContaining('a connection leads to a port of the kernel'))
    expect(names.length).toBeGreaterThanOrEqual(8)
  })
})
