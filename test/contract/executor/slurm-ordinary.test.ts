import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import {
  makeOrdinaryUser,
  type OrdinaryUser,
  whyNoOrdinaryUserOfSlurm,
} from '../../support/containers/ordinary-user.ts'
import { passedAs } from '../../support/containers/tests-of-user.ts'
import { whyNoSlurmCluster } from '../../support/slurm/slurm-cluster.ts'

const TEN_MINUTES_MS = 600_000

const missing = whyNoSlurmCluster() ?? whyNoOrdinaryUserOfSlurm()

/** The same tests that root runs with a cluster of root's. */
describe(`with a Slurm cluster of its own, an ordinary user${missing === null ? '' : `: ${missing}`}`, () => {
  let user: OrdinaryUser

  beforeAll(async () => {
    if (missing === null) user = await makeOrdinaryUser(inject('runDirectory'))
  })
  afterAll(() => user?.[Symbol.asyncDispose]())

  test.skipIf(missing !== null)('runs, stops and reads kernels', { timeout: TEN_MINUTES_MS }, async () => {
    const names = await passedAs(user, 'test/contract/executor/slurm-executor.test.ts')
    expect(names.length).toBeGreaterThanOrEqual(25)
  })
})
