import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'
import { ANSWER_WITHIN_MS, startFuzzServer, type FuzzServer } from './fuzz-server.ts'
import { arbitraryOperation, innerTargets, rootTargets, type Operation, type Target } from './operations.ts'
import { internalsIn } from './verdict.ts'
import { forEachSeed, type SeededTask } from '../../support/seeds.ts'

/** Every field that takes arguments, with random and hostile ones, over real HTTP. */

const RUNS_PER_FIELD = 6
const ROUNDS_MAX = 40

let server: FuzzServer

beforeAll(async () => {
  server = await startFuzzServer()
})
afterAll(() => server?.close())

const targets = [
  ...rootTargets(schema, schema.getMutationType()!, 'mutation'),
  ...rootTargets(schema, schema.getQueryType()!, 'query'),
]

async function send(operation: Operation, token: string): Promise<{ faults: string[]; answer: any }> {
  const body = JSON.stringify(operation)
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body,
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  })
  const text = await response.text()
  const faults = [...(response.status >= 500 ? [`status ${response.status}`] : []), ...internalsIn(text, body)]
  return { faults, answer: JSON.parse(text) }
}

async function fuzz(target: Target, task: SeededTask): Promise<void> {
  await forEachSeed(async (seed) => {
    let reached = false
    // At least one request is executed, or nothing would be tested: a large input needs more tries.
    for (let round = 0; !reached && round < ROUNDS_MAX; round++) reached = await sendMany(target, seed + round)
    expect([target.name, reached]).toEqual([target.name, true])
  }, task)
}

/** @returns whether any of them was executed */
async function sendMany(target: Target, seed: number): Promise<boolean> {
  const { adminToken, tenant, cursors } = server
  const known = { values: tenant.values, cursors }
  let reached = false
  await fc.assert(
    fc.asyncProperty(
      arbitraryOperation(target, known),
      fc.constantFrom(adminToken, tenant.member),
      async (operation, token) => {
        const { faults, answer } = await send(operation, token)
        reached ||= answer.data != null
        expect(faults).toEqual([])
      },
    ),
    { seed, numRuns: RUNS_PER_FIELD, endOnFailure: true },
  )
  return reached
}

describe.concurrent('arguments of', () => {
  // oxlint-disable-next-line vitest/valid-title -- a name is a string
  for (const target of targets) test(target.name, { timeout: 600_000 }, ({ task }) => fuzz(target, task))

  test('fields further in', { timeout: 600_000 }, async ({ task }) => {
    const inner = innerTargets(schema, server.tenant.values)
    expect(inner.length).toBeGreaterThan(6)
    for (const target of inner) await fuzz(target, task)
  })
})

test('afterwards the server is well', () => server.expectWell())
