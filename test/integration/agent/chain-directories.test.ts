import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { useAgentProgram } from './agent-fixture.ts'

/** What attempts store for each other: how much it may be, and what becomes of it. */

const given = useAgentProgram()

const MEGABYTE = 1024 * 1024

/** Of a failed session of this script, which is to be retried. */
async function failureOf(script: string) {
  const retryPolicy = { maxRetries: 2, retryDelay: 0.05, jitter: 'NONE' } as const
  const { sessionId } = await given.create(['sh', '-c', script], { retryPolicy })
  const { reason, exitCode } = await given.reaches(sessionId, 'ERROR')
  const decided = async () =>
    (
      await given.db.query<{ phase: string; cause: string }>(
        'SELECT phase, cause FROM retry_decisions WHERE session_id = $1',
        [sessionId],
      )
    ).rows[0]
  return { reason, exitCode, ...(await eventually(decided)) }
}

test('a chain that stores more than it may is ended, says so with both numbers, and is not retried', async () => {
  await given.newAgent({ limits: { chainBytes: 8 * MEGABYTE } }).start()
  const fill = `cd $REPRISE_CHAIN_DIR; mkdir -p a/b; head -c ${12 * MEGABYTE} /dev/zero >a/b/c; ln a/b/c again; ln -s / root`
  const [running, failed, modest] = await Promise.all([
    // Out of sight of whoever is not root.
    failureOf(`${fill}; chmod 0 a; exec sleep 1000`),
    failureOf(`${fill}; exit 3`),
    failureOf(`cd $REPRISE_CHAIN_DIR; head -c ${4 * MEGABYTE} /dev/zero >a; for f in b c d; do ln a $f; done; exit 3`),
  ])
  const numbers = new RegExp(`chain's directory holds 12\\d{6} bytes, more than the ${8 * MEGABYTE} `)
  for (const { reason, phase, cause } of [running, failed]) {
    expect(reason).toMatch(numbers)
    expect({ phase, cause }).toEqual({ phase: 'NOT_ELIGIBLE', cause: 'QUOTA_EXCEEDED' })
  }
  expect(failed.exitCode).toBe(3)
  expect(modest).toMatchObject({ cause: 'KERNEL_NONZERO_EXIT', phase: expect.stringMatching(/SCHEDULED|DISPATCHED/) })
}, 30_000)
