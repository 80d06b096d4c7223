import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'
import { ANSWER_WITHIN_MS, FACTOR, SEED, startFuzzServer, type FuzzServer } from './fuzz-server.ts'
import { arbitraryOperation, innerTargets, rootTargets, type Operation, type Target } from './operations.ts'
import { internalsIn } from './verdict.ts'

/** Every field that takes arguments, with random and hostile ones, over real HTTP. */

const RUNS_PER_FIELD = 12 * FACTOR
const ROUNDS_MAX = 20

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

async function fuzz(target: Target): Promise<void> {
  let reached = false
  // Some of what is asked comes to where it is executed, or nothing would be tested: that takes more of large inputs.
  for (let round = 0; !reached && round < ROUNDS_MAX; round++) reached = await sendMany(target, SEED + round)
  expect([target.name, reached]).toEqual([target.name, true])
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
    { seed, numRuns: RUNS_PER_FIELD },
  )
  return reached
}

describe.concurrent('arguments of', () => {
  test.each(targets.map((target) => [target.name, target] as const))('%s', { timeout: 600_000 }, (_name, target) =>
    fuzz(target),
  )

  test('fields further in', { timeout: 600_000 }, async () => {
    const inner = innerTargets(schema, server.tenant.values)
    expect(inner.length).toBeGreaterThan(6)
    for (const target of inner) await fuzz(target)
  })
})

test('afterwards the server is well', () => server.expectWell())
